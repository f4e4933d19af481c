//! CPU time of the client's threads and of the server, and the cores that threads run on.

use core::time::Duration;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::param::clock_ticks_per_second;
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_gettime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::plan::Plan;

/// Reads the CPU time of a server so far, user and system, over all threads; it never decreases.
pub type CpuMeter<'a> = dyn FnMut() -> io::Result<Duration> + 'a;

/// Returns the CPU time of processes, from `/proc/PID/stat`, with a resolution of about 10 ms.
///
/// Pass every process of the server: a web server's workers, not only their parent process.
///
/// # Errors
///
/// One of them does not exist, or `/proc` cannot be read.
pub fn processes_cpu(processes: &[u32]) -> io::Result<Duration> {
    processes.iter().map(|&process| process_cpu(process)).sum()
}

/// The CPU time of all processes in a control group, also of those that start or end meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupCpu {
    file: PathBuf,
}

const CGROUPS: &str = "/sys/fs/cgroup";

impl CgroupCpu {
    /// Returns the control group, of version 2, with this folder, or with this path below
    /// `/sys/fs/cgroup`.
    ///
    /// # Errors
    ///
    /// The group does not exist, or does not count CPU time.
    pub fn new(path: &Path) -> io::Result<Self> {
        let inside = path.strip_prefix("/").unwrap_or(path);
        let below =
            ["", "unified"].map(|hierarchy| Path::new(CGROUPS).join(hierarchy).join(inside));
        for folder in [path.to_path_buf()].into_iter().chain(below) {
            let meter = Self { file: folder.join("cpu.stat") };
            if let Ok(Some(_)) = meter.read() {
                return Ok(meter);
            }
        }
        let why = format!(
            "{}: no control group that counts CPU time: give a folder of {CGROUPS}, or its path \
             below",
            path.display()
        );
        Err(io::Error::new(io::ErrorKind::NotFound, why))
    }

    fn read(&self) -> io::Result<Option<Duration>> {
        Ok(of_group(&fs::read_to_string(&self.file)?))
    }

    /// Returns the CPU time of the group so far.
    ///
    /// # Errors
    ///
    /// The group is gone.
    pub fn cpu(&self) -> io::Result<Duration> {
        let why = |what: &str| format!("{} {what}", self.file.display());
        let read = self.read();
        let read = read.map_err(|error| io::Error::new(error.kind(), why("is gone")))?;
        read.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, why("has an unknown format")))
    }
}

/// Parses `usage_usec` of `cpu.stat`. If a group's controller is off, the file lacks this line.
fn of_group(text: &str) -> Option<Duration> {
    let usage = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
    usage.trim().parse().ok().map(Duration::from_micros)
}

fn process_cpu(process: u32) -> io::Result<Duration> {
    let gone = || io::Error::new(io::ErrorKind::NotFound, format!("process {process} is gone"));
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).map_err(|_| gone())?;
    ticks(&stat, OWN).map(duration).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("/proc/{process}/stat has an unknown format"),
        )
    })
}

/// Returns the CPU time of child processes that this process has waited for; `None` if the system
/// does not report it.
#[must_use]
pub fn children_cpu() -> Option<Duration> {
    ticks(&fs::read_to_string("/proc/self/stat").ok()?, CHILDREN).map(duration)
}

fn duration(ticks: u64) -> Duration {
    let per_second = clock_ticks_per_second().max(1);
    Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / per_second))
}

/// The number of the field utime in `proc_pid_stat(5)`; the next field is stime.
const OWN: usize = 14;
/// The number of the field cutime; the next field is cstime.
const CHILDREN: usize = 16;

/// Returns the sum of a field and the next one. Fields are numbered from 1. The second field is a
/// name in parentheses that may contain blanks and parentheses.
fn ticks(stat: &str, field: usize) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(field - 3);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    user.checked_add(system)
}

/// Returns the CPU time of the calling thread so far.
#[must_use]
pub fn thread_cpu() -> Duration {
    clock(ClockId::ThreadCPUTime)
}

pub(crate) fn clock(id: ClockId) -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(id);
    let part = |number: i64| u64::try_from(number).unwrap_or_default();
    Duration::from_secs(part(tv_sec)) + Duration::from_nanos(part(tv_nsec))
}

/// Returns the time for which the calling thread was runnable without a core: the second field of
/// its `schedstat`. `None` if the kernel does not count it.
pub(crate) fn thread_wait() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Elapsed time and CPU time of a thread between two readings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// Time for which the thread was runnable without a core.
    pub(crate) wait: Option<Duration>,
}

pub(crate) struct UsageReading {
    at: Instant,
    cpu: Duration,
    wait: Option<Duration>,
}

impl UsageReading {
    pub(crate) fn now() -> Self {
        Self { at: Instant::now(), cpu: thread_cpu(), wait: thread_wait() }
    }

    pub(crate) fn until_now(&self) -> Usage {
        let now = Self::now();
        let wait = now.wait.zip(self.wait).map(|(now, then)| now.saturating_sub(then));
        let (wall, cpu) =
            (now.at.saturating_duration_since(self.at), now.cpu.saturating_sub(self.cpu));
        Usage { wall, cpu, wait }
    }
}

/// CPU time of the client's threads in the sustained part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientCpu {
    /// CPU seconds per second, over all threads.
    pub cores: f64,
    /// The busiest thread's share of time on a core.
    pub busiest_share: f64,
    /// The largest share of time for which a thread was runnable without a core; `None` if the
    /// kernel does not count it.
    pub longest_wait_share: Option<f64>,
}

impl ClientCpu {
    /// Sums over all threads; `None` if a thread did not measure the whole sustained part.
    pub(crate) fn new(threads: &[Option<Usage>]) -> Option<Self> {
        let usages: Vec<Usage> = threads.iter().copied().collect::<Option<_>>()?;
        let share = |part: Duration, usage: &Usage| part.div_duration_f64(usage.wall);
        let shares = || usages.iter().map(|usage| share(usage.cpu, usage));
        let waits = || usages.iter().filter_map(|usage| Some(share(usage.wait?, usage)));
        Some(Self {
            cores: shares().sum(),
            busiest_share: shares().fold(0.0, f64::max),
            longest_wait_share: waits().reduce(f64::max),
        })
        .filter(|cpu| cpu.cores.is_finite())
    }

    /// Sums over the processes of a run.
    pub(crate) fn sum(all: &[Self]) -> Option<Self> {
        all.iter().copied().reduce(|sum, more| Self {
            cores: sum.cores + more.cores,
            busiest_share: sum.busiest_share.max(more.busiest_share),
            longest_wait_share: [sum, more]
                .iter()
                .filter_map(|cpu| cpu.longest_wait_share)
                .reduce(f64::max),
        })
    }
}

/// Pins the calling thread, and processes that it starts, to its core of the plan. `thread` is its
/// number in this process. Does nothing if the plan has no cores.
///
/// # Errors
///
/// [`Error::Io`]: the machine has no such core, or the process may not use it.
pub fn pin(plan: &Plan, thread: u32) -> Result<(), Error> {
    let turn = (thread as usize).checked_rem(plan.cores.len());
    let Some(&core) = turn.and_then(|turn| plan.cores.get(turn)) else {
        return Ok(());
    };
    let mut set = CpuSet::new();
    set.set(core as usize);
    sched_setaffinity(None, &set).map_err(|error| Error::Io {
        what: "pin a thread to a core of the plan (`taskset -p $$` lists those of this process)",
        error: error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses this much CPU time.
    fn burn(time: Duration) {
        let start = thread_cpu();
        while thread_cpu() - start < time {
            core::hint::spin_loop();
        }
    }

    #[test]
    fn process_names_may_contain_parentheses() {
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194560 1 2 3 4 150 50 9 8 20 0 1 0 77 0 0";
        assert_eq!((ticks(stat, OWN), ticks(stat, CHILDREN)), (Some(200), Some(17)));
        for bad in ["", "42 (a", "42 (a) S 1 2 3", "42 (a) S 1 2 3 4 5 6 7 8 9 10 x y"] {
            assert_eq!(ticks(bad, OWN), None, "{bad:?}");
        }
    }

    #[test]
    fn cpu_time_of_this_process_grows_and_a_missing_process_is_an_error() {
        let used = || processes_cpu(&[std::process::id()]).unwrap();
        let (before, thread_before) = (used(), thread_cpu());
        burn(Duration::from_millis(60));
        let more = used().saturating_sub(before);
        assert!(more > Duration::ZERO, "60 ms are several ticks");
        assert!(thread_cpu() > thread_before);
        // one more than the largest process id of Linux
        let error = processes_cpu(&[4_194_305]).unwrap_err();
        assert!(error.to_string().contains("is gone"), "{error}");
        assert!(processes_cpu(&[0]).is_err());
    }

    #[test]
    fn groups_are_read() {
        let stat = "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n";
        assert_eq!(of_group(stat), Some(Duration::from_micros(1500)));
        assert_eq!(of_group("nr_periods 0\n"), None);
        assert_eq!(of_group("usage_usec x"), None);

        let name = format!("tollgate-cgroup-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        assert!(CgroupCpu::new(&folder).unwrap_err().to_string().contains("no control group"));
        fs::write(folder.join("cpu.stat"), stat).unwrap();
        let meter = CgroupCpu::new(&folder).unwrap();
        assert_eq!(meter.cpu().unwrap(), Duration::from_micros(1500));
        fs::write(folder.join("cpu.stat"), stat.replace("1500", "1700")).unwrap();
        assert_eq!(meter.cpu().unwrap(), Duration::from_micros(1700));
        fs::remove_dir_all(&folder).unwrap();
        assert!(meter.cpu().unwrap_err().to_string().contains("is gone"));
    }
}
