//! The first doc line of a crate and its Cargo description are one sentence.

use super::Finding;
use crate::house::House;

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for krate in &house.crates {
        let Some(root) = krate.roots.first().and_then(|path| house.file(path)) else {
            continue;
        };
        let doc = root.text.lines().enumerate().find(|(_, line)| line.starts_with("//!"));
        let (at, said) = doc.map_or((0, ""), |(at, line)| (at, line[3..].trim()));
        if said != krate.description || said.is_empty() {
            findings.push(Finding::new(
                &root.path,
                at + 1,
                format!("the first doc line is not the Cargo description of {}", krate.name),
                format!("make both read: {}", krate.description),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::house::{House, made_up};

    fn house(text: &str) -> House {
        House {
            crates: vec![made_up::krate("a")],
            files: vec![made_up::file("crates/a/src/lib.rs", text)],
        }
    }

    #[test]
    fn the_same_sentence_is_accepted() {
        assert_eq!(check(&house("//! Says what it is.\n//!\n//! More.\n")), []);
    }

    #[test]
    fn another_sentence_is_refused_where_it_stands() {
        let findings = check(&house("// A note.\n//! Says something else.\n"));
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].file.as_str(), findings[0].line), ("crates/a/src/lib.rs", 2));
    }

    #[test]
    fn no_doc_line_and_no_description_are_refused() {
        assert_eq!(check(&house("pub fn f() {}\n")).len(), 1);
        let mut silent = house("//!\n");
        silent.crates[0].description.clear();
        assert_eq!(check(&silent).len(), 1);
    }
}
