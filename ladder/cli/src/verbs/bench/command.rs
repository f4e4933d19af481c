//! A shell command as the client: the server's log counts its sessions.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use tollgate_load::{Plan, Seen, Server, children_cpu};

use crate::cells::float;
use crate::error::CliError;

/// Interval of reading the log and of asking whether to stop.
const TICK: Duration = Duration::from_millis(20);

/// A run of a command.
#[derive(Clone, Debug)]
pub(in crate::verbs) struct Counted {
    pub(super) seen: Seen,
    /// Why the run has no figures; empty if it has.
    pub(super) objections: Vec<String>,
    elapsed: Duration,
    server_cpu: Option<Duration>,
    client_cpu: Option<Duration>,
}

impl Counted {
    pub(super) fn per_s(&self) -> Option<f64> {
        let is_valid = self.objections.is_empty();
        is_valid.then(|| float(self.seen.handshakes) / self.elapsed.as_secs_f64())
    }

    pub(super) fn server_cpu_ns(&self) -> Option<f64> {
        self.over_sessions(self.server_cpu)
    }

    pub(super) fn client_cpu_ns(&self) -> Option<f64> {
        self.over_sessions(self.client_cpu)
    }

    fn over_sessions(&self, cpu: Option<Duration>) -> Option<f64> {
        let sessions = float(self.seen.handshakes);
        cpu.filter(|_| self.objections.is_empty()).map(|cpu| cpu.as_secs_f64() * 1e9 / sessions)
    }
}

/// Runs the command once for each connection of the plan, again and again until the time of the
/// plan is over. In the command, `{address}`, `{bytes}` and `{seconds}` stand for values of the
/// plan.
pub(super) fn run(
    command: &str,
    (plan, bytes): (&Plan, u64),
    server: &mut Server<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Counted, CliError> {
    let time = Duration::from_millis(plan.warm_up_ms + plan.sustain_ms);
    let command = command
        .replace("{address}", &server.target.address().to_string())
        .replace("{bytes}", &bytes.to_string())
        .replace("{seconds}", &time.as_millis().div_ceil(1000).to_string());
    let missing = || error!("a client command needs a server with a log: give another server");
    server.referee.as_mut().ok_or_else(missing)?.mark()?;
    let mut cpu = || server.cpu.as_mut().map(|meter| meter()).transpose();
    let (server_before, client_before, start) = (cpu()?, children_cpu(), Instant::now());
    let ended = AtomicBool::new(false);
    let work = || -> Result<(), String> {
        while start.elapsed() < time && !ended.load(Ordering::Relaxed) {
            let mut shell = Command::new("/bin/sh");
            let output = shell.args(["-c", &command]).stdin(Stdio::null()).output();
            let output = output.map_err(|error| format!("/bin/sh: {error}"))?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
                return Err(format!("the command ended with {}: {said}", output.status));
            }
        }
        Ok(())
    };
    let mut objections: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.connections).map(|_| scope.spawn(work)).collect();
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            ended.fetch_or(stop(), Ordering::Relaxed);
            thread::sleep(TICK);
        }
        let ends = threads.into_iter().map(|thread| thread.join().expect("work never panics"));
        ends.filter_map(Result::err).take(1).collect()
    });
    let elapsed = start.elapsed();
    let server_cpu = server_before.zip(cpu()?).map(|(before, now)| now.saturating_sub(before));
    let client_cpu = client_before.zip(children_cpu()).map(|(before, now)| now - before);
    let seen = settled(server)?;
    if seen.handshakes == 0 || seen.resumed > 0 {
        objections.push(format!(
            "the log has {} handshakes, {} of them resumed: the command must make full handshakes",
            seen.handshakes, seen.resumed
        ));
    }
    Ok(Counted { seen, objections, elapsed, server_cpu, client_cpu })
}

/// Waits until the log no longer grows.
fn settled(server: &mut Server<'_>) -> Result<Seen, CliError> {
    let Some(referee) = &mut server.referee else { return Ok(Seen::default()) };
    let mut seen = referee.seen()?;
    loop {
        thread::sleep(referee.lag());
        let next = referee.seen()?;
        if next == seen {
            return Ok(seen);
        }
        seen = next;
    }
}
