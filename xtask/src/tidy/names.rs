//! A file is named after its idea: `utils`, `helpers`, `common` and `misc` name none.

use super::Finding;
use crate::house::House;

const FORBIDDEN: [&str; 4] = ["common", "helpers", "misc", "utils"];

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in house.rust_files() {
        let names = file.path.trim_end_matches(".rs").split('/');
        for name in names.filter(|name| FORBIDDEN.contains(name)) {
            let what = format!("`{name}` says nothing about what is inside");
            findings.push(Finding::new(&file.path, 1, what, "name it after its one idea"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::house::{House, made_up};

    fn count(path: &str) -> usize {
        check(&House { crates: Vec::new(), files: vec![made_up::file(path, "")] }).len()
    }

    #[test]
    fn files_and_folders_are_looked_at() {
        assert_eq!(count("crates/a/src/utils.rs"), 1);
        assert_eq!(count("crates/a/tests/common/mod.rs"), 1);
        assert_eq!(count("misc/helpers.rs"), 2);
    }

    #[test]
    fn a_name_that_only_contains_the_word_is_accepted() {
        assert_eq!(count("crates/a/src/common_prefix.rs"), 0);
        assert_eq!(count("docs/common"), 0);
    }
}
