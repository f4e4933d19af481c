//! Process groups: a program and its children, restricted to cores and killed together.

use core::time::Duration;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::thread::{CpuSet, sched_setaffinity};

/// Kills the group and removes the folder when its standard input closes. The kernel closes it when
/// the process at the other end ends for any reason.
const WATCHDOG: &str = r#"read -r _; kill -KILL "-$1"; rm -rf -- "$2""#;

/// The longest wait for a killed group to end.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A process group. It is killed when the value is dropped, or when this process ends.
pub(crate) struct Group {
    leader: Child,
    watchdog: Child,
}

impl Group {
    /// Starts `command` as the leader of a new group on `cores`. If this process is killed, a
    /// watchdog removes `folder`.
    pub(crate) fn spawn(command: &mut Command, cores: &[u32], folder: &Path) -> io::Result<Self> {
        let mut leader = on(cores, || command.process_group(0).stdin(Stdio::null()).spawn())?;
        let mut watchdog = Command::new("sh");
        watchdog.args(["-c", WATCHDOG, "sh"]).arg(leader.id().to_string()).arg(folder);
        watchdog.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        match watchdog.process_group(0).spawn() {
            Ok(watchdog) => Ok(Self { leader, watchdog }),
            Err(error) => {
                kill(leader.id());
                let _ = leader.wait();
                Err(error)
            }
        }
    }

    pub(crate) fn leader(&self) -> u32 {
        self.leader.id()
    }

    /// Returns whether the started process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.leader.try_wait(), Ok(None))
    }

    /// Returns the running processes, in ascending order.
    pub(crate) fn members(&self) -> io::Result<Vec<u32>> {
        members(self.leader.id())
    }

    pub(crate) fn signal_leader(&self, signal: Signal) -> io::Result<()> {
        let gone = || io::Error::from(ErrorKind::NotFound);
        let pid = Pid::from_raw(i32::try_from(self.leader.id()).map_err(|_| gone())?);
        Ok(kill_process(pid.ok_or_else(gone)?, signal)?)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The watchdog is killed first, so that it cannot kill a group that reuses the id. It may
        // have ended already.
        let _ = self.watchdog.kill();
        let _ = self.watchdog.wait();
        let group = self.leader.id();
        kill(group);
        let _ = self.leader.wait();
        let end = Instant::now() + TIMEOUT;
        while members(group).is_ok_and(|left| !left.is_empty()) && Instant::now() < end {
            kill(group);
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn kill(group: u32) {
    let pid = i32::try_from(group).ok().and_then(Pid::from_raw);
    // An error means that the group has already ended.
    let _ = pid.map(|pid| kill_process_group(pid, Signal::KILL));
}

/// Calls `start` on a thread that is pinned to `cores`, so that the started process inherits them.
fn on<T: Send>(cores: &[u32], start: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    if cores.is_empty() {
        return start();
    }
    let pinned = || {
        let mut set = CpuSet::new();
        for &core in cores {
            if core as usize >= CpuSet::MAX_CPU {
                let why = format!("core {core}: cores are numbers below {}", CpuSet::MAX_CPU);
                return Err(io::Error::new(ErrorKind::InvalidInput, why));
            }
            set.set(core as usize);
        }
        sched_setaffinity(None, &set).map_err(|error| {
            io::Error::new(ErrorKind::InvalidInput, format!("cores {cores:?}: {error}"))
        })?;
        start()
    };
    thread::scope(|scope| scope.spawn(pinned).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns the running processes of a group, in ascending order.
fn members(group: u32) -> io::Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A process that has ended meanwhile is not counted.
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        if group_of(&stat) == Some(group) {
            found.push(process);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Returns the group of a process that is not a zombie, from `proc_pid_stat(5)`: state, parent and
/// group follow a name in parentheses, which may contain any characters.
fn group_of(stat: &str) -> Option<u32> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read_whatever_a_process_is_called() {
        assert_eq!(group_of("42 (a) b (c)) S 1 40 42 0 -1"), Some(40));
        assert_eq!(group_of("42 (nginx) Z 1 40 42 0 -1"), None);
        for bad in ["", "42 (a", "42 (a)", "42 (a) S 1", "42 (a) S 1 x"] {
            assert_eq!(group_of(bad), None, "{bad:?}");
        }
    }
}
