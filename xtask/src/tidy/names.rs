//! A file is named after its contents; `utils`, `helpers`, `common` and `misc` are refused.

use super::Finding;
use crate::workspace::Workspace;

const FORBIDDEN: [&str; 4] = ["common", "helpers", "misc", "utils"];

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let is_forbidden =
        |path: &str| path.trim_end_matches(".rs").split('/').any(|name| FORBIDDEN.contains(&name));
    let files = workspace.rust_files().filter(|file| is_forbidden(&file.path));
    let what = "the name says nothing about the contents";
    files.map(|file| Finding::new(&file.path, 1, what, "name it after its one idea")).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::fake;

    #[test]
    fn a_forbidden_name_of_a_file_or_folder_is_found() {
        let count = |path| check(&fake::workspace(&[], &[(path, "")])).len();
        assert_eq!(count("crates/a/src/utils.rs"), 1);
        assert_eq!(count("crates/a/tests/common/mod.rs"), 1);
        assert_eq!(count("crates/a/src/common_prefix.rs"), 0);
        assert_eq!(count("docs/common"), 0);
    }
}
