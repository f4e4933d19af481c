//! Installs the packages of `./x deb` in unpacked Debian systems.
//!
//! `./x test --long` makes all that the tests need, and sets `TOLLGATE_PACKAGES` to the folder of
//! the packages, and `TOLLGATE_DEBIAN` to that of the system.
#![allow(clippy::print_stdout, reason = "a test that does not run says so")]

mod contents;
mod nginx;
mod states;
mod system;

use std::env;
use std::path::PathBuf;

/// Returns the folder that a variable names. Without it the test does not run; with `CI` set, it
/// fails.
fn folder(variable: &str) -> Option<PathBuf> {
    let folder = env::var_os(variable).map(PathBuf::from);
    if folder.is_none() {
        assert!(env::var_os("CI").is_none(), "{variable} is not set: run ./x test --long");
        println!("not run: {variable} is not set; ./x test --long sets it");
    }
    folder
}

/// Returns the commands of a section of docs/install.md: the indented lines of its first example.
fn commands(section: &str) -> Vec<String> {
    let page = include_str!("../../../docs/install.md");
    let title = format!("\n## {section}\n");
    let (_, text) = page.split_once(&title).expect("docs/install.md has the section");
    let lines = text.lines().skip_while(|line| !line.starts_with("    "));
    let example = lines.take_while(|line| line.starts_with("    "));
    example.map(|line| line.trim().to_owned()).collect()
}
