//! The cores of the two sides of a replay.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The first two cores that this process may use.
pub(crate) fn cores() -> Option<[usize; 2]> {
    let allowed = sched_getaffinity(None).ok()?;
    let mut cores = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
    Some([cores.next()?, cores.next()?])
}

/// Pins the calling thread to a core while the value lives.
pub(crate) struct Pinned(Option<CpuSet>);

impl Pinned {
    /// If pinning fails, the scheduler decides.
    pub(crate) fn to(core: Option<usize>) -> Self {
        let Some(core) = core else { return Self(None) };
        let before = sched_getaffinity(None).ok();
        let mut only = CpuSet::new();
        only.set(core);
        let _ = sched_setaffinity(None, &only);
        Self(before)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = sched_setaffinity(None, before);
        }
    }
}
