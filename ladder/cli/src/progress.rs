//! The progress bar: on a terminal only, on standard error.

use core::cell::{Cell, RefCell};
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const STEPS: u32 = 10_000;

/// The bar on the terminal; other output to the terminal must go through [`aside`].
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// The progress of a rung, in rows of equal time. The remaining time is computed from the plan, not
/// from the speed of the first rows.
pub(crate) struct Progress {
    bar: ProgressBar,
    rows: Cell<f64>,
    seconds: Cell<f64>,
    row: Cell<f64>,
    what: RefCell<String>,
    note: RefCell<String>,
}

impl Progress {
    /// Creates a bar with this title. It appears with the first row and disappears on drop; without
    /// a terminal on standard error nothing is drawn. Only one bar may exist at a time.
    pub(crate) fn new(title: &'static str) -> Self {
        let target = ProgressDrawTarget::stderr();
        let style = ProgressStyle::with_template("{prefix:7} {bar:32} {msg}");
        let bar = ProgressBar::with_draw_target(Some(u64::from(STEPS)), target)
            .with_style(style.expect("the template is sound"))
            .with_prefix(title);
        *shown() = Some(bar.clone());
        Self {
            bar,
            rows: Cell::new(1.0),
            seconds: Cell::new(0.0),
            row: Cell::new(0.0),
            what: RefCell::default(),
            note: RefCell::default(),
        }
    }

    /// Sets the number of rows and the seconds of each.
    pub(crate) fn plan(&self, rows: usize, seconds: f64) {
        self.rows.set(f64::from(u32::try_from(rows.max(1)).unwrap_or(u32::MAX)));
        self.seconds.set(seconds);
    }

    pub(crate) fn row(&self, row: usize, what: &str) {
        self.row.set(f64::from(u32::try_from(row).unwrap_or(u32::MAX)));
        self.what.replace(what.to_owned());
        self.note.take();
        self.part(0.0);
    }

    pub(crate) fn note(&self, words: &str) {
        self.note.replace(format!(", {words}"));
    }

    /// Sets the finished part of the row, 0 to 1.
    pub(crate) fn part(&self, part: f64) {
        let done = self.row.get() + part.clamp(0.0, 1.0);
        let left = (self.rows.get() - done).max(0.0) * self.seconds.get();
        let (what, note) = (self.what.borrow(), self.note.borrow());
        self.bar.set_message(format!("{what}{note}, {left:.0} s left"));
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 10000, and a bar"
        )]
        let steps = (f64::from(STEPS) * (done / self.rows.get()).min(1.0)) as u64;
        self.bar.set_position(steps);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        clear();
    }
}

/// Hides the bar while `write` writes to the terminal.
pub(crate) fn aside<T>(write: impl FnOnce() -> T) -> T {
    let bar = shown().clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

pub(crate) fn clear() {
    if let Some(bar) = shown().take() {
        bar.finish_and_clear();
    }
}

fn shown() -> std::sync::MutexGuard<'static, Option<ProgressBar>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}
