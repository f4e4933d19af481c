//! The house stands alone: no file points at a folder beside it.

use super::Finding;
use crate::house::House;

/// In two parts, so that this file does not contain it.
const BESIDE: &str = concat!("..", "/shared");

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &house.files {
        for (at, _) in file.text.lines().enumerate().filter(|(_, line)| line.contains(BESIDE)) {
            let what = format!("a mention of {BESIDE}, which a clone does not have");
            findings.push(Finding::new(&file.path, at + 1, what, "say here what it says there"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{BESIDE, check};
    use crate::house::{House, made_up};

    #[test]
    fn a_mention_is_found_in_any_file() {
        let text = format!("one\nsee {BESIDE}/notes.md\n");
        let house =
            House { crates: Vec::new(), files: vec![made_up::file("docs/README.md", &text)] };
        let findings = check(&house);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].line, 2);
    }

    #[test]
    fn the_word_alone_is_no_mention() {
        let house =
            House { crates: Vec::new(), files: vec![made_up::file("a.md", "a shared queue")] };
        assert_eq!(check(&house), []);
    }
}
