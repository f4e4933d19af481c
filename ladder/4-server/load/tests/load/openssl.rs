//! Runs against OpenSSL's `s_server`: RSA key exchange, bodies without length, and a process that
//! can be killed and measured.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use tollgate_load::{
    Cause, Close, Exchange, Failure, Finding, Limits, Outcome, Plan, Protocol, Referee, Seen,
    Server, Target, Verdict, processes_cpu, run,
};

use crate::{load, tls_server, until};

pub(crate) const BYTES: u64 = 14_336;

/// A server program in its own folder, which has a key and a certificate.
pub(crate) struct Program {
    pub(crate) child: Child,
    pub(crate) folder: PathBuf,
}

impl Program {
    /// Starts the command; `None` if the program is not installed, which is an error in CI.
    pub(crate) fn start(name: &str, command: impl FnOnce(&Path) -> Command) -> Option<Self> {
        let folder = std::env::temp_dir().join(format!("tollgate-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (key, certificate) = tls_server::tls_config::identity();
        fs::write(folder.join("key.pem"), key).unwrap();
        fs::write(folder.join("certificate.pem"), certificate).unwrap();
        match command(&folder).current_dir(&folder).stdin(Stdio::null()).spawn() {
            Ok(child) => Some(Self { child, folder }),
            Err(error) => {
                let _ = fs::remove_dir_all(&folder);
                eprintln!("not tested: {name}: the program does not start: {error}");
                assert!(std::env::var_os("CI").is_none(), "CI has OpenSSL and GnuTLS");
                None
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// `openssl s_server -WWW`. It serves one connection at a time, and prints a line for each file.
pub(crate) struct SServer {
    program: Program,
    pub(crate) target: Target,
    pub(crate) files: Arc<AtomicU64>,
}

impl SServer {
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Option<Self> {
        let mut program = Program::start(name, |folder| {
            fs::write(folder.join("object"), "x".repeat(BYTES.try_into().unwrap())).unwrap();
            let mut command = Command::new("openssl");
            command
                .args(["s_server", "-accept", "127.0.0.1:0", "-WWW"])
                .args(["-key", "key.pem", "-cert", "certificate.pem"])
                .args(arguments)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            command
        })?;
        let files = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&files);
        let child = &mut program.child;
        let (output, log) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Some(address) = line.strip_prefix("ACCEPT ") {
                    let _ = tell.send(address.to_owned());
                }
            }
        });
        thread::spawn(move || {
            for line in BufReader::new(log).lines().map_while(Result::ok) {
                count.fetch_add(u64::from(line.starts_with("FILE:")), Ordering::Relaxed);
            }
        });
        let address = told.recv_timeout(Duration::from_secs(10)).expect("s_server listens");
        let target = Target::new(address.trim().parse().unwrap()).unwrap();
        Some(Self { program, target, files })
    }

    fn server(&self) -> Server<'static> {
        let process = self.program.child.id();
        Server::new("s_server", self.target.clone()).with_cpu(move || processes_cpu(&[process]))
    }
}

/// Counts the files that `s_server` reports as sent; it does not report handshakes.
pub(crate) struct Files {
    pub(crate) files: Arc<AtomicU64>,
    pub(crate) before: u64,
}

impl Referee for Files {
    fn mark(&mut self) -> io::Result<()> {
        self.before = self.files.load(Ordering::Relaxed);
        Ok(())
    }

    fn seen(&mut self) -> io::Result<Seen> {
        let requests = self.files.load(Ordering::Relaxed) - self.before;
        Ok(Seen { handshakes: requests, requests, ..Seen::default() })
    }
}

fn plan(protocol: Protocol) -> Plan {
    Plan {
        connections: 4,
        warm_up_ms: 50,
        sustain_ms: 300,
        exchange: Exchange::Get { path: "/object".to_owned(), bytes: BYTES },
        limits: Limits::of_counts(),
        ..Plan::new(protocol)
    }
}

#[test]
fn every_protocol_agrees_with_s_server() {
    let Some(server) = SServer::start("load-all", &["-cipher", "ALL"]) else {
        return;
    };
    for protocol in Protocol::ALL {
        for close in [Close::Fin, Close::RstAfterConfirm] {
            let plan = Plan { close, ..plan(protocol) };
            let enough = |outcome: &Outcome| {
                let stalled = outcome.reasons.contains(&Finding::Stalled);
                let late = outcome.doubts.contains(&Finding::ServerCpuLate);
                outcome.whole.transactions > 10 && !stalled && !late
            };
            let outcome = until(&plan, enough, |plan| {
                let referee = Files { files: Arc::clone(&server.files), before: 0 };
                load(plan, server.server().with_referee(referee))
            });
            assert_eq!(outcome.verdict, Verdict::Valid, "{protocol:?} {close:?} {outcome}");
            let cpu = outcome.server_cpu_ns_per_session().unwrap();
            assert!((1e4..1e8).contains(&cpu), "10 µs to 100 ms, not {cpu} ns");
        }
    }
}

#[test]
fn a_killed_process_is_reported() {
    let Some(mut server) = SServer::start("load-kill", &[]) else {
        return;
    };
    let plan = Plan { sustain_ms: 30_000, ..plan(Protocol::Tls13) };
    let mut side = server.server();
    let killer = thread::spawn(move || {
        while server.files.load(Ordering::Relaxed) < 10 {
            thread::sleep(Duration::from_millis(1));
        }
        server.program.child.kill().unwrap();
        server.program.child.wait().unwrap();
        server
    });
    let outcome = run(&plan, &mut side, &|| false, &mut |_, _| {}).unwrap();
    let server = killer.join().unwrap();
    assert_eq!((outcome.verdict, outcome.sessions_per_s()), (Verdict::Invalid, None));
    let gone = |finding: &Finding| matches!(finding, Finding::ServerGone { transactions: 1.., .. });
    assert!(outcome.reasons.iter().any(gone), "{outcome}");
    // the CPU time of a killed process cannot be read
    assert!(processes_cpu(&[server.program.child.id()]).is_err());
}

#[test]
fn a_hung_process_is_reported_and_does_not_hang_the_run() {
    let Some(server) = SServer::start("load-hang", &[]) else {
        return;
    };
    let plan = Plan { sustain_ms: 30_000, phase_ms_max: 500, ..plan(Protocol::Tls13) };
    let mut side = server.server();
    let pid = Pid::from_child(&server.program.child);
    let files = Arc::clone(&server.files);
    let stopper = thread::spawn(move || {
        while files.load(Ordering::Relaxed) < 10 {
            thread::sleep(Duration::from_millis(1));
        }
        kill_process(pid, Signal::STOP).unwrap();
    });
    let start = Instant::now();
    let outcome = run(&plan, &mut side, &|| false, &mut |_, _| {}).unwrap();
    stopper.join().unwrap();
    assert!(start.elapsed() < Duration::from_secs(25), "it was broken off");
    let whole = &outcome.whole;
    assert_eq!(whole.attempts, whole.ended() + outcome.abandoned, "{outcome}");
    let late = |(failure, _): (&Failure, &u64)| failure.cause == Cause::Deadline;
    assert!(whole.failures.iter().any(late), "{outcome}");
    assert_eq!((outcome.verdict, outcome.sessions_per_s()), (Verdict::Invalid, None));
    let gone = |finding: &Finding| matches!(finding, Finding::ServerGone { transactions: 1.., .. });
    assert!(outcome.reasons.iter().any(gone), "{outcome}");
}
