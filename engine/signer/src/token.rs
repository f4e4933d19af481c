//! Keys in tokens: their operations run in a token, by PKCS#11, on threads of their own.
//!
//! A call of a module blocks, for as long as the module likes. So workers make none: each token has
//! threads with a session each, and an operation has a time limit at its worker.

mod jobs;
mod key;
mod session;
mod session_thread;
mod trouble;
mod uri;

use core::time::Duration;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use cryptoki::context::Pkcs11;
use zeroize::Zeroizing;

use self::jobs::{Job, Jobs};
pub(crate) use self::key::TokenKey;
pub(crate) use self::session_thread::SessionThread;
pub(crate) use self::trouble::Trouble;
pub use self::uri::KeyUri;
use self::uri::TokenName;
use crate::account::{RELAYED_MAX, Relayed};
use crate::config::TokenSettings;
use crate::error::Error;
use crate::relay::Checker;
use crate::secret_file;

/// A token, and the threads with sessions.
pub(crate) struct Token {
    settings: TokenSettings,
    inner: Arc<Inner>,
    reported: Mutex<Reported>,
}

/// The lines that the operator has read.
#[derive(Default)]
struct Reported {
    /// The last one said that the token does not work.
    is_trouble: bool,
    /// The time of the last line about a trouble.
    at: Option<Instant>,
}

struct Inner {
    module: Pkcs11,
    name: TokenName,
    pin: Option<Zeroizing<Vec<u8>>>,
    /// The token has refused the PIN. One thread at a time logs in.
    is_pin_refused: Mutex<bool>,
    queue: Mutex<Waiting>,
    changed: Condvar,
}

/// The work of a job.
type Run = Box<dyn FnOnce(&mut SessionThread) + Send>;

/// The jobs of the threads.
struct Waiting {
    jobs: Jobs<Run>,
    /// The deadlines of the jobs that run, for each thread.
    running: Vec<Option<Instant>>,
    threads: usize,
    is_closing: bool,
}

/// The longest time to open a token at a start or reload, or to find a key.
const FIND_MAX: Duration = Duration::from_secs(10);
/// The shortest time between two lines about troubles.
const REPORT_EVERY: Duration = Duration::from_secs(10);
/// The longest wait for threads that end. One in a call of the module may not end.
const CLOSE_MAX: Duration = Duration::from_secs(1);

impl Token {
    /// Loads the module and starts the threads. Returns the old token if nothing has changed.
    pub(crate) fn load(
        settings: &TokenSettings,
        name: &TokenName,
        old: &[Arc<Self>],
    ) -> Result<Arc<Self>, Error> {
        let pin = settings.pin_file.as_deref().map(read_pin).transpose()?;
        let is_same = |old: &&Arc<Self>| {
            old.settings == *settings
                && old.inner.name == *name
                && old.inner.pin == pin
                // Held by a login that may hang.
                && old.inner.is_pin_refused.try_lock().is_ok_and(|is_refused| !*is_refused)
        };
        if let Some(same) = old.iter().find(is_same) {
            return Ok(Arc::clone(same));
        }
        let failed = |why: Trouble| Error::Unavailable {
            doing: "`pkcs11`".to_owned(),
            why: format!("{name} {why}"),
        };
        let path = settings.module.clone();
        let module = in_time(|done| {
            let load = move || done(session::load(&path));
            let thread = thread::Builder::new().name("token load".to_owned());
            thread
                .spawn(load)
                .map(drop)
                .map_err(|why| Trouble::Found(format!("has no thread: {why}")))
        });
        let inner = Arc::new(Inner {
            module: module.and_then(|it| it).map_err(failed)?,
            name: name.clone(),
            pin,
            is_pin_refused: Mutex::new(false),
            queue: Mutex::new(Waiting {
                jobs: Jobs::new(),
                running: vec![None; settings.sessions],
                threads: 0,
                is_closing: false,
            }),
            changed: Condvar::new(),
        });
        let token = Self {
            settings: settings.clone(),
            inner: Arc::clone(&inner),
            reported: Mutex::default(),
        };
        for number in 0..settings.sessions {
            let doing = "starting a thread for a token";
            let checker = Checker::new().map_err(|why| Error::Unavailable {
                doing: doing.to_owned(),
                why: why.to_string(),
            })?;
            let inner = Arc::clone(&inner);
            lock(&inner.queue).threads += 1;
            let its = SessionThread::new(Arc::clone(&inner), checker);
            let thread = thread::Builder::new().name(format!("token {number}"));
            thread.spawn(move || its.serve(number)).map_err(|why| {
                lock(&inner.queue).threads -= 1;
                Error::system(doing)(why)
            })?;
        }
        Ok(Arc::new(token))
    }

    /// The longest time for an operation.
    pub(crate) fn limit(&self) -> Duration {
        self.settings.limit
    }

    /// Gives a job to the threads, unless all of them are late or too many jobs wait.
    pub(crate) fn submit(
        &self,
        deadline: Instant,
        relayed: Option<Relayed>,
        run: impl FnOnce(&mut SessionThread) + Send + 'static,
    ) -> Result<(), Trouble> {
        let mut queue = lock(&self.inner.queue);
        let now = Instant::now();
        let are_late = queue.running.iter().all(|it| it.is_some_and(|deadline| deadline <= now));
        if are_late || queue.jobs.count() >= RELAYED_MAX {
            let late = queue.jobs.remove_late(now);
            drop(queue); // a job owns its key
            drop(late);
            return Err(Trouble::Late);
        }
        queue.jobs.push(Job { deadline, run: Box::new(run), relayed });
        self.inner.changed.notify_one();
        Ok(())
    }

    /// Returns a line for the operator if the outcome of an operation with a key is news.
    fn report(&self, uri: &KeyUri, trouble: Option<&Trouble>) -> Option<String> {
        let mut reported = lock(&self.reported);
        let name = &self.inner.name;
        match trouble {
            Some(why) if !reported.is_trouble => {
                let now = Instant::now();
                let is_early = reported.at.is_some_and(|at| now < at + REPORT_EVERY);
                (!is_early).then(|| {
                    *reported = Reported { is_trouble: true, at: Some(now) };
                    format!("{name} {why} ({uri})")
                })
            }
            None if reported.is_trouble => {
                reported.is_trouble = false;
                Some(format!("{name} works again"))
            }
            _ => None,
        }
    }

    /// Ends the threads, and waits for them, but not for one that is late: a program that ends while one
    /// is in the module could crash.
    pub(crate) fn end(&self) {
        self.close();
        let mut queue = lock(&self.inner.queue);
        let end = Instant::now() + CLOSE_MAX;
        while queue.threads > 0 {
            let now = Instant::now();
            let is_late = queue.running.iter().flatten().any(|deadline| *deadline <= now);
            if is_late || now >= end {
                return;
            }
            let wait = Duration::from_millis(20);
            let waited = self.inner.changed.wait_timeout(queue, wait);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn close(&self) {
        lock(&self.inner.queue).is_closing = true;
        self.inner.changed.notify_all();
    }
}

impl Drop for Token {
    /// Ends the threads, without a wait: the last owner may be a worker.
    fn drop(&mut self) {
        self.close();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a PIN, without the end of its line.
fn read_pin(file: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut pin = secret_file::read(file)?;
    while pin.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        pin.pop();
    }
    if pin.is_empty() {
        return Err(Error::file(file, "it is empty: write the PIN of the token into it"));
    }
    Ok(pin)
}

/// Runs a call of the module that nobody can end, for at most [`FIND_MAX`].
fn in_time<T: Send + 'static>(
    start: impl FnOnce(Box<dyn FnOnce(T) + Send>) -> Result<(), Trouble>,
) -> Result<T, Trouble> {
    let (send, receive) = sync_channel(1);
    // Nobody receives after the time.
    start(Box::new(move |result| drop(send.send(result))))?;
    receive.recv_timeout(FIND_MAX).map_err(|_| Trouble::Late)
}
