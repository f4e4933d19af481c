//! Runs the built program, captures its output, and starts its server.

use core::ops::Deref;
use core::sync::atomic::{AtomicU32, Ordering};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use tollgate_record::{Record, jsonl};

pub(crate) fn tollgate() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tollgate-ladder"))
}

/// Returns a command that runs the signer with this file of settings. The program `tollgate` is
/// beside the one that is tested, if the workspace was built.
pub(crate) fn signer(settings: &Path) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_tollgate-ladder")).with_file_name("tollgate");
    assert!(program.exists(), "run: cargo build --package tollgate");
    let mut command = Command::new(program);
    command.args(["signer", "--config"]).arg(settings);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    tollgate().args(arguments).output().unwrap()
}

/// Runs the program with the words of a line as arguments, followed by `more`: arguments such as
/// paths, which may contain spaces.
pub(crate) fn line(words: &str, more: &[&str]) -> Output {
    tollgate().args(words.split(' ')).args(more).output().unwrap()
}

/// Starts the program with the words of a line as arguments, followed by `more`.
pub(crate) fn start(words: &str, more: &[&str]) -> Child {
    let mut command = tollgate();
    command.args(words.split(' ')).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs a line with records to a file, and also returns the records.
pub(crate) fn recorded(words: &str, more: &[&str]) -> (Output, Vec<Record>) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let file = scratch(&format!("{}.jsonl", NUMBER.fetch_add(1, Ordering::Relaxed)));
    let output = line(words, &[more, &["--json", file.name()]].concat());
    (output, records(&file))
}

pub(crate) fn keys() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/keys")
}

/// Returns a path that no other test of this run uses.
pub(crate) fn scratch(name: &str) -> Scratch {
    let name = format!("{}-{name}", std::process::id());
    Scratch(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
}

/// Makes the authorities "ca" and "other" in a folder, and certificates of the first one with these
/// names and `subjectAltName`s.
pub(crate) fn certificates(folder: &Path, names: &[(&str, &str)]) {
    let make = |name: &str, more: &[&str]| {
        let args = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 2";
        let (key, chain) = (format!("{name}.key"), format!("{name}.pem"));
        let mut command = Command::new("openssl");
        command.args(args.split(' ')).args(["-subj", &format!("/CN={name}")]).args(more);
        command.args(["-keyout", &key, "-out", &chain]).current_dir(folder);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    make("ca", &["-addext", "basicConstraints=critical,CA:TRUE"]);
    make("other", &["-addext", "basicConstraints=critical,CA:TRUE"]);
    for (name, alternative) in names {
        let more = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "basicConstraints=CA:FALSE"];
        let alternative = format!("subjectAltName={alternative}");
        make(name, &[&more[..], &["-addext", &alternative]].concat());
    }
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

/// Returns whether the command had a result. Otherwise a server is missing, which is an error in
/// CI, or the machine is too busy for a figure.
#[track_caller]
pub(crate) fn has_result(output: &Output) -> bool {
    if output.status.success() {
        return true;
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let is_missing = stderr.contains("is not installed");
    let busy = ["a run is not valid", "perf lost", "the samples stand for"];
    let is_invalid = output.status.code() == Some(1);
    let is_busy = is_invalid || busy.iter().any(|words| stderr.contains(words));
    assert!(is_busy || (is_missing && std::env::var_os("CI").is_none()), "{stderr}");
    println!("skipped: {stderr}");
    false
}

/// Returns standard output, after checking that it fits a terminal. Wrapped and indented lines are
/// joined to the previous one, because line breaks depend on the length of paths and numbers.
#[track_caller]
pub(crate) fn text(output: &Output) -> String {
    let stdout = str::from_utf8(&output.stdout).unwrap();
    assert!(stdout.lines().all(|line| line.chars().count() <= 100), "{stdout}");
    stdout.replace("\n  ", " ")
}

pub(crate) fn records(file: &Path) -> Vec<Record> {
    jsonl::read_all(BufReader::new(File::open(file).unwrap())).unwrap()
}

/// Returns the record with this subject and quantity.
#[track_caller]
pub(crate) fn figure<'a>(records: &'a [Record], subject: &str, quantity: &str) -> &'a Record {
    let is = |r: &&Record| r.subject.to_string() == subject && r.quantity.as_str() == quantity;
    records.iter().find(is).unwrap_or_else(|| panic!("no {subject} {quantity}"))
}

/// Returns [`text`] of a successful run.
#[track_caller]
pub(crate) fn shown(output: &Output) -> String {
    said(output);
    text(output)
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

/// A running `tollgate serve` on a free port; killed when dropped.
pub(crate) struct Serve {
    pub(crate) child: Child,
    pub(crate) stdout: BufReader<ChildStdout>,
    pub(crate) address: String,
    pub(crate) log: Scratch,
    /// The server's output, up to the line that says that it is ready.
    pub(crate) said: String,
}

impl Serve {
    /// Starts the server on loopback, with these additional flags and a log of this name.
    pub(crate) fn start(name: &str, flags: &[&str]) -> Self {
        Self::at("127.0.0.1", name, flags)
    }

    /// Starts the server on another address of this machine.
    pub(crate) fn at(ip: &str, name: &str, flags: &[&str]) -> Self {
        let log = scratch(name);
        let address = format!("{ip}:0");
        let options = ["--address", &address, "--access-log", log.name()];
        let mut child = start("serve", &[&options, flags].concat());
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        while !said.contains("access log:") {
            assert!(stdout.read_line(&mut said).unwrap() > 0, "it ended: {said}");
        }
        let address = said.strip_prefix("listening on https://").unwrap();
        let address = address.split('/').next().unwrap().to_owned();
        Self { child, stdout, address, log, said }
    }

    /// Stops the server and returns its log.
    pub(crate) fn stopped(mut self) -> String {
        signal("TERM", self.child.id());
        self.child.wait().unwrap();
        fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
