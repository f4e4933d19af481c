//! Each link of a page leads to an existing file and heading. Each page of `docs` that a source
//! file names exists.

use super::Finding;
use crate::workspace::{File, Workspace};

/// This folder is not checked, because its tests name pages that do not exist.
const TESTS: &str = "xtask/src/tidy/";

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
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

/// Returns the targets of `[text](link)` and `[text]: link` in a line, except network addresses.
pub(super) fn links(line: &str) -> Vec<&str> {
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

    /// Returns the findings for a workspace with this text in a file of this path, and three other
    /// files.
    fn findings(path: &str, text: &str) -> Vec<String> {
        let files = [
            ("README.md", "# The workspace\n## What `it` is, and is not\n"),
            ("docs/page.md", "# Page\n"),
            ("crates/a/docs/log.md", ""),
            (path, text),
        ];
        check(&fake::workspace(&[fake::krate("a")], &files))
            .into_iter()
            .map(|finding| finding.what)
            .collect()
    }

    #[test]
    fn links_lead_to_files_folders_and_headings() {
        for good in [
            "[a](page.md), [b](../README.md#what-it-is-and-is-not)",
            "[a](#here)\n# Here",
            "[a](../crates/a), [b](../crates/a/docs/log.md)",
            "[R]: ../README.md#the-workspace",
            "[a](https://localhost/nothing.md)",
        ] {
            assert_eq!(findings("docs/b.md", good), Vec::<String>::new(), "{good}");
        }
        for bad in ["gone.md", "../README.md#gone", "#gone", "../../README.md", "../crates/b"] {
            assert_eq!(
                findings("docs/b.md", &format!("[a]({bad})")),
                [format!("{bad} leads nowhere")]
            );
        }
        assert_eq!(findings("docs/b.md", "[R]: gone.md"), ["gone.md leads nowhere"]);
    }

    #[test]
    fn sources_name_pages_that_exist() {
        let text = "// docs/page.md has it, docs/log.md too, and target/docs/gone.md\n";
        assert_eq!(findings("crates/a/src/lib.rs", text), Vec::<String>::new());
        let text = "// docs/gone.md has it";
        assert_eq!(findings("crates/a/src/lib.rs", text), ["docs/gone.md does not exist"]);
    }
}
