//! Observers of a load: the progress line, and the folder of `--out`.

use core::cell::RefCell;
use core::time::Duration;
use std::collections::VecDeque;
use std::io::{IsTerminal as _, stderr};
use std::sync::Arc;
use std::time::Instant;

use tollgate_load::{Live, Naming, Server};

use super::out::{About, Judged, Out};
use crate::cells::float;
use crate::error::CliError;
use crate::options::Bench as Options;
use crate::output::say;
use crate::progress;

/// Period of the displayed rate.
const WINDOW: Duration = Duration::from_secs(1);

/// Interval of progress lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// All observers that the options ask for.
pub(super) struct Watch {
    out: Option<Out>,
    seen: RefCell<Seen>,
}

/// The servers under load, as the progress line shows them.
struct Seen {
    label: String,
    servers: Vec<Arc<Live>>,
    /// Times in the last second, with the number of transactions at each.
    moments: VecDeque<(Instant, u64)>,
    line_at: Instant,
}

impl Watch {
    pub(super) fn plain() -> Self {
        let seen = Seen {
            label: String::new(),
            servers: Vec::new(),
            moments: VecDeque::new(),
            line_at: Instant::now() + LINE_EVERY,
        };
        Self { out: None, seen: RefCell::new(seen) }
    }

    /// Starts the observers that the options ask for.
    pub(super) fn new(options: &Options) -> Result<Self, CliError> {
        let out = options.out.as_deref().map(Out::new).transpose()?;
        Ok(Self { out, ..Self::plain() })
    }

    /// Starts observing these servers, under this label.
    pub(super) fn look<'a>(&'a self, label: &str, names: &[Naming], servers: &mut [Server<'a>]) {
        let mut seen = self.seen.borrow_mut();
        label.clone_into(&mut seen.label);
        seen.servers.clear();
        seen.moments.clear();
        for (server, naming) in servers.iter_mut().zip(names) {
            let live = Arc::new(Live::default());
            seen.servers.push(Arc::clone(&live));
            server.live = Some(live);
            if let Some(out) = &self.out {
                let (label, by) = (label.to_owned(), naming.by.clone());
                server.witness = Some(Box::new(move |outcome| out.add(&label, &by, outcome)));
            }
        }
    }

    /// Updates the finished part of a row, with the rate of the last second and lost connections.
    pub(super) fn part(&self, part: f64) {
        let mut seen = self.seen.borrow_mut();
        let counts = seen.servers.iter().map(|live| live.counts());
        let (mut done, mut lost) = (0, 0);
        for counts in counts {
            done += counts.transactions;
            lost += counts.failed + counts.timed_out + counts.dropped;
        }
        let words = format!("{:.0}/s, {lost} lost", seen.rate(Instant::now(), done));
        let is_due = Instant::now() >= seen.line_at;
        if is_due && !stderr().is_terminal() {
            seen.line_at += LINE_EVERY;
            say(&format!("{}: {words}, {:.0} % done", seen.label, 100.0 * part));
        }
        progress::noted_part(&words, part);
    }

    pub(super) fn end(&self, about: &About<'_>, judged: &[Judged<'_>]) -> Result<(), CliError> {
        self.out.as_ref().map_or(Ok(()), |out| out.end(about, judged))
    }
}

impl Seen {
    /// Returns the transactions per second since the oldest moment of the window.
    fn rate(&mut self, now: Instant, done: u64) -> f64 {
        self.moments.push_back((now, done));
        while self.moments.len() > 2 && now.duration_since(self.moments[1].0) >= WINDOW {
            self.moments.pop_front();
        }
        let (from, before) = self.moments[0];
        let more = float(done.saturating_sub(before));
        let seconds = now.duration_since(from).as_secs_f64();
        if seconds > 0.0 { more / seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_second() {
        let watch = Watch::plain();
        let mut seen = watch.seen.borrow_mut();
        let start = Instant::now();
        let mut at = |ms: u64, done| seen.rate(start + Duration::from_millis(ms), done);
        assert!(at(0, 7).abs() < 1e-9, "of one moment nothing is known");
        assert!((at(500, 57) - 100.0).abs() < 1e-9);
        assert!((at(1000, 107) - 100.0).abs() < 1e-9);
        assert!((at(1500, 107) - 50.0).abs() < 1e-9);
        assert!(at(2500, 107).abs() < 1e-9, "what is older counts no more");
    }
}
