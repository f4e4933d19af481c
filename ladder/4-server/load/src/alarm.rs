//! A timer with microsecond resolution for the event loop, whose own timeout counts milliseconds.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Instant;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::error::Error;

/// A one-shot timer.
#[derive(Debug)]
pub(crate) struct Alarm {
    timer: OwnedFd,
    set_for: Option<Instant>,
}

impl Alarm {
    /// The token of the timer. No slot has this token.
    pub(crate) const TOKEN: Token = Token(usize::MAX);

    pub(crate) fn new(registry: &Registry) -> Result<Self, Error> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)
            .map_err(|error| Error::of_socket("make a timer", error.into()))?;
        registry
            .register(&mut SourceFd(&timer.as_raw_fd()), Self::TOKEN, Interest::READABLE)
            .map_err(|error| Error::of_socket("watch a timer", error))?;
        Ok(Self { timer, set_for: None })
    }

    /// Arms the timer for `at`. The caller need not read the timer after it fires, but says that it
    /// has [`fired`](Self::fired). If the timer is already armed for this time, the call does
    /// nothing.
    pub(crate) fn set(&mut self, at: Instant, now: Instant) -> Result<(), Error> {
        if self.set_for == Some(at) {
            return Ok(());
        }
        // 0 would disarm the timer
        let wait = at.saturating_duration_since(now).as_nanos().max(1);
        let (seconds, nanos) = (wait / 1_000_000_000, wait % 1_000_000_000);
        let value = Timespec {
            tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(nanos).unwrap_or(0),
        };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let time = Itimerspec { it_interval: never, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &time)
            .map_err(|error| Error::Io { what: "set a timer", error: error.into() })?;
        self.set_for = Some(at);
        Ok(())
    }

    /// The timer may be early, if the clock of [`Instant`] is slower than the kernel's; then it is
    /// armed again for the same time.
    pub(crate) const fn fired(&mut self) {
        self.set_for = None;
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use mio::{Events, Poll};

    use super::*;

    #[test]
    fn it_fires_each_time_without_being_read() {
        let mut poll = Poll::new().unwrap();
        let mut alarm = Alarm::new(poll.registry()).unwrap();
        let mut events = Events::with_capacity(8);
        for _ in 0..3 {
            let now = Instant::now();
            let at = now + Duration::from_micros(300);
            alarm.set(at, now).unwrap();
            alarm.set(at, now).unwrap();
            poll.poll(&mut events, Some(Duration::from_secs(20))).unwrap();
            assert!(events.iter().any(|event| event.token() == Alarm::TOKEN));
            assert!(Instant::now() >= at);
        }
        let now = Instant::now();
        let at = now + Duration::from_secs(3600);
        alarm.set(at, at).unwrap();
        poll.poll(&mut events, Some(Duration::from_secs(20))).unwrap();
        assert!(!events.is_empty());
        alarm.fired();
        alarm.set(at, at).unwrap();
        poll.poll(&mut events, Some(Duration::from_secs(20))).unwrap();
        assert!(!events.is_empty(), "it was early, and fires again");
        let past = Instant::now();
        alarm.set(past, past + Duration::from_secs(1)).unwrap();
        poll.poll(&mut events, Some(Duration::from_secs(20))).unwrap();
        assert!(!events.is_empty(), "a past time fires at once");
    }
}
