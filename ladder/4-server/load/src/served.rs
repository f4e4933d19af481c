//! What bodies of many sizes came to, on both sides.

use core::fmt;

use crate::counts::share;
use crate::outcome::Outcome;
use crate::plan::Exchange;

/// The bodies of a server's rounds, where the plan has many sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Served {
    /// Their mean as it was asked for, in bytes.
    pub planned: f64,
    /// Whole bodies that the client counted, and their bytes.
    pub client: (u64, u64),
    /// The same of the server's log, if it tells the bytes of each round.
    pub log: Option<(u64, u64)>,
}

impl Served {
    /// Of a server's rounds; none if the plan has no more than one size.
    #[must_use]
    pub fn of(rounds: &[Outcome]) -> Option<Self> {
        let Exchange::Sizes(sizes) = &rounds.first()?.plan().exchange else { return None };
        let logged = |round: &Outcome| {
            let seen = round.seen()?;
            Some((seen.requests, seen.body_bytes?))
        };
        let whole = rounds.iter().map(Outcome::whole);
        Some(Self {
            planned: sizes.mean(),
            client: sum(whole.map(|counts| (counts.responses, counts.response_bytes))),
            log: rounds.iter().map(logged).collect::<Option<Vec<_>>>().map(sum),
        })
    }
}

fn sum(all: impl IntoIterator<Item = (u64, u64)>) -> (u64, u64) {
    all.into_iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

impl fmt::Display for Served {
    /// `6400 bodies of 502.4 bytes in the mean, 502.3 planned; in the server's log 6400 of 502.4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { planned, client: (bodies, bytes), log } = self;
        let of = share(*bytes, *bodies);
        write!(f, "{bodies} bodies of {of:.1} bytes in the mean, {planned:.1} planned; ")?;
        match log {
            Some((bodies, bytes)) => {
                write!(f, "in the server's log {bodies} of {:.1}", share(*bytes, *bodies))
            }
            None => f.write_str("no log tells theirs"),
        }
    }
}
