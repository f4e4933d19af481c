//! A server in a process of its own, whose limits and clock other tests must not share.

use core::net::SocketAddr;
use core::str::FromStr;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _, stdin};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};
use tollgate_server::{Config, Notify, Server};

use crate::rig::{Folder, TIMEOUT, certify, eventually, keys};

/// The file of settings, for the test that is the server.
const SETTINGS: &str = "TOLLGATE_TEST_SETTINGS";

pub(crate) struct Apart {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
    pub(crate) folder: Folder,
}

/// Counts at the end of a server.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) log_lines: usize,
    pub(crate) log_lines_lost: usize,
    pub(crate) log_complete: bool,
    pub(crate) descriptor_pauses: usize,
    pub(crate) signatures: usize,
}

impl Apart {
    /// Starts a server with these settings, an access log, and these variables of the environment.
    pub(crate) fn start(settings: &str, variables: &[(&str, &OsStr)]) -> Self {
        Self::start_with(&format!("workers = 2\n{settings}"), "", variables)
    }

    /// As [`Self::start`], without a number of workers, and with further certificates.
    pub(crate) fn start_with(
        settings: &str,
        certificates: &str,
        variables: &[(&str, &OsStr)],
    ) -> Self {
        let folder = Folder::new();
        let key = keys().join("rsa-2048.pem");
        certify(&folder, &key);
        let file = folder.path("site.toml");
        let text = format!(
            "address = \"127.0.0.1:0\"\naccess_log = \"access.log\"\n{settings}\n\
             [[certificate]]\nchain = \"chain.pem\"\nkey = {key:?}\n{certificates}"
        );
        fs::write(&file, text).unwrap();
        // a file that is too long then is an error, not a signal
        let ignore = "trap '' XFSZ; exec \"$0\" \"$@\"";
        let mut child = Command::new("sh")
            .args(["-c", ignore])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "apart::serve", "--ignored", "--nocapture"])
            .env(SETTINGS, file)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let address = SocketAddr::from(([0; 4], 0));
        let mut this = Self { child, input, output, address, folder };
        this.address = this.word("address");
        this
    }

    /// Limits a resource of the server from now on; `None` removes the limit.
    pub(crate) fn limit(&self, resource: Resource, to: Option<u64>) {
        let Rlimit { maximum, .. } = getrlimit(resource);
        let limit = Rlimit { current: to.or(maximum), maximum };
        prlimit(Some(Pid::from_child(&self.child)), resource, limit).unwrap();
    }

    /// Stops the process of the server until it goes on.
    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
        eventually("all threads are stopped", || {
            let threads = fs::read_dir(format!("/proc/{}/task", self.id())).unwrap();
            threads.into_iter().all(|thread| {
                let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
                status.contains("State:\tT")
            })
        });
    }

    pub(crate) fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the resident memory of the server.
    pub(crate) fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Reads the certificates again; returns the error, or an empty text.
    pub(crate) fn reload(&mut self) -> String {
        writeln!(self.input, "reload").unwrap();
        self.word("reloaded")
    }

    pub(crate) fn stop(mut self) -> (Ended, Folder) {
        writeln!(self.input, "stop").unwrap();
        let ended = Ended {
            log_lines: self.word("lines"),
            log_lines_lost: self.word("lost"),
            log_complete: self.word("complete"),
            descriptor_pauses: self.word("pauses"),
            signatures: self.word("signatures"),
        };
        assert!(self.child.wait().unwrap().success());
        (ended, core::mem::replace(&mut self.folder, Folder::new()))
    }

    /// Reads the next word with this name.
    fn word<T: FromStr<Err: core::fmt::Debug>>(&mut self, name: &str) -> T {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server ended");
            if let Some(word) = line.strip_prefix(name).and_then(|it| it.strip_prefix(' ')) {
                return word.trim_end().parse().unwrap();
            }
        }
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server, until its standard input says `stop` or ends.
#[test]
#[ignore = "runs in the process that another test starts"]
#[allow(clippy::print_stdout, reason = "the other test reads it")]
fn serve() {
    let Some(file) = std::env::var_os(SETTINGS) else { return };
    let config = Config::from_file(file.as_ref()).unwrap();
    let running = Server::start(Config { notify: Notify::new(|_| ()), ..config }).unwrap();
    println!("\naddress {}", running.addr());
    for line in stdin().lines() {
        match line.unwrap().as_str() {
            "reload" => {
                println!(
                    "reloaded {}",
                    running.reload().map_or_else(|it| it.to_string(), |()| String::new())
                );
            }
            _ => break,
        }
    }
    let report = running.stop(TIMEOUT);
    let counters = &report.counters;
    println!("lines {}", counters.log_lines);
    println!("lost {}", counters.log_lines_lost);
    println!("complete {}", report.log_complete);
    println!("pauses {}", counters.descriptor_pauses);
    println!(
        "signatures {}",
        counters.signer.operations.map_or(0, |operations| operations.signatures)
    );
}
