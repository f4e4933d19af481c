//! CPU time: of the client's threads, and of the server.

use core::time::Duration;
use std::fs;
use std::io;

use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};

/// Tells how much CPU time a server has used so far.
///
/// Closures are meters: `|| Ok(server.cpu_time())` for a server that counts for itself.
pub trait CpuMeter {
    /// CPU time so far, user and system, over all threads. It never goes back.
    ///
    /// # Errors
    ///
    /// The server is gone, or does not answer.
    fn cpu(&mut self) -> io::Result<Duration>;
}

impl<F: FnMut() -> io::Result<Duration>> CpuMeter for F {
    fn cpu(&mut self) -> io::Result<Duration> {
        self()
    }
}

/// The CPU time of processes, from `/proc/PID/stat`: exact to about a hundredth of a second.
///
/// Give it every process of the server: a web server's workers, not only their parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessCpu {
    processes: Vec<u32>,
}

impl ProcessCpu {
    /// Of these processes together.
    ///
    /// # Errors
    ///
    /// One of them does not exist, or `/proc` cannot be read.
    pub fn new(processes: impl IntoIterator<Item = u32>) -> io::Result<Self> {
        let mut meter = Self { processes: processes.into_iter().collect() };
        meter.cpu()?;
        Ok(meter)
    }
}

impl CpuMeter for ProcessCpu {
    fn cpu(&mut self) -> io::Result<Duration> {
        self.processes.iter().map(|&process| process_cpu(process)).sum()
    }
}

fn process_cpu(process: u32) -> io::Result<Duration> {
    let gone = || io::Error::new(io::ErrorKind::NotFound, format!("process {process} is gone"));
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).map_err(|_| gone())?;
    let ticks = ticks(&stat).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{process}/stat is strange"))
    })?;
    let per_second = clock_ticks_per_second().max(1);
    Ok(Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / per_second)))
}

/// utime and stime, the 14th and 15th field (`proc_pid_stat(5)`). The second is a name in
/// parentheses that may hold anything, blanks and parentheses too.
fn ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    user.checked_add(system)
}

/// CPU time of the calling thread so far.
pub(crate) fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

/// How long the calling thread has waited for a core so far: the second field of its `schedstat`.
/// `None` where the kernel does not count it.
pub(crate) fn thread_wait() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// By the thread's own clock: another process may have the core meanwhile.
    fn burn(time: Duration) {
        let start = thread_cpu();
        while thread_cpu().saturating_sub(start) < time {
            core::hint::spin_loop();
        }
    }

    #[test]
    fn names_of_processes_may_hold_anything() {
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194560 1 2 3 4 150 50 9 9 20 0 1 0 77 0 0";
        assert_eq!(ticks(stat), Some(200));
        for bad in ["", "42 (a", "42 (a) S 1 2 3", "42 (a) S 1 2 3 4 5 6 7 8 9 10 x y"] {
            assert_eq!(ticks(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn this_process_uses_time_and_a_missing_one_is_an_error() {
        let mut own = ProcessCpu::new([std::process::id()]).unwrap();
        let (before, thread_before) = (own.cpu().unwrap(), thread_cpu());
        burn(Duration::from_millis(60));
        let used = own.cpu().unwrap().saturating_sub(before);
        assert!(used > Duration::ZERO, "60 ms are several ticks");
        assert!(thread_cpu() > thread_before);
        // the number of the largest process that Linux can have, and one more
        let error = ProcessCpu::new([4_194_305]).unwrap_err();
        assert!(error.to_string().contains("is gone"), "{error}");
        assert!(ProcessCpu::new([0]).is_err());
    }

    #[test]
    fn a_closure_is_a_meter() {
        let mut time = Duration::ZERO;
        let mut meter = || {
            time += Duration::from_secs(1);
            Ok(time)
        };
        let meter: &mut dyn CpuMeter = &mut meter;
        assert_eq!(meter.cpu().unwrap(), Duration::from_secs(1));
        assert_eq!(meter.cpu().unwrap(), Duration::from_secs(2));
    }
}
