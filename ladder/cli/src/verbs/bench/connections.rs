//! Converts the requests per second of a log to connections that a load generator starts.

use core::ops::RangeInclusive;

use tollgate_load::Pattern;
use tollgate_workload::{Arrivals, Workload};

/// Dispersions in a log that Poisson arrivals can explain.
const OF_POISSON: RangeInclusive<f64> = 0.8..=1.25;

/// Connections, each with its requests in sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Connections {
    /// Connections per second.
    pub(super) per_s: f64,
    dispersion: f64,
    /// Mean requests on each connection.
    each: f64,
}

impl Connections {
    /// The connections of a workload with an open loop.
    pub(super) fn of(workload: &Workload) -> Option<Self> {
        let each = workload.requests_per_connection.as_ref().map_or(1.0, |each| each.value.get());
        match workload.arrivals.as_ref()?.value {
            Arrivals::Open { per_s, dispersion, .. } => Some(Self::new(per_s, dispersion, each)),
            Arrivals::Closed => None,
        }
    }

    /// Divides rate and dispersion of the requests by the requests per connection, because each
    /// connection adds a group of requests. Rounded to the precision of a log.
    fn new(per_s: f64, dispersion: f64, each: f64) -> Self {
        let rounded = |number: f64, to: f64| (number * to).round() / to;
        let per_s = per_s / each;
        // a rate below the minimum of a plan is kept, and refused later
        let per_s = if per_s < 1.0 { per_s } else { rounded(per_s, 1000.0) };
        Self { per_s, dispersion: rounded(dispersion / each, 100.0), each }
    }

    /// Why no distribution of gaps produces such seconds, if none does. Groups that arrive less
    /// than once a second cannot be expressed by gaps: with gamma-distributed gaps, a second has a
    /// sixth less dispersion than the log when the dispersion equals the rate, and soon none.
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

    /// The distribution at one per second; not less dispersed than Poisson if connections have
    /// several requests.
    pub(super) fn arrivals(&self) -> Pattern {
        let per_s = 1.0;
        if OF_POISSON.contains(&self.dispersion) || self.are_spread() {
            Pattern::Poisson { per_s }
        } else if self.dispersion < *Pattern::DISPERSIONS.start() {
            Pattern::Constant { per_s }
        } else {
            // a search uses dispersions that a plan can have
            let dispersion = self.dispersion.min(*Pattern::DISPERSIONS.end());
            Pattern::Gamma { per_s, dispersion }
        }
    }

    /// What a plan cannot express.
    pub(super) fn undone(&self) -> Option<String> {
        self.are_spread().then(|| {
            format!(
                "the requests of a connection were far apart in the log, and follow each other \
                 here: seconds have crowds of {:.2}",
                self.each
            )
        })
    }

    /// Whether the requests of a connection were far apart in the log: its seconds differ less than
    /// they would with all requests of a connection in one second.
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
