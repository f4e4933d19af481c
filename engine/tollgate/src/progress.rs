//! The progress bar: on a terminal only, on standard error.
//!
//! A terminal has room for one bar. Its functions do nothing while there is none.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const STEPS: u32 = 10_000;

/// The bar on the terminal; other output to the terminal must go through [`aside`].
static SHOWN: Mutex<Option<Shown>> = Mutex::new(None);

/// The progress of a rung, in rows of equal time. The remaining time is computed from the plan, not
/// from the speed of the first rows.
struct Shown {
    bar: ProgressBar,
    rows: f64,
    seconds: f64,
    row: f64,
    what: String,
    note: String,
}

/// Shows a bar until it is dropped.
#[must_use]
pub struct Progress;

impl Progress {
    /// Creates a bar with this title. It appears with the first row; without a terminal on standard
    /// error nothing is drawn.
    ///
    /// # Panics
    ///
    /// Never: the template is sound.
    pub fn new(title: &'static str) -> Self {
        let target = ProgressDrawTarget::stderr();
        let style = ProgressStyle::with_template("{prefix:7} {bar:32} {msg}");
        let bar = ProgressBar::with_draw_target(Some(u64::from(STEPS)), target)
            .with_style(style.expect("the template is sound"))
            .with_prefix(title);
        let (what, note) = (String::new(), String::new());
        *shown() = Some(Shown { bar, rows: 1.0, seconds: 0.0, row: 0.0, what, note });
        Self
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        clear();
    }
}

/// Sets the number of rows and the seconds of each.
pub fn plan(rows: usize, seconds: f64) {
    if let Some(shown) = &mut *shown() {
        shown.rows = f64::from(u32::try_from(rows.max(1)).unwrap_or(u32::MAX));
        shown.seconds = seconds;
    }
}

/// Begins a row.
pub fn row(row: usize, what: &str) {
    if let Some(shown) = &mut *shown() {
        shown.row = f64::from(u32::try_from(row).unwrap_or(u32::MAX));
        what.clone_into(&mut shown.what);
        shown.note.clear();
        shown.part(0.0);
    }
}

/// Sets the finished part of the row, 0 to 1.
pub fn part(part: f64) {
    if let Some(shown) = &*shown() {
        shown.part(part);
    }
}

/// Sets the finished part of the row, with a note.
pub fn noted_part(note: &str, part: f64) {
    if let Some(shown) = &mut *shown() {
        shown.note = format!(", {note}");
        shown.part(part);
    }
}

impl Shown {
    fn part(&self, part: f64) {
        let Self { bar, rows, seconds, row, what, note } = self;
        let done = row + part.clamp(0.0, 1.0);
        let left = (rows - done).max(0.0) * seconds;
        bar.set_message(format!("{what}{note}, {left:.0} s left"));
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 10000, and a bar"
        )]
        let steps = (f64::from(STEPS) * (done / rows).min(1.0)) as u64;
        bar.set_position(steps);
    }
}

/// Hides the bar while `write` writes to the terminal.
pub fn aside<T>(write: impl FnOnce() -> T) -> T {
    let bar = shown().as_ref().map(|shown| shown.bar.clone());
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Removes the bar.
pub fn clear() {
    if let Some(shown) = shown().take() {
        shown.bar.finish_and_clear();
    }
}

fn shown() -> MutexGuard<'static, Option<Shown>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}
