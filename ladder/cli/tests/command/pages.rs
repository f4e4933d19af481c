//! Outputs on the pages that depend on nothing but files of the repository: the program prints the
//! same.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::scratch;

/// Pages, and the beginnings of their commands that are run.
const PAGES: [(&str, &[&str]); 5] = [
    ("compare", &["tollgate compare"]),
    ("fleet", &["grep", "tollgate fleet server.jsonl"]),
    ("kernel", &["tollgate kernel model --kernel", "tollgate kernel model --what-if"]),
    ("papers", &["tollgate papers"]),
    ("workload", &["tollgate workload show"]),
];

/// A command of a page and the output below it.
struct Shown {
    command: String,
    output: String,
}

/// Returns the commands of a page: indented lines that begin with `$`, and the indented lines
/// below.
fn shown(page: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let mut in_block = false;
    for line in page.replace("\\\n       ", "").lines() {
        let indented = line.strip_prefix("    ");
        in_block &= indented.is_some() || line.is_empty();
        if let Some(command) = indented.and_then(|line| line.strip_prefix("$ ")) {
            let command = command.replace("./x ", "tollgate ");
            found.push(Shown { command, output: String::new() });
            in_block = true;
        } else if let (true, Some(shown)) = (in_block, found.last_mut()) {
            shown.output += indented.unwrap_or_default();
            shown.output += "\n";
        }
    }
    found
}

/// Returns whether the parts of the page's output are in the program's output, in this order. The
/// page leaves something out at `[...]`.
fn is_shown(page: &str, printed: &str) -> bool {
    let mut rest = printed;
    page.split("[...]").map(|part| part.trim_start_matches('\n').trim_end()).all(|part| {
        let found = rest.find(part);
        rest = found.map_or(rest, |at| &rest[at + part.len()..]);
        found.is_some()
    })
}

#[test]
fn the_pages_show_what_the_program_prints() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = scratch("pages");
    fs::create_dir_all(&folder).unwrap();
    for name in ["docs", "records"] {
        symlink(root.join(name), folder.join(name)).unwrap();
    }
    let program = Path::new(env!("CARGO_BIN_EXE_tollgate-ladder")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for (page, beginnings) in PAGES {
        let file = root.join(format!("docs/{page}.md"));
        let commands = shown(&fs::read_to_string(file).unwrap());
        for beginning in beginnings {
            assert!(
                commands.iter().any(|shown| shown.command.starts_with(beginning)),
                "{beginning}"
            );
        }
        let is_run = |shown: &&Shown| {
            beginnings.iter().any(|beginning| shown.command.starts_with(beginning))
        };
        for Shown { command, output } in commands.iter().filter(is_run) {
            let ran = Command::new("sh")
                .args(["-c", command])
                .current_dir(&folder)
                .env("PATH", &path)
                .output()
                .unwrap();
            let printed = String::from_utf8(ran.stdout).unwrap();
            let error = String::from_utf8(ran.stderr).unwrap();
            assert!(ran.status.success(), "docs/{page}.md: {command}: {error}");
            assert!(
                is_shown(output, &printed),
                "docs/{page}.md: {command}\nThe page shows\n{output}\nThe program prints\n{printed}"
            );
        }
    }
}
