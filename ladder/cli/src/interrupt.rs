//! Ctrl-C and SIGTERM: the first signal ends the run after the current step; a second signal ends
//! it at once.

use core::sync::atomic::{AtomicBool, Ordering};
use std::process::ExitCode;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::error::CliError;
use crate::output;
use crate::progress;

/// Exit code of a shell for a program that SIGINT ended: 128 + 2.
const INTERRUPTED: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// True while a system call may block for ever and an immediate end loses nothing.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// Wakes [`wait`].
static WAITING: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());

pub(crate) fn listen() -> Result<(), CliError> {
    ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) || AT_ONCE.load(Ordering::Relaxed) {
            progress::clear();
            std::process::exit(i32::from(INTERRUPTED));
        }
        output::say(
            "tollgate: stopping after the current step; press Ctrl-C again to stop at once",
        );
        drop(WAITING.0.lock());
        WAITING.1.notify_all();
    })
    .map_err(CliError::about("cannot listen for Ctrl-C"))
}

/// Returns whether Ctrl-C was pressed or SIGTERM arrived.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Runs `body`. Meanwhile, the first Ctrl-C or SIGTERM ends the program at once. This is for calls
/// that may block for ever, such as opening a FIFO without a writer.
pub(crate) fn ends_at_once<T>(body: impl FnOnce() -> T) -> T {
    AT_ONCE.store(true, Ordering::Relaxed);
    let result = body();
    AT_ONCE.store(false, Ordering::Relaxed);
    result
}

/// Sleeps until Ctrl-C is pressed.
pub(crate) fn wait() {
    let guard = WAITING.0.lock().unwrap_or_else(PoisonError::into_inner);
    drop(WAITING.1.wait_while(guard, |()| !asked()));
}

/// Returns the exit code of a run that ended, or was stopped.
pub(crate) fn exit_code() -> ExitCode {
    if asked() { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS }
}
