//! Signals. Ctrl-C, SIGTERM and SIGHUP end the run after the current step; a second one ends it at
//! once. A server takes SIGHUP and SIGUSR1 as requests.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::process::ExitCode;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::{Handle, Signals};

use crate::error::CliError;
use crate::output;
use crate::progress;

/// Exit code of a shell for a program that SIGINT ended: 128 + 2.
const INTERRUPTED: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// True while a system call may block for ever and an immediate end loses nothing.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// True if SIGHUP and SIGUSR1 are requests to a server.
static SERVES: AtomicBool = AtomicBool::new(false);

/// The requests that [`next`] has not returned yet, and its wake-up.
static REQUESTS: (Mutex<Vec<Request>>, Condvar) = (Mutex::new(Vec::new()), Condvar::new());

static HANDLE: OnceLock<Handle> = OnceLock::new();

/// A request to a server, by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// SIGHUP: read certificates and keys again.
    Reload,
    /// SIGUSR1: open the access log again.
    ReopenLog,
    /// Ctrl-C or SIGTERM.
    Stop,
}

/// Starts to listen for Ctrl-C and SIGTERM.
///
/// # Errors
///
/// If the system refuses.
pub fn listen() -> Result<(), CliError> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(CliError::about("cannot listen for Ctrl-C"))?;
    let _ = HANDLE.set(signals.handle());
    let receive = move || signals.forever().for_each(received);
    let thread = thread::Builder::new().name("signals".to_owned()).spawn(receive);
    thread.map(drop).map_err(CliError::about("cannot start a thread that listens for Ctrl-C"))
}

/// Takes SIGHUP and SIGUSR1 as requests from now on.
///
/// # Errors
///
/// If the system refuses.
///
/// # Panics
///
/// If [`listen`] was not called before.
pub fn serve() -> Result<(), CliError> {
    SERVES.store(true, Ordering::Relaxed);
    let handle = HANDLE.get().expect("`main` listens first");
    handle.add_signal(SIGUSR1).map_err(CliError::about("cannot listen for SIGUSR1"))
}

fn received(signal: i32) {
    let request = match signal {
        SIGHUP if SERVES.load(Ordering::Relaxed) => Request::Reload,
        SIGUSR1 => Request::ReopenLog,
        _ => Request::Stop,
    };
    if request == Request::Stop {
        if ASKED.swap(true, Ordering::Relaxed) || AT_ONCE.load(Ordering::Relaxed) {
            progress::clear();
            std::process::exit(i32::from(INTERRUPTED));
        }
        output::say(
            "tollgate: stopping after the current step; press Ctrl-C again to stop at once",
        );
    }
    let mut requests = REQUESTS.0.lock().unwrap_or_else(PoisonError::into_inner);
    if !requests.contains(&request) {
        requests.push(request);
    }
    drop(requests);
    REQUESTS.1.notify_all();
}

/// Returns whether Ctrl-C was pressed or SIGTERM arrived.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Runs `body`. Meanwhile, the first Ctrl-C or SIGTERM ends the program at once. This is for calls
/// that may block for ever, such as opening a FIFO without a writer.
pub fn ends_at_once<T>(body: impl FnOnce() -> T) -> T {
    AT_ONCE.store(true, Ordering::Relaxed);
    let result = body();
    AT_ONCE.store(false, Ordering::Relaxed);
    result
}

/// Sleeps until a signal arrives, and returns its request; `None` if none arrives in this time.
pub fn next(limit: Duration) -> Option<Request> {
    let guard = REQUESTS.0.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = REQUESTS.1.wait_timeout_while(guard, limit, |requests| requests.is_empty());
    let (mut requests, _) = waited.unwrap_or_else(PoisonError::into_inner);
    (!requests.is_empty()).then(|| requests.remove(0))
}

/// Returns the exit code of a run that ended, or was stopped.
pub fn exit_code() -> ExitCode {
    if asked() { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS }
}
