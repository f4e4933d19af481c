//! A file of Rust is named after its contents, has at most [`LINES_MAX`] lines of at most
//! [`COLUMNS_MAX`] columns, and is not included by the other half of the project.
//!
//! [`sizes`] prints the lines and the words of each part. They may only fall.

use super::Finding;
use crate::workspace::{File, Workspace};

const LINES_MAX: usize = 500;
const COLUMNS_MAX: usize = 100;
const FORBIDDEN: [&str; 4] = ["common", "helpers", "misc", "utils"];
/// They share no source files; the ladder uses the engine's public API.
const HALVES: [&str; 2] = ["engine/", "ladder/"];

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in workspace.rust_files() {
        let mut find = |line: usize, what: &str, remedy: &str| {
            findings.push(Finding::new(&file.path, line, what, remedy));
        };
        let mut names = file.path.trim_end_matches(".rs").split('/');
        if names.any(|name| FORBIDDEN.contains(&name)) {
            find(1, "the name says nothing about the contents", "name it after its one idea");
        }
        let lines = file.text.lines().count();
        if lines > LINES_MAX {
            find(LINES_MAX, &format!("{lines} lines are too many"), "split it");
        }
        let columns = file.text.lines().map(|line| line.chars().count()).enumerate();
        for (at, columns) in columns.filter(|(_, columns)| *columns > COLUMNS_MAX) {
            find(at + 1, &format!("{columns} columns are too many"), "break the line");
        }
        let Some(half) = HALVES.iter().find(|half| file.path.starts_with(**half)) else { continue };
        for (at, line) in file.text.lines().enumerate() {
            let included = included(line).and_then(|path| file.beside(path));
            let is_other =
                |other: &&str| included.as_ref().is_some_and(|path| path.starts_with(*other));
            if HALVES.iter().any(|other| other != half && is_other(other)) {
                find(at + 1, "includes a file of the other half", "use the crate's public API");
            }
        }
    }
    findings
}

/// Returns the path in a line with `#[path = "..."]` or `include!("...")`.
fn included(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let is_include = line.starts_with("#[path") || line.contains("include!(");
    line.split('"').nth(1).filter(|_| is_include && !line.starts_with("//"))
}

/// The parts of the project: their folders, and the most lines of Rust that they may have.
const PARTS: [(&[&str], usize); 3] = [
    (&["engine/"], 62_000),
    (&["ladder/", "papers/"], 98_000),
    (&["xtask/", "fuzz/", "openssl4/"], 8_000),
];
/// The most words of all pages.
const WORDS_MAX: usize = 60_000;

/// Returns a line for each part, and one for the words of all pages.
pub(super) fn sizes(workspace: &Workspace) -> Vec<String> {
    let lines = |folder: &str| -> usize {
        let files = workspace.rust_files().filter(|file| file.path.starts_with(folder));
        files.map(|file| file.text.lines().count()).sum()
    };
    let pages = workspace.files.iter().filter(|file| file.path.ends_with(".md"));
    let words = |file: &File| file.text.split_whitespace().count();
    let words: usize = pages.map(words).sum();
    let part = |(folders, max): (&[&str], usize)| {
        let sum: usize = folders.iter().map(|folder| lines(folder)).sum();
        format!("{}: {sum} lines of Rust, at most {max}", folders.join(" "))
    };
    let words = format!("pages: {words} words, at most {WORDS_MAX}");
    PARTS.into_iter().map(part).chain([words]).collect()
}

#[cfg(test)]
mod tests {
    use super::{check, sizes};
    use crate::workspace::fake;

    fn findings(path: &str, text: &str) -> usize {
        check(&fake::workspace(&[], &[(path, text)])).len()
    }

    #[test]
    fn names_lengths_and_included_files_are_checked() {
        assert_eq!(findings("engine/a/src/utils.rs", ""), 1);
        assert_eq!(findings("engine/a/tests/common/mod.rs", ""), 1);
        assert_eq!(findings("engine/a/src/common_prefix.rs", ""), 0);
        let texts = ["x\n".repeat(501), "é".repeat(100), "é".repeat(101)];
        assert_eq!(texts.map(|text| findings("b.rs", &text)), [1, 0, 1]);
        let other = "#[path = \"../../../../engine/mont/tests/judge/mod.rs\"]\nmod judge;\n";
        assert_eq!(findings("ladder/1-kernel/judge/src/lib.rs", other), 1);
        assert_eq!(findings("fuzz/fuzz_targets/a.rs", "#[path = \"../../ladder/a.rs\"]\n"), 0);
        let table = "    include!(\"../../../ladder/bench/src/table.rs\");\n";
        assert_eq!(findings("engine/rsa/src/lib.rs", table), 1);
        assert_eq!(findings("engine/rsa/src/lib.rs", "#[path = \"../toy/mod.rs\"]\n"), 0);
    }

    #[test]
    fn sizes_are_of_parts() {
        let files = [("ladder/a.rs", "a\nb\n"), ("papers/b.rs", "c\n"), ("README.md", "two words")];
        let found = sizes(&fake::workspace(&[], &files));
        assert_eq!(found[1], "ladder/ papers/: 3 lines of Rust, at most 98000");
        assert_eq!(found[3], "pages: 2 words, at most 60000");
    }
}
