//! A verb that runs as a service: it answers signals, and the watchdog of systemd.

use core::slice;
use core::time::Duration;

use sd_notify::NotifyState;

use crate::interrupt::{self, Request};
use crate::output::say;

/// A running service.
pub(crate) trait Service {
    /// Returns whether its threads turn within this time.
    fn responds(&self, limit: Duration) -> bool;

    /// Reads its files again, and returns a message.
    fn reload(&self) -> String;

    /// Opens its log again.
    fn reopen_log(&self);
}

/// Answers signals, and the watchdog of systemd, until a signal stops the service.
pub(crate) fn until_stopped(service: &impl Service) {
    tell_systemd(&NotifyState::Ready);
    let watchdog = sd_notify::watchdog_enabled();
    let period = watchdog.map_or(Duration::MAX, |limit| limit / 3);
    loop {
        match interrupt::next(period) {
            None if service.responds(period) => tell_systemd(&NotifyState::Watchdog),
            None => say("tollgate: a worker does not respond; systemd restarts the service"),
            Some(Request::Reload) => say(&format!("tollgate: {}", service.reload())),
            Some(Request::ReopenLog) => service.reopen_log(),
            Some(Request::Stop) => return tell_systemd(&NotifyState::Stopping),
        }
    }
}

/// Does nothing unless systemd has started this program.
fn tell_systemd(state: &NotifyState<'_>) {
    if let Err(why) = sd_notify::notify(slice::from_ref(state)) {
        say(&format!("tollgate: cannot notify systemd ({why}): look at the unit's NotifyAccess"));
    }
}
