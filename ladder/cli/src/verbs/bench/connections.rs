//! The requests of a log's seconds, as connections that a load generator starts.

use core::ops::RangeInclusive;

use tollgate_load::Pattern;
use tollgate_workload::{Arrivals, Workload};

/// Dispersions that Poisson arrivals show in a log.
const OF_POISSON: RangeInclusive<f64> = 0.8..=1.25;

/// Connections on which requests come one behind the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Connections {
    /// How many come in a second.
    pub(super) per_s: f64,
    dispersion: f64,
    /// Requests of each, in the mean.
    each: f64,
}

impl Connections {
    /// Those of a workload that has an open loop.
    pub(super) fn of(workload: &Workload) -> Option<Self> {
        let each = workload.requests_per_connection.as_ref().map_or(1.0, |each| each.value.get());
        match workload.arrivals.as_ref()?.value {
            Arrivals::Open { per_s, dispersion, .. } => Some(Self::new(per_s, dispersion, each)),
            Arrivals::Closed => None,
        }
    }

    /// So many times less often than requests, and with so many times less dispersion, because each
    /// brings a crowd of its own. To as many digits as a log is good for.
    fn new(per_s: f64, dispersion: f64, each: f64) -> Self {
        let rounded = |number: f64, to: f64| (number * to).round() / to;
        let per_s = per_s / each;
        // a rate below the least that a plan has stays what it is, and is refused
        let per_s = if per_s < 1.0 { per_s } else { rounded(per_s, 1000.0) };
        Self { per_s, dispersion: rounded(dispersion / each, 100.0), each }
    }

    /// Why no gaps make such seconds, if none do. Crowds that come less than once a second are no
    /// matter of gaps: of gamma-distributed ones a second would have a sixth less dispersion than
    /// the log where the dispersion is the rate, and soon none.
    pub(super) fn obstacle(&self) -> Option<String> {
        let Self { per_s, dispersion, .. } = *self;
        let most = per_s.max(*OF_POISSON.end()).min(*Pattern::DISPERSIONS.end());
        (dispersion > most).then(|| {
            format!(
                "its seconds differ too much for {per_s:.2} connections in each (a dispersion of \
                 {dispersion:.1} connections): leave out --workload, and give the times of the log \
                 with --arrivals trace:FILE"
            )
        })
    }

    /// How they come, one per second: not with less dispersion than chance has, where each has
    /// several requests.
    pub(super) fn arrivals(&self) -> Pattern {
        let per_s = 1.0;
        if OF_POISSON.contains(&self.dispersion) || self.are_spread() {
            Pattern::Poisson { per_s }
        } else if self.dispersion < *Pattern::DISPERSIONS.start() {
            Pattern::Constant { per_s }
        } else {
            // a search has the crowds that a plan can have
            let dispersion = self.dispersion.min(*Pattern::DISPERSIONS.end());
            Pattern::Gamma { per_s, dispersion }
        }
    }

    /// What a plan leaves out of them.
    pub(super) fn undone(&self) -> Option<String> {
        self.are_spread().then(|| {
            format!(
                "the requests of a connection were far apart in the log, and follow each other \
                 here: seconds have crowds of {:.2}",
                self.each
            )
        })
    }

    /// Whether the requests of each were far apart in the log: its seconds differ less than they
    /// would with all of them in one.
    fn are_spread(&self) -> bool {
        self.each > 1.0 && self.dispersion < *OF_POISSON.start()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crowds_have_a_limit_and_numbers_an_end() {
        let crowd = |dispersion| Connections::new(1e5, dispersion, 1.0).obstacle();
        assert!(crowd(999.0).is_none() && crowd(1001.0).is_some());
        let Connections { per_s, dispersion, .. } = Connections::new(250.0, 10.0, 2.371_739);
        assert_eq!((per_s, dispersion), (105.408, 4.22));
    }

    #[test]
    fn requests_that_were_far_apart_are_told() {
        let undone = |each| Connections::new(70.5, 0.5, each).undone();
        assert!(undone(2.5).is_some_and(|why| why.contains("crowds of 2.50")));
        assert_eq!(undone(1.0), None);
    }
}
