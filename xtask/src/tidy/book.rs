//! The book (`./x book`) has the pages that SUMMARY.md lists. A page of `docs` is one of them, and a
//! page of the book links to no other Markdown file: the book would lack it.

use std::collections::BTreeSet;

use super::{Finding, links};
use crate::workspace::Workspace;

const CONTENTS: &str = "SUMMARY.md";

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let Some(contents) = workspace.file(CONTENTS) else {
        return Vec::new();
    };
    let listed = || contents.text.lines().flat_map(links::links);
    let pages: BTreeSet<&str> = listed().collect();
    let mut findings = Vec::new();
    let mut lacks = |path: &str, line, page: &str| {
        findings.push(Finding::new(
            path,
            line,
            format!("{page} is no page of {CONTENTS}"),
            "list it",
        ));
    };
    for file in workspace.files.iter().filter(|file| file.path.ends_with(".md")) {
        let path = file.path.as_str();
        if !pages.contains(path) {
            if path.starts_with("docs/") || path.starts_with("engine/") && path.contains("/docs/") {
                lacks(path, 1, path);
            }
            continue;
        }
        for (at, line) in file.text.lines().enumerate() {
            let targets = links::links(line).into_iter().filter_map(|link| {
                let page = link.split('#').next().filter(|page| page.ends_with(".md"))?;
                file.beside(page)
            });
            for page in targets.filter(|page| !pages.contains(page.as_str())) {
                lacks(path, at + 1, &page);
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::fake;

    fn findings(text: &str) -> Vec<String> {
        let files = [
            ("SUMMARY.md", "- [A](docs/a.md)\n  - [B](engine/b/docs/b.md)\n"),
            ("docs/a.md", text),
            ("engine/b/docs/b.md", "[a](../../../docs/a.md#heading)"),
            ("records/README.md", "[gone](gone.md)"),
        ];
        check(&fake::workspace(&[], &files)).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_page_links_to_pages_of_the_book_only() {
        for good in ["[b](../engine/b/docs/b.md)", "[code](../xtask/src/main.rs)", "no link"] {
            assert_eq!(findings(good), Vec::<String>::new(), "{good}");
        }
        assert_eq!(
            findings("[r](../records/README.md#x)"),
            ["records/README.md is no page of SUMMARY.md"]
        );
    }

    #[test]
    fn pages_of_docs_are_listed() {
        let files = [("SUMMARY.md", ""), ("docs/a.md", ""), ("engine/b/docs/b.md", "")];
        assert_eq!(check(&fake::workspace(&[], &files)).len(), 2);
    }
}
