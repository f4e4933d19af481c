//! Worker threads: they run futures and tickets that no caller waits for, and lead batches for many
//! waiting callers.

use std::thread;

use super::state::Shared;
use super::sync::Arc;
use crate::error::Error;
use crate::job::Job;

/// Starts the workers on first use. Returns `true` if the queue has workers.
///
/// # Errors
///
/// [`Error::Threads`] if not even one thread could be started.
pub(crate) fn start<J: Job>(shared: &Arc<Shared<J>>) -> Result<bool, Error<J::Refusal>> {
    if shared.config.workers == 0 {
        return Ok(false);
    }
    shared.check_process()?;
    let mut state = shared.lock();
    while state.workers < shared.config.workers && !state.is_closing {
        let own = Arc::clone(shared);
        let name = format!("queue {}", state.workers);
        match thread::Builder::new().name(name).spawn(move || work(&own)) {
            Ok(_) => state.workers += 1,
            Err(_) if state.workers > 0 => break,
            Err(_) => return Err(Error::Threads),
        }
    }
    Ok(true)
}

/// Runs batches until the queue is closed and empty.
pub(crate) fn work<J: Job>(shared: &Shared<J>) {
    let mut state = shared.lock();
    loop {
        if let Some(unit_slot) = state.take_unit() {
            state = shared.lead(state, unit_slot);
            state = shared.wake_next(state);
        } else if state.is_closing && state.is_drained() {
            break;
        } else {
            state.workers_idle += 1;
            state = shared.sleep(&shared.work, state, None);
            state.workers_idle -= 1;
            state.workers_woken = state.workers_woken.saturating_sub(1);
        }
    }
    drop(state);
    shared.work.notify_all(); // the others end too
}
