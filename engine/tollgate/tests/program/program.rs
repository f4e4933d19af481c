//! Runs the built program, and captures its output.

use core::ops::Deref;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

pub(crate) fn tollgate() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tollgate"))
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    tollgate().args(arguments).output().unwrap()
}

/// Starts the program with the words of a line as arguments, followed by `more`.
pub(crate) fn start(words: &str, more: &[&str]) -> Child {
    let mut command = tollgate();
    command.args(words.split(' ')).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

pub(crate) fn keys() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/keys")
}

/// Returns a path that no other test of this run uses.
pub(crate) fn scratch(name: &str) -> Scratch {
    let name = format!("{}-{name}", std::process::id());
    Scratch(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
}

/// A file or folder that is removed on drop, if it exists.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        self
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = if self.is_dir() { fs::remove_dir_all(&self.0) } else { fs::remove_file(&self.0) };
    }
}

/// Expects exit code 2, nothing on standard output, and one line on standard error that contains
/// `why`.
#[track_caller]
pub(crate) fn refused(output: &Output, why: &str) {
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("tollgate: ") && stderr.contains(why), "{why:?} in {stderr}");
    assert!(output.stdout.is_empty());
}

/// Returns standard output of a successful run.
#[track_caller]
pub(crate) fn said(output: &Output) -> String {
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}{stdout}");
    stdout
}

pub(crate) fn signal(name: &str, process: u32) {
    let kill = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
    assert!(kill.unwrap().success());
}

/// Runs the program with the words of a line as arguments, followed by `more`.
pub(crate) fn line(words: &str, more: &[&str]) -> Output {
    tollgate().args(words.split(' ')).args(more).output().unwrap()
}
