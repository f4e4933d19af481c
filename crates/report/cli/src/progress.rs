//! The progress bar: on a terminal only, on standard error.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Steps of the bar per row.
const STEPS: u64 = 1000;

/// How far the run is.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar for so many rows; where standard error is no terminal, nothing is ever drawn.
    pub(crate) fn new(rows: usize) -> Self {
        let length = STEPS * u64::try_from(rows).unwrap_or(1);
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:40} {msg}, {eta} left");
        bar.set_style(style.expect("the template is sound"));
        Self(bar)
    }

    /// Row `row` starts.
    pub(crate) fn row(&self, row: usize, what: &str) {
        self.0.set_position(STEPS * u64::try_from(row).unwrap_or(0));
        self.0.set_message(what.to_owned());
    }

    /// The row is done to this part, 0 to 1.
    pub(crate) fn part(&self, row: usize, part: f64) {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 1000, and a bar"
        )]
        let steps = (part.clamp(0.0, 1.0) * 1000.0) as u64;
        self.0.set_position(STEPS * u64::try_from(row).unwrap_or(0) + steps);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
