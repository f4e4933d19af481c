//! Expected gains, the order of tries, and the decision after a measurement.

use std::collections::BTreeMap;

use tollgate_record::{BadEstimate, Estimate};

use crate::candidate::{Candidate, Kind};
use crate::setup::Setup;

/// A candidate that promises less is not tried.
pub const GAIN_MIN: f64 = 1.03;

/// The shares of a profile by part, in [0, 1], of the time that the server's cores have.
pub type Shares = BTreeMap<String, Estimate>;

/// Computes the gain of the whole if a part with this share becomes faster by this factor (Amdahl's
/// law). The interval spans the gains at all ends of both intervals.
///
/// # Errors
///
/// The factor is not above zero.
pub fn gain(share: &Estimate, factor: &Estimate) -> Result<Estimate, BadEstimate> {
    let of = |share: f64, factor: f64| 1.0 / (1.0 - share + share / factor);
    let (shares, factors) = (share.interval(), factor.interval());
    if factors.0 <= 0.0 {
        return Err(BadEstimate::NotFinite);
    }
    let clamp = |share: f64| share.clamp(0.0, 1.0);
    let point = of(clamp(share.point()), factor.point());
    let ends = [shares.0, shares.1].map(clamp);
    let all = ends.iter().flat_map(|&share| [factors.0, factors.1].map(|factor| of(share, factor)));
    let (low, high) = all.fold((point, point), |(low, high), gain| (low.min(gain), high.max(gain)));
    Estimate::new(point, (low, high), share.samples())
}

/// A candidate that applies, with its expectation.
#[derive(Clone, Debug)]
pub struct Prospect {
    /// The candidate.
    pub candidate: Candidate,
    /// The share of its parts.
    pub share: Estimate,
    /// The speed-up of its parts.
    pub factor: Estimate,
    /// The expected ratio of the rates, after to before.
    pub expected: Estimate,
    /// The reason to try it or not.
    pub standing: Standing,
}

/// A reason to try a candidate or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It promises enough, and nobody notices it or the user allows it.
    Open,
    /// It promises less than [`GAIN_MIN`].
    Small,
    /// It promises enough, but the user must allow changes of this kind.
    Withheld(Kind),
}

/// Lists the candidates that apply to a setup, in the order of tries: first those that nobody
/// notices, then changes of security, then changes for clients; of each, the largest expectation
/// first.
///
/// `factor` returns the speed-up of a candidate's parts; candidates without one are left out.
pub fn prospects<'a>(
    candidates: impl IntoIterator<Item = &'a Candidate>,
    setup: &Setup,
    shares: &Shares,
    allowed: &[Kind],
    factor: impl Fn(&Candidate) -> Option<Estimate>,
) -> Vec<Prospect> {
    let prospect = |candidate: &Candidate| {
        let share = share(&candidate.parts, shares)?;
        let factor = factor(candidate)?;
        let expected = gain(&share, &factor).ok()?;
        let standing = match &candidate.changes {
            _ if expected.point() < GAIN_MIN => Standing::Small,
            Some(change) if !allowed.contains(&change.kind) => Standing::Withheld(change.kind),
            _ => Standing::Open,
        };
        Some(Prospect { candidate: candidate.clone(), share, factor, expected, standing })
    };
    let applies = candidates.into_iter().filter(|candidate| candidate.applies_to(setup));
    let mut all: Vec<Prospect> = applies.filter_map(prospect).collect();
    let kind = |prospect: &Prospect| prospect.candidate.changes.as_ref().map(|change| change.kind);
    all.sort_by(|a, b| {
        let gains = b.expected.point().total_cmp(&a.expected.point());
        kind(a).cmp(&kind(b)).then(gains)
    });
    all
}

/// Adds the shares of parts; parts that the profile lacks take no time. `None` if the sum is
/// no estimate.
fn share(parts: &[String], shares: &Shares) -> Option<Estimate> {
    let found: Vec<&Estimate> = parts.iter().filter_map(|part| shares.get(part)).collect();
    let sum = |of: fn(&Estimate) -> f64| found.iter().map(|share| of(share)).sum::<f64>();
    let interval = (sum(|share| share.interval().0), sum(|share| share.interval().1));
    let samples = found.iter().map(|share| share.samples()).max().unwrap_or(1);
    Estimate::new(sum(Estimate::point), interval, samples).ok()
}

/// The decision about a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The whole interval of the measured ratio is above 1.
    Kept(Estimate),
    /// The interval contains 1, or is below it.
    NotKept(Estimate),
    /// There is no figure, for this reason: the server did not start, or its log did not confirm
    /// the sessions.
    NoStep(String),
}

impl Outcome {
    /// Decides by the measured ratio of the rates, after to before.
    #[must_use]
    pub fn new(measured: Estimate) -> Self {
        if measured.interval().0 > 1.0 { Self::Kept(measured) } else { Self::NotKept(measured) }
    }

    /// Returns the measured ratio, if there is one.
    #[must_use]
    pub const fn measured(&self) -> Option<&Estimate> {
        match self {
            Self::Kept(measured) | Self::NotKept(measured) => Some(measured),
            Self::NoStep(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::Set;
    use crate::candidate::tests::nginx;

    fn estimate(point: f64, low: f64, high: f64) -> Estimate {
        Estimate::new(point, (low, high), 6).unwrap()
    }

    fn is_near(found: &Estimate, expected: [f64; 3]) {
        let (low, high) = found.interval();
        for (found, expected) in [low, found.point(), high].into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-3, "{found} instead of {expected}");
        }
    }

    #[test]
    fn the_gain_spans_the_intervals_of_part_and_factor() {
        let found = gain(&estimate(0.75, 0.7, 0.8), &estimate(3.0, 2.5, 4.0)).unwrap();
        is_near(&found, [1.0 / (0.3 + 0.28), 1.0 / (0.25 + 0.25), 1.0 / (0.2 + 0.2)]);
        // a loss: the larger share is the larger loss
        let found = gain(&estimate(0.5, 0.4, 0.6), &estimate(0.8, 0.5, 1.0)).unwrap();
        is_near(&found, [1.0 / (0.4 + 1.2), 1.0 / (0.5 + 0.625), 1.0]);
        is_near(&gain(&estimate(0.0, 0.0, 0.0), &estimate(9.0, 1.0, 99.0)).unwrap(), [1.0; 3]);
        assert!(gain(&estimate(0.5, 0.5, 0.5), &estimate(1.0, 0.0, 2.0)).is_err());
    }

    #[test]
    fn changes_that_nobody_notices_come_first_and_the_others_need_leave() {
        let set = Set::of_server("nginx").unwrap();
        let shares: Shares = [("rsa", 0.8), ("kernel-files", 0.1), ("key-exchange", 0.05)]
            .map(|(part, share)| (part.to_owned(), estimate(share, share, share)))
            .into();
        let factor = |candidate: &Candidate| match candidate.range() {
            Some(range) => range.ok(),
            None => Some(
                Estimate::exact(if candidate.word == "ecdsa-p256" { 80.0 } else { 3.0 }).unwrap(),
            ),
        };
        let order =
            |allowed: &[Kind]| prospects(&set.candidates, &nginx(), &shares, allowed, factor);
        let all = order(&[]);
        let words: Vec<&str> =
            all.iter().map(|prospect| prospect.candidate.word.as_str()).collect();
        assert_eq!(&words[..2], ["provider", "file-cache"], "{words:?}");
        let place = |word: &str| words.iter().position(|other| *other == word).unwrap();
        assert!(place("rsa-2048") < place("ecdsa-p256"), "{words:?}");
        assert!(place("no-gzip") < place("rsa-2048"), "{words:?}");
        let standing = |word: &str| all[place(word)].standing;
        assert_eq!(standing("provider"), Standing::Open);
        assert_eq!(standing("no-gzip"), Standing::Small, "the profile has no part server");
        assert_eq!(standing("rsa-2048"), Standing::Withheld(Kind::Security));
        assert_eq!(standing("ecdsa-p256"), Standing::Withheld(Kind::Clients));
        assert_eq!(standing("group-p256"), Standing::Small, "it needs no leave: it is not tried");
        let allowed = order(&[Kind::Clients]);
        assert_eq!(allowed[place("ecdsa-p256")].standing, Standing::Open);
        assert_eq!(allowed[place("rsa-2048")].standing, Standing::Withheld(Kind::Security));
    }

    #[test]
    fn the_interval_decides() {
        let kept = estimate(1.05, 1.01, 1.1);
        assert_eq!(Outcome::new(kept), Outcome::Kept(kept));
        for unproven in [estimate(1.05, 1.0, 1.1), estimate(0.9, 0.8, 0.95)] {
            assert_eq!(Outcome::new(unproven), Outcome::NotKept(unproven));
        }
    }
}
