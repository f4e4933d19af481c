//! Which thread runs where.

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::error::Error;
use crate::plan::Plan;

/// Pins the calling thread, and with it the processes that it will start, to its core of the plan;
/// a plan without cores leaves it where it is.
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
