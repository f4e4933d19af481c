//! Sets variables that name the program's sources: commit, compiler, and the locked version of
//! AWS-LC.
//!
//! A variable stays unset if its source is missing: the sources have no repository, or the lock
//! file is in another folder. Records then say "unknown".

use std::path::Path;
use std::process::Command;

fn main() {
    // Read the variable when the script runs, because two checkouts that share a build folder also
    // share the compiled build script.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let root = Path::new(&here).join("../..");
    let lock = root.join("Cargo.lock");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", lock.display());

    // The log of HEAD changes with every commit and checkout; the file HEAD does not change with a
    // commit.
    if let Some(log) =
        line(Command::new("git").args(["rev-parse", "--git-path", "logs/HEAD"]).current_dir(&root))
    {
        println!("cargo::rerun-if-changed={}", root.join(log).display());
    }
    set(
        "TOLLGATE_COMMIT",
        line(Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).current_dir(&root)),
    );
    let rustc =
        std::env::var_os("RUSTC").and_then(|rustc| line(Command::new(rustc).arg("--version")));
    set("TOLLGATE_RUSTC", rustc.and_then(|line| line.split(' ').nth(1).map(str::to_owned)));
    let lock = std::fs::read_to_string(lock).unwrap_or_default();
    set("TOLLGATE_AWS_LC_RS", locked(&lock, "aws-lc-rs"));
    set("TOLLGATE_AWS_LC_SYS", locked(&lock, "aws-lc-sys"));
}

/// Returns the first line that a command prints, if it succeeds.
fn line(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(str::to_owned)
}

/// Returns the version of a package in the text of a lock file.
fn locked(lock: &str, package: &str) -> Option<String> {
    let entry = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?.1;
    entry.split_once('"').map(|(version, _)| version.to_owned())
}

fn set(name: &str, value: Option<String>) {
    if let Some(value) = value {
        println!("cargo::rustc-env={name}={value}");
    }
}
