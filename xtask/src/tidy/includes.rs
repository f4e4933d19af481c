//! The engine, the ladder and the papers share no source files. A file of one does not include a
//! file of another by `#[path]` or `include!`.

use super::Finding;
use crate::workspace::Workspace;

const PARTS: [&str; 3] = ["engine/", "ladder/", "papers/"];

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in workspace.rust_files() {
        let Some(part) = PARTS.into_iter().find(|part| file.path.starts_with(part)) else {
            continue;
        };
        for (at, line) in file.text.lines().enumerate() {
            let Some(included) = included(line).and_then(|path| file.beside(path)) else {
                continue;
            };
            if PARTS.into_iter().any(|other| other != part && included.starts_with(other)) {
                findings.push(Finding::new(
                    &file.path,
                    at + 1,
                    format!("includes {included} of another part"),
                    "use the crate's public API, in tests as a dev-dependency",
                ));
            }
        }
    }
    findings
}

/// Returns the path in a line with `#[path = "..."]` or `include!("...")`.
fn included(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = if line.starts_with("//") {
        None
    } else if line.starts_with("#[path") {
        Some(line)
    } else {
        line.find("include!(").map(|at| &line[at..])
    };
    rest?.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::fake;

    fn findings(path: &str, text: &str) -> usize {
        check(&fake::workspace(&[], &[(path, text)])).len()
    }

    #[test]
    fn a_file_of_the_other_half_is_refused() {
        let judge = "#[path = \"../../../../engine/mont/tests/judge/mod.rs\"]\nmod judge;\n";
        assert_eq!(findings("ladder/1-kernel/judge/src/lib.rs", judge), 1);
        let table = "    include!(\"../../../ladder/bench/src/table.rs\");\n";
        assert_eq!(findings("engine/rsa/src/lib.rs", table), 1);
    }

    #[test]
    fn files_of_the_same_half_vectors_and_comments_are_accepted() {
        for text in [
            "#[path = \"../toy/mod.rs\"]\n",
            "#[path = \"../../queue/tests/toy/mod.rs\"]\n",
            "const PEM: &str = include_str!(\"../../../ladder/README.md\");\n",
            "// include!(\"../../../ladder/bench/src/table.rs\");\n",
        ] {
            assert_eq!(findings("engine/rsa/src/lib.rs", text), 0, "{text}");
        }
        assert_eq!(findings("fuzz/fuzz_targets/a.rs", "#[path = \"../../ladder/a.rs\"]\n"), 0);
    }
}
