//! A verb that runs as a service: it answers signals, and the watchdog of systemd.

use core::slice;
use core::time::Duration;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use sd_notify::NotifyState;

use crate::interrupt::{self, Request};
use crate::output::say;

/// A running service.
pub trait Service: Sync {
    /// Returns whether its threads turn within this time.
    fn responds(&self, limit: Duration) -> bool;

    /// Reads its files again, and returns a message.
    fn reload(&self) -> String;

    /// Opens its log again.
    fn reopen_log(&self);
}

/// Answers signals, and the watchdog of systemd, until a signal stops the service.
pub fn until_stopped(service: &impl Service) {
    tell_systemd(&NotifyState::Ready);
    let watchdog = sd_notify::watchdog_enabled();
    let period = watchdog.map_or(Duration::MAX, |limit| limit / 3);
    let look = || match watchdog {
        None => {}
        Some(_) if service.responds(period) => tell_systemd(&NotifyState::Watchdog),
        Some(_) => say("tollgate: a worker does not respond; systemd restarts the service"),
    };
    loop {
        match interrupt::next(period) {
            None => {}
            Some(Request::Reload) => reload(service, period, look),
            Some(Request::ReopenLog) => service.reopen_log(),
            Some(Request::Stop) => return tell_systemd(&NotifyState::Stopping),
        }
        look();
    }
}

/// Reads the files again, and looks at the workers each `period`: a token with keys may be slow.
fn reload(service: &impl Service, period: Duration, look: impl Fn()) {
    let (done, message) = mpsc::channel();
    thread::scope(|scope| {
        let reload = move || done.send(service.reload());
        // A confined process starts no threads. It has no tokens, so this takes no time.
        if thread::Builder::new().spawn_scoped(scope, reload).is_err() {
            return say(&format!("tollgate: {}", service.reload()));
        }
        loop {
            match message.recv_timeout(period) {
                Ok(message) => return say(&format!("tollgate: {message}")),
                Err(RecvTimeoutError::Timeout) => look(),
                // It panicked, and so does the scope.
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    });
}

/// Does nothing unless systemd has started this program.
fn tell_systemd(state: &NotifyState<'_>) {
    if let Err(why) = sd_notify::notify(slice::from_ref(state)) {
        say(&format!("tollgate: cannot notify systemd ({why}): look at the unit's NotifyAccess"));
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Its files are read again only after two looks at its workers.
    #[derive(Default)]
    struct Slow {
        looks: AtomicUsize,
    }

    impl Service for Slow {
        fn responds(&self, _: Duration) -> bool {
            true
        }

        fn reload(&self) -> String {
            while self.looks.load(Ordering::Relaxed) < 2 {
                thread::yield_now();
            }
            "read".to_owned()
        }

        fn reopen_log(&self) {}
    }

    #[test]
    fn the_watchdog_is_answered_while_files_are_read() {
        let service = Slow::default();
        let look = || {
            service.looks.fetch_add(1, Ordering::Relaxed);
        };
        reload(&service, Duration::from_millis(1), look);
        assert!(service.looks.into_inner() >= 2);
    }
}
