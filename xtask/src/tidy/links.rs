//! Each link of a page leads to an existing file and heading. Each page of `docs` that a source
//! file names exists, and is in the book.

use std::collections::BTreeSet;

use super::Finding;
use crate::workspace::{File, Workspace};

/// This folder is not checked, because its tests name pages that do not exist.
const TESTS: &str = "xtask/src/tidy/";
/// The list of the book's pages.
const CONTENTS: &str = "SUMMARY.md";

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = book(workspace);
    for file in &workspace.files {
        let is_page = file.path.ends_with(".md");
        for (at, line) in file.text.lines().enumerate() {
            let dead = |what: String| Finding::new(&file.path, at + 1, what, "correct the link");
            if is_page {
                let links = links(line).into_iter().filter(|link| !leads(workspace, file, link));
                findings.extend(links.map(|link| dead(format!("{link} leads nowhere"))));
            } else if !file.path.starts_with(TESTS) {
                let named =
                    named_pages(line).into_iter().filter(|page| !exists(workspace, file, page));
                findings.extend(named.map(|page| dead(format!("{page} does not exist"))));
            }
        }
    }
    findings
}

/// Returns findings about the book (`./x book`): it has each page of `docs`, and its pages link to
/// no page that it lacks.
fn book(workspace: &Workspace) -> Vec<Finding> {
    let Some(contents) = workspace.file(CONTENTS) else { return Vec::new() };
    let listed: BTreeSet<&str> = contents.text.lines().flat_map(links).collect();
    let mut findings = Vec::new();
    for file in workspace.files.iter().filter(|file| file.path.ends_with(".md")) {
        let path = file.path.as_str();
        let mut lacks = |line: usize, page: &str| {
            let what = format!("{page} is no page of {CONTENTS}");
            findings.push(Finding::new(path, line, what, "list it"));
        };
        if listed.contains(path) {
            for (at, line) in file.text.lines().enumerate() {
                let pages = links(line).into_iter().filter_map(|link| link.split('#').next());
                let pages = pages.filter(|page| page.ends_with(".md"));
                for page in pages.filter_map(|page| file.beside(page)) {
                    if !listed.contains(&*page) {
                        lacks(at + 1, &page);
                    }
                }
            }
        } else if path.starts_with("docs/")
            || path.starts_with("engine/") && path.contains("/docs/")
        {
            lacks(1, path);
        }
    }
    findings
}

/// Returns the targets of `[text](link)` and `[text]: link` in a line, except network addresses.
fn links(line: &str) -> Vec<&str> {
    let inline = line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let below = line.strip_prefix('[').and_then(|rest| Some(rest.split_once("]: ")?.1));
    let is_ours = |link: &&str| !link.contains("://") && !link.contains(char::is_whitespace);
    inline.chain(below).filter(is_ours).collect()
}

fn leads(workspace: &Workspace, from: &File, link: &str) -> bool {
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let path = if path.is_empty() { Some(from.path.clone()) } else { from.beside(path) };
    let Some(path) = path else { return false };
    let is_folder =
        || workspace.files.iter().any(|file| file.path.starts_with(&format!("{path}/")));
    match workspace.file(&path) {
        None => heading.is_empty() && is_folder(),
        Some(page) => heading.is_empty() || headings(&page.text).any(|name| name == heading),
    }
}

/// Returns the headings of a page in the form that links use.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let titles = text.lines().filter(|line| line.starts_with('#'));
    titles.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// Returns each page that a line names in the root's or the crate's folder `docs`.
fn named_pages(line: &str) -> Vec<&str> {
    let starts = line.match_indices("docs/").map(|(at, _)| at);
    let alone = starts.filter(|&at| !line[..at].ends_with(['/', '-', '_']));
    alone
        .filter_map(|at| {
            let page = &line[at..];
            let is_name = |c: char| c.is_ascii_alphanumeric() || "/-_".contains(c);
            let end = page.find(|c| !is_name(c))?;
            page[end..].starts_with(".md").then(|| &page[..end + ".md".len()])
        })
        .collect()
}

fn exists(workspace: &Workspace, from: &File, page: &str) -> bool {
    let in_crate = workspace.crate_of(&from.path).map(|krate| format!("{}/{page}", krate.folder));
    workspace.file(page).is_some() || in_crate.is_some_and(|path| workspace.file(&path).is_some())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::fake;

    /// Returns the findings for a workspace with this text in a file of this path, and others.
    fn findings(path: &str, text: &str) -> Vec<String> {
        let files = [
            ("README.md", "# The workspace\n## What `it` is, and is not\n"),
            ("SUMMARY.md", "[A](docs/page.md), [B](docs/b.md), [C](README.md)\n"),
            ("docs/page.md", "# Page\n"),
            ("crates/a/docs/log.md", ""),
            (path, text),
            ("docs/b.md", ""),
        ];
        let workspace = fake::workspace(&[fake::krate("a")], &files);
        check(&workspace).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn links_lead_to_files_folders_and_headings() {
        for good in [
            "[a](page.md), [b](../README.md#what-it-is-and-is-not)",
            "[a](#here)\n# Here",
            "[a](../crates/a), [R]: ../README.md#the-workspace",
            "[a](https://localhost/nothing.md)",
        ] {
            assert_eq!(findings("docs/b.md", good), Vec::<String>::new(), "{good}");
        }
        for bad in ["gone", "../README.md#gone", "#gone", "../../README", "../crates/b"] {
            let found = findings("docs/b.md", &format!("[a]({bad})"));
            assert_eq!(found, [format!("{bad} leads nowhere")]);
        }
        assert_eq!(findings("docs/b.md", "[R]: gone"), ["gone leads nowhere"]);
    }

    #[test]
    fn sources_name_pages_that_exist_and_the_book_has_all() {
        let text = "// docs/page.md has it, docs/log.md too, and target/docs/gone.md\n";
        assert_eq!(findings("crates/a/src/lib.rs", text), Vec::<String>::new());
        let text = "// docs/gone.md has it";
        assert_eq!(findings("crates/a/src/lib.rs", text), ["docs/gone.md does not exist"]);
        assert_eq!(findings("engine/b/docs/c.md", "").len(), 1);
        let log = "crates/a/docs/log.md is no page of SUMMARY.md";
        assert_eq!(findings("docs/b.md", "[b](../crates/a/docs/log.md)"), [log]);
    }
}
