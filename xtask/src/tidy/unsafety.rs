//! Only crates that are marked for it allow `unsafe`, which the lints of the workspace deny; of
//! their kernels, only those with inline assembly.

use super::Finding;
use crate::workspace::Workspace;

/// They call the C library as C does.
const FUZZ_TARGETS_OF_C: [&str; 2] =
    ["fuzz/fuzz_targets/c_library.rs", "fuzz/fuzz_targets/c_queue.rs"];
/// This folder is not checked: its test contains the words.
const TESTS: &str = "xtask/src/tidy/";

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in workspace.rust_files() {
        let owner = workspace.crate_of(&file.path);
        let is_in_marked = owner.is_some_and(|krate| krate.marked_unsafe == Some(true));
        let needs_none = file.path.contains("/kernels/") && !file.text.contains("asm!");
        let is_marked = is_in_marked && !needs_none
            || FUZZ_TARGETS_OF_C.contains(&file.path.as_str())
            || file.path.starts_with(TESTS);
        let allows = |line: &str| line.contains("unsafe_code") && !line.contains("forbid(");
        let lines = file.text.lines().enumerate().filter(|_| !is_marked);
        for (at, _) in lines.filter(|(_, line)| allows(line)) {
            let what = "`unsafe` outside the crates and files marked for it";
            let remedy = "write it without, or move it into a marked crate";
            findings.push(Finding::new(&file.path, at + 1, what, remedy));
        }
    }
    for krate in &workspace.crates {
        let manifest = workspace.file(&krate.manifest());
        if manifest.is_some_and(|file| !file.text.contains("[lints]\nworkspace = true")) {
            let (what, remedy) = ("no lints", "add [lints] with workspace = true");
            findings.push(Finding::new(&krate.manifest(), 1, what, remedy));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::fake;

    #[test]
    fn marked_crates_alone_allow_unsafe() {
        let findings = |marked_unsafe: bool, path: &str| {
            let mut krate = fake::krate("a");
            krate.marked_unsafe = Some(marked_unsafe);
            let text = "//! A.\n#![allow(unsafe_code, reason = \"assembly\")]\n";
            fake::findings(check, &[krate], &[(path, text)])
        };
        assert!(findings(true, "crates/a/tests/b.rs").is_empty());
        assert_eq!(findings(true, "crates/a/src/kernels/b.rs").len(), 1);
        assert!(findings(false, "fuzz/fuzz_targets/c_queue.rs").is_empty());
        let [only] = &findings(false, "crates/a/tests/b.rs")[..] else { panic!("one finding") };
        assert!(only.starts_with("crates/a/tests/b.rs:2: "), "{only}");
    }
}
