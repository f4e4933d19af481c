//! Lines of the audit log about what is refused.

use crate::audit::{Lines, now_us};

/// Bounds the lines about peers that are no clients, or about clients that ask too often: these must
/// not be able to fill the disk.
#[derive(Default)]
pub(crate) struct Refusals {
    /// The second of the last line.
    second: u64,
    /// The number of lines in this second.
    lines: u64,
    /// The number of refusals without a line.
    left_out: u64,
}

impl Refusals {
    /// The maximum number of lines in a second.
    const LINES_MAX: u64 = 10;

    /// Counts a refusal, and adds a line about earlier ones that got none, with this word. Returns
    /// whether it gets a line.
    pub(crate) fn has_line(&mut self, lines: &mut Lines, word: &str) -> bool {
        let (has_line, left_out) = self.count(now_us() / 1_000_000);
        if left_out > 0 {
            let many = format!("{word}: {left_out} more, without lines of their own");
            lines.connection("", None, &many);
        }
        has_line
    }

    /// Counts a refusal in this second. Returns whether it gets a line, and the number of those before
    /// it that got none and are to be told now.
    const fn count(&mut self, second: u64) -> (bool, u64) {
        let mut left_out = 0;
        if second != self.second {
            left_out = core::mem::replace(&mut self.left_out, 0);
            (self.second, self.lines) = (second, 0);
        }
        if self.lines == Self::LINES_MAX {
            self.left_out += 1;
            return (false, left_out);
        }
        self.lines += 1;
        (true, left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_above_ten_in_a_second_are_counted_and_told_later() {
        let mut refusals = Refusals::default();
        for at in 0..25 {
            assert_eq!(refusals.count(7), (at < 10, 0));
        }
        assert_eq!(refusals.count(8), (true, 15));
        assert_eq!(refusals.count(8), (true, 0));
    }
}
