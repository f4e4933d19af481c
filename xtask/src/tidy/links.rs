//! Pages lead where they say: each link of a page to a file and a heading, and each page of `docs`
//! that a source names is there.

use super::Finding;
use crate::house::{File, House};

/// The tests of the checks name pages that they make up.
const MADE_UP: &str = "xtask/src/tidy/";

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &house.files {
        let is_page = file.path.ends_with(".md");
        for (at, line) in file.text.lines().enumerate() {
            let dead = |what: String| Finding::new(&file.path, at + 1, what, "mend the link");
            if is_page {
                let links = links(line).into_iter().filter(|link| !leads(house, file, link));
                findings.extend(links.map(|link| dead(format!("{link} leads nowhere"))));
            } else if !file.path.starts_with(MADE_UP) {
                let named = named_pages(line).into_iter().filter(|page| !exists(house, file, page));
                findings.extend(named.map(|page| dead(format!("{page} is not there"))));
            }
        }
    }
    findings
}

/// What `[text](link)` and `[text]: link` name in a line, addresses of the network left out.
fn links(line: &str) -> Vec<&str> {
    let inline = line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let below = line.strip_prefix('[').and_then(|rest| Some(rest.split_once("]: ")?.1));
    let is_ours = |link: &&str| !link.contains("://") && !link.contains(char::is_whitespace);
    inline.chain(below).filter(is_ours).collect()
}

fn leads(house: &House, from: &File, link: &str) -> bool {
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let Some(path) = (if path.is_empty() { Some(from.path.clone()) } else { beside(from, path) })
    else {
        return false;
    };
    let is_folder = || house.files.iter().any(|file| file.path.starts_with(&format!("{path}/")));
    match house.file(&path) {
        None => heading.is_empty() && is_folder(),
        Some(page) => heading.is_empty() || headings(&page.text).any(|name| name == heading),
    }
}

/// The path that `link` names on the page `from`; `None` if it leaves the house.
fn beside(from: &File, link: &str) -> Option<String> {
    let mut path: Vec<&str> = from.path.split('/').collect();
    path.pop();
    for part in link.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => _ = path.pop()?,
            part => path.push(part),
        }
    }
    Some(path.join("/"))
}

/// The headings of a page as links name them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let titles = text.lines().filter(|line| line.starts_with('#'));
    titles.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// Each page of `docs` in a line that no other folder stands before.
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

fn exists(house: &House, from: &File, page: &str) -> bool {
    let in_crate = house.crate_of(&from.path).map(|krate| format!("{}/{page}", krate.folder));
    house.file(page).is_some() || in_crate.is_some_and(|path| house.file(&path).is_some())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::house::{House, made_up};

    /// The findings of a house with this text in a file of this path, and three more files.
    fn findings(path: &str, text: &str) -> Vec<String> {
        let files = vec![
            made_up::file("README.md", "# The house\n## What `it` is, and is not\n"),
            made_up::file("docs/page.md", "# Page\n"),
            made_up::file("crates/a/docs/log.md", ""),
            made_up::file(path, text),
        ];
        let house = House { crates: vec![made_up::krate("a")], files };
        check(&house).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn links_lead_to_files_folders_and_headings() {
        for good in [
            "[a](page.md), [b](../README.md#what-it-is-and-is-not)",
            "[a](#here)\n# Here",
            "[a](../crates/a), [b](../crates/a/docs/log.md)",
            "[R]: ../README.md#the-house",
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
    fn sources_name_pages_that_are_there() {
        let text = "// docs/page.md has it, docs/log.md too, and target/docs/gone.md\n";
        assert_eq!(findings("crates/a/src/lib.rs", text), Vec::<String>::new());
        let text = "// docs/gone.md has it";
        assert_eq!(findings("crates/a/src/lib.rs", text), ["docs/gone.md is not there"]);
    }
}
