//! Limits of the audit log's lines about connections and refusals: these must not be able to fill
//! the disk, and those of a client cannot hide another's.

use crate::audit::{Lines, now_us};
use crate::policy::{Client, Policy};

/// The limiters of the peers that are no clients, and of each client.
#[derive(Default)]
pub(crate) struct Limiters(Vec<Limiter>);

impl Limiters {
    /// Counts a line about this client, or about a peer that is none. Returns whether it may be
    /// written.
    pub(crate) fn allows(&mut self, client: Option<&Client>) -> bool {
        let at = client.map_or(0, |client| client.number + 1);
        if at >= self.0.len() {
            self.0.resize_with(at + 1, Limiter::default);
        }
        self.0[at].allows(second())
    }

    /// Adds a line about a connection, unless there were too many.
    pub(crate) fn connection(
        &mut self,
        lines: &mut Lines,
        peer: &str,
        client: Option<&Client>,
        outcome: &str,
    ) {
        if self.allows(client) {
            lines.connection(peer, client.map(|client| client.name.as_str()), outcome);
        }
    }

    /// Returns whether lines were left out that no line has counted yet.
    pub(crate) fn are_pending(&self) -> bool {
        self.0.iter().any(|limiter| limiter.left_out > 0)
    }

    /// Adds lines with the numbers of those that were left out in earlier seconds.
    pub(crate) fn sum_up(&mut self, lines: &mut Lines, policy: &Policy) {
        self.sum_up_before(second(), lines, policy);
    }

    /// Adds lines with the numbers of all that were left out. The clients get other numbers, or the
    /// signer stops.
    pub(crate) fn end(&mut self, lines: &mut Lines, policy: &Policy) {
        self.sum_up_before(u64::MAX, lines, policy);
        self.0.clear();
    }

    fn sum_up_before(&mut self, second: u64, lines: &mut Lines, policy: &Policy) {
        for (at, limiter) in self.0.iter_mut().enumerate() {
            let left_out = limiter.take(second);
            if left_out > 0 {
                let client = at.checked_sub(1).map(|number| policy.name(number));
                let many = format!("{left_out} more, without lines of their own");
                lines.connection("", client, &many);
            }
        }
    }
}

/// Allows some lines in a second.
#[derive(Default)]
struct Limiter {
    /// The second of the last line.
    second: u64,
    /// The number of lines in this second.
    lines: u64,
    /// The number of lines that were left out.
    left_out: u64,
}

impl Limiter {
    /// The maximum number of lines in a second.
    const LINES_MAX: u64 = 10;

    const fn allows(&mut self, second: u64) -> bool {
        if second != self.second {
            (self.second, self.lines) = (second, 0);
        }
        let allows = self.lines < Self::LINES_MAX;
        if allows {
            self.lines += 1;
        } else {
            self.left_out += 1;
        }
        allows
    }

    /// Returns the number of lines that were left out, once in a second.
    const fn take(&mut self, second: u64) -> u64 {
        if second == self.second { 0 } else { core::mem::replace(&mut self.left_out, 0) }
    }
}

fn second() -> u64 {
    now_us() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_above_ten_in_a_second_are_counted_and_told_later() {
        let mut limiter = Limiter::default();
        for at in 0..25 {
            assert_eq!(limiter.allows(7), at < 10);
        }
        assert_eq!(limiter.take(7), 0);
        assert!(limiter.allows(8));
        assert_eq!((limiter.take(9), limiter.take(9)), (15, 0));
    }
}
