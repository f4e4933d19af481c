//! `perf record` on the threads of a server.

use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::Error;
use crate::script::Samples;

/// The number of bytes of the stack that `perf` copies with each sample: enough for the frames of
/// RSA, whose tables of powers are on the stack (16 KB was enough for OpenSSL's).
const STACK_BYTES: u32 = 32_768;

/// What `perf` counts until it takes a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The CPU time of a thread; for machines without counters, as most virtual ones are.
    CpuClock,
    /// Core cycles, counted by the hardware.
    Cycles,
}

impl Event {
    /// Returns the best event that this machine and this user have.
    ///
    /// # Errors
    ///
    /// `perf` is not installed.
    pub fn available() -> Result<Self, Error> {
        let mut command = Command::new("perf");
        command.args(["stat", "--event", "cycles", "--", "true"]).stdin(Stdio::null());
        let said = command.env("LC_ALL", "C").output().map_err(of_start)?;
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        let counts = said.contains(" cycles") && !said.contains("<not");
        Ok(if counts { Self::Cycles } else { Self::CpuClock })
    }

    /// Returns its name in `perf` and in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CpuClock => "cpu-clock",
            Self::Cycles => "cycles",
        }
    }
}

/// The threads to sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Threads {
    /// All threads of these processes, and the processes that they start.
    OfProcesses(Vec<u32>),
    /// These threads, for a server within this process.
    These(Vec<u32>),
}

impl Threads {
    /// Returns the threads of this process whose names begin with `prefix`.
    ///
    /// # Errors
    ///
    /// `/proc` cannot be read.
    pub fn named(prefix: &str) -> io::Result<Self> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc/self/task")? {
            let entry = entry?;
            // A thread that has ended meanwhile is left out.
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            let thread = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
            found.extend(thread.filter(|_| name.starts_with(prefix)));
        }
        Ok(Self::These(found))
    }

    fn arguments(&self) -> [String; 2] {
        let (option, all) = match self {
            Self::OfProcesses(all) => ("--pid", all),
            Self::These(all) => ("--tid", all),
        };
        [option.to_owned(), all.iter().map(u32::to_string).collect::<Vec<_>>().join(",")]
    }
}

/// A running `perf record`. Dropping the value ends it, and removes its file.
#[derive(Debug)]
pub struct Recording {
    perf: Child,
    file: PathBuf,
}

impl Recording {
    /// Starts to sample about `per_s` times in each second of CPU time, with times of
    /// `CLOCK_MONOTONIC`. `perf` runs on `cores` and writes `file`, about 33 MB per thousand
    /// samples.
    ///
    /// # Errors
    ///
    /// `perf` is not installed. Other errors of `perf` are returned by [`Recording::stop`].
    pub fn start(
        (event, per_s): (Event, u32),
        threads: &Threads,
        cores: &[u32],
        file: &Path,
    ) -> Result<Self, Error> {
        // If this process is killed, perf ends too.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "INT"]);
        if !cores.is_empty() {
            let list = cores.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            command.args(["taskset", "--cpu-list", &list]);
        }
        command
            .args(["perf", "record", "--quiet", "--no-buildid-cache", "--event", event.name()])
            .args(["--freq", &per_s.to_string(), "--clockid", "CLOCK_MONOTONIC"])
            .args(["--call-graph", &format!("dwarf,{STACK_BYTES}")])
            .args(threads.arguments())
            .arg("--output")
            .arg(file)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        Ok(Self { perf: command.spawn().map_err(of_start)?, file: file.to_owned() })
    }

    /// Stops sampling, and reads the samples.
    ///
    /// # Errors
    ///
    /// `perf` is not installed, is not permitted to sample, or failed.
    pub fn stop(mut self) -> Result<Samples, Error> {
        interrupt(&self.perf);
        let wait = "wait for perf";
        let mut said = String::new();
        if let Some(mut pipe) = self.perf.stderr.take() {
            pipe.read_to_string(&mut said).map_err(Error::io(wait))?;
        }
        let status = self.perf.wait().map_err(Error::io(wait))?;
        // After an interrupt perf writes its file and ends by the same signal.
        if !status.success() && status.signal() != Some(Signal::INT.as_raw()) {
            return Err(of_words(&said));
        }
        let mut command = Command::new("perf");
        command
            .args(["script", "--ns", "--no-inline", "--show-lost-events"])
            .args(["--fields", "tid,time,period,event,ip,sym,dso", "--input"])
            .arg(&self.file)
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        let output = command.output().map_err(of_start)?;
        if !output.status.success() {
            return Err(of_words(&String::from_utf8_lossy(&output.stderr)));
        }
        Samples::of_script(&String::from_utf8_lossy(&output.stdout))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // Errors mean that perf has ended, or that it has written no file.
        let _ = self.perf.kill();
        let _ = self.perf.wait();
        let _ = fs::remove_file(&self.file);
    }
}

fn interrupt(perf: &Child) {
    let pid = i32::try_from(perf.id()).ok().and_then(Pid::from_raw);
    // An error means that perf has ended.
    let _ = pid.map(|pid| kill_process(pid, Signal::INT));
}

fn of_start(error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::Missing,
        _ => Error::io("start perf")(error),
    }
}

/// Returns the error behind the words of `perf`.
fn of_words(said: &str) -> Error {
    if said.contains("perf_event_paranoid") || said.contains("Permission denied") {
        return Error::NotPermitted;
    }
    if said.contains("failed to execute") {
        return Error::Missing;
    }
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no word");
    Error::Failed { said: last.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_perf_say_what_to_do() {
        let refused = "Error:\nAccess to performance monitoring is limited.\n\
                       Consider adjusting /proc/sys/kernel/perf_event_paranoid setting";
        assert!(matches!(of_words(refused), Error::NotPermitted));
        let missing = "taskset: failed to execute perf: No such file or directory";
        assert!(matches!(of_words(missing), Error::Missing));
        let other = of_words("one\nCouldn't create thread/CPU maps: No such process\n\n");
        assert!(other.to_string().contains("No such process"), "{other}");
    }

    #[test]
    fn threads_are_found_by_name() {
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("profiled-7".to_owned());
        let thread = thread
            .spawn(move || {
                tell.send(()).unwrap();
                ended.recv().unwrap_err();
            })
            .unwrap();
        told.recv().unwrap();
        let Threads::These(found) = Threads::named("profiled-").unwrap() else { unreachable!() };
        assert_eq!(found.len(), 1);
        drop(end);
        thread.join().unwrap();
    }
}
