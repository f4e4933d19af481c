//! CPU time of the client: of a thread, and of the processes that it ran.

use core::time::Duration;
use std::fs;

use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};

/// Of the calling thread, so far.
pub(crate) fn thread() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

/// Of the processes that this process started and waited for, so far; `None` where the system does
/// not tell.
pub(crate) fn children() -> Option<Duration> {
    let ticks = ticks(&fs::read_to_string("/proc/self/stat").ok()?)?;
    let per_second = clock_ticks_per_second().max(1);
    Some(Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / per_second)))
}

/// cutime and cstime, the 16th and 17th field (`proc_pid_stat(5)`). The second is a name in
/// parentheses that may hold anything.
fn ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(13);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    user.checked_add(system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_fields_are_read() {
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194560 1 2 3 4 150 50 9 8 20 0 1 0 77 0 0";
        assert_eq!(ticks(stat), Some(17));
        assert_eq!(ticks("42 (a"), None);
        assert!(children().is_some(), "Linux tells");
    }
}
