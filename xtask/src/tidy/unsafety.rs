//! Only crates that are marked for it contain `unsafe`. All other files forbid it.
//!
//! The check reads files as tokens, since comments and strings may contain the word.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::Finding;
use crate::workspace::{File, Workspace};

/// They call the C library as C does.
const FUZZ_TARGETS_OF_C: [&str; 2] =
    ["fuzz/fuzz_targets/c_library.rs", "fuzz/fuzz_targets/c_queue.rs"];

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in workspace.rust_files() {
        let tokens: TokenStream = match file.text.parse() {
            Ok(tokens) => tokens,
            Err(error) => {
                let line = proc_macro2::LexError::span(&error).start().line;
                let what = "this is not Rust";
                findings.push(Finding::new(&file.path, line, what, "make it compile"));
                continue;
            }
        };
        check_file(workspace, file, &tokens, &mut findings);
    }
    findings
}

fn check_file(
    workspace: &Workspace,
    file: &File,
    tokens: &TokenStream,
    findings: &mut Vec<Finding>,
) {
    let owner = workspace.crate_of(&file.path);
    let marked = owner.is_some_and(|krate| krate.marked_unsafe == Some(true))
        || FUZZ_TARGETS_OF_C.contains(&file.path.as_str());
    let is_root = owner.is_some_and(|krate| krate.roots.contains(&file.path));
    let is_kernel = marked && file.path.contains("/src/kernels/");
    // `kernels/mod.rs` must not use `unsafe`, but cannot forbid it: there, `forbid` would also
    // apply to the kernels with assembly.
    let is_list_of_kernels = is_kernel && file.path.ends_with("/mod.rs");

    if !marked || is_list_of_kernels {
        for line in lines_of(tokens, "unsafe") {
            let what = "`unsafe` outside the crates and files marked for it";
            let remedy = "write it without, or move it into a marked crate";
            findings.push(Finding::new(&file.path, line, what, remedy));
        }
    }
    if !marked && is_root && !forbids_unsafe(tokens) {
        let what = "the root of an unmarked crate does not forbid `unsafe`";
        findings.push(Finding::new(&file.path, 1, what, "add #![forbid(unsafe_code)]"));
    }
    if is_kernel && !is_list_of_kernels && !has_assembly(tokens) && !forbids_unsafe(tokens) {
        let what = "a kernel without inline assembly does not forbid `unsafe`";
        findings.push(Finding::new(&file.path, 1, what, "add #![forbid(unsafe_code)]"));
    }
}

/// Returns the line number, from 1, of every identifier `word` at any depth.
fn lines_of(tokens: &TokenStream, word: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    for token in tokens.clone() {
        match token {
            TokenTree::Group(group) => lines.extend(lines_of(&group.stream(), word)),
            TokenTree::Ident(ident) if ident == word => lines.push(ident.span().start().line),
            _ => {}
        }
    }
    lines
}

fn has_assembly(tokens: &TokenStream) -> bool {
    ["asm", "global_asm", "naked_asm"].iter().any(|name| !lines_of(tokens, name).is_empty())
}

/// Returns whether the file has `#![forbid(... unsafe_code ...)]` at its top level.
fn forbids_unsafe(tokens: &TokenStream) -> bool {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    tokens.windows(3).any(|window| match window {
        [TokenTree::Punct(hash), TokenTree::Punct(bang), TokenTree::Group(attribute)] => {
            hash.as_char() == '#'
                && bang.as_char() == '!'
                && attribute.delimiter() == Delimiter::Bracket
                && lines_of(&attribute.stream(), "forbid").len() == 1
                && lines_of(&attribute.stream(), "unsafe_code").len() == 1
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::fake;

    /// Returns the findings for one file of a crate `a`, which is marked or not.
    fn findings(marked: bool, path: &str, text: &str) -> Vec<String> {
        let mut krate = fake::krate("a");
        krate.marked_unsafe = Some(marked);
        fake::findings(check, &[krate], &[(path, text)])
    }

    #[test]
    fn unsafe_is_in_marked_crates_and_all_others_forbid_it() {
        let (root, tests) = ("crates/a/src/lib.rs", "crates/a/tests/contract.rs");
        let kernel = "crates/a/src/kernels/amm64_mulx.rs";
        let list = "crates/a/src/kernels/mod.rs";
        let words = "//! unsafe\n#![forbid(unsafe_code)]\n/* unsafe */ const A: &str = \"unsafe\";";
        let inside = "fn f() {\n    let x = [unsafe { g() }];\n}\n";
        let forbid = "#![forbid(unsafe_code)]\n";
        let assembly = "pub fn amm() { unsafe { core::arch::asm!(\"nop\") } }";
        for (marked, path, text, count) in [
            (false, root, words, 0),
            (false, tests, inside, 1),
            (true, tests, inside, 0),
            (true, "fuzz/targets/b.rs", "unsafe impl Send for A {}", 1),
            (false, root, "//! A.\n#![deny(unsafe_code)]\n", 1),
            (false, root, "mod b {\n#![forbid(unsafe_code)]\n}\n", 1),
            (false, root, forbid, 0),
            (false, root, "#![forbid(unsafe_code, reason = \"none\")]", 0),
            (true, root, "//! A.\n", 0),
            (true, kernel, "pub fn amm() {} // asm!", 1),
            (true, kernel, forbid, 0),
            (true, kernel, assembly, 0),
            (true, list, "mod amm64_mulx;", 0),
            (true, list, "unsafe fn f() {}", 1),
            (false, "crates/a/src/b.rs", "fn f() {\n", 1),
        ] {
            let found = findings(marked, path, text);
            assert_eq!(found.len(), count, "{path}: {text}: {found:?}");
        }
        assert!(findings(false, tests, inside)[0].starts_with("crates/a/tests/contract.rs:2: "));
    }
}
