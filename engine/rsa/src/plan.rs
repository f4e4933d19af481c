//! How a batch is cut into calls: the cheapest mix of the forms of an operation.
//!
//! The cost of a form is the time of one call divided by the time of a single operation. A call on
//! lanes costs the same for any number of used lanes, so the cheapest mix depends on the number of
//! requests.

use tollgate_mont::LANES;

/// An operation with its own costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Private, by CRT.
    Private,
    /// Public.
    Public,
}

/// The way that one call runs operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A single operation.
    One,
    /// Up to eight operations, each in its lane.
    Lanes,
}

/// Costs of the forms of one operation with keys of one size, as multiples of the cost of a single
/// operation. A form whose cost is `None` or NaN is never used.
///
/// ```
/// use tollgate_rsa::Plan;
///
/// let plan = Plan { lanes: Some(2.75) };
/// assert_eq!(plan.cut(2).to_string(), "1 + 1");
/// assert_eq!(plan.cut(10).to_string(), "[8] + 1 + 1");
/// assert_eq!(plan.cut(20).to_string(), "[7] + [7] + [6]");
/// assert_eq!(plan.cost(plan.cut(20)), 3.0 * 2.75);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Plan {
    /// The cost of a call on lanes.
    pub lanes: Option<f64>,
}

/// A batch, cut into calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// The number of requests that run in lanes.
    in_lanes: usize,
    lanes: usize,
    ones: usize,
}

impl Plan {
    /// Uses this form for every batch, even where it is slow. For measurements.
    pub fn always(form: Form) -> Self {
        Self { lanes: (form == Form::Lanes).then_some(0.0) }
    }

    /// Returns the cheapest calls for this many requests.
    ///
    /// If lanes are best for eight requests, they are best for every eight. Lanes therefore run all
    /// requests, none, or as many as fill whole calls.
    pub fn cut(&self, requests: usize) -> Cut {
        let (mut best, mut least) = (Cut { ones: requests, ..Cut::default() }, f64::INFINITY);
        for lanes in [0, requests / LANES, requests.div_ceil(LANES)] {
            let in_lanes = requests.min(lanes * LANES);
            let cut = Cut { in_lanes, lanes, ones: requests - in_lanes };
            let cost = self.cost(cut);
            if cost < least {
                (best, least) = (cut, cost);
            }
        }
        best
    }

    /// Returns the cost of a cut, as a multiple of the cost of a single operation; NaN if a form of
    /// the cut has no cost.
    #[allow(clippy::cast_precision_loss, reason = "batches have far fewer than 2^52 requests")]
    pub fn cost(&self, cut: Cut) -> f64 {
        let lanes = match cut.lanes {
            0 => 0.0,
            calls => calls as f64 * self.lanes.unwrap_or(f64::NAN),
        };
        cut.ones as f64 + lanes
    }
}

impl Cut {
    /// Returns each call with its number of requests. Calls on lanes come first and are evenly
    /// filled; then single operations.
    pub fn calls(self) -> impl Iterator<Item = (Form, usize)> {
        let lanes = (0..self.lanes).map(move |i| {
            let more = usize::from(i < self.in_lanes % self.lanes);
            (Form::Lanes, self.in_lanes / self.lanes + more)
        });
        lanes.chain(core::iter::repeat_n((Form::One, 1), self.ones))
    }
}

impl core::fmt::Display for Cut {
    /// Prints a sum of calls, with lanes in brackets: `[7] + [7] + [6]`, `[8] + 1 + 1`. Three or
    /// more equal calls are printed as a product: `5 x 1`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut calls = self.calls().peekable();
        let mut gap = "";
        while let Some(call) = calls.next() {
            let mut count = 1;
            while calls.next_if_eq(&call).is_some() {
                count += 1;
            }
            let (times, shown) = if count > 2 { (Some(count), 1) } else { (None, count) };
            for _ in 0..shown {
                f.write_str(gap)?;
                times.map_or(Ok(()), |times| write!(f, "{times} x "))?;
                match call {
                    (Form::Lanes, used) => write!(f, "[{used}]")?,
                    (Form::One, size) => write!(f, "{size}")?,
                }
                gap = " + ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the least cost of n requests by trying every first call.
    fn brute_force(plan: Plan, n: usize) -> f64 {
        let mut least = vec![0.0];
        for n in 1..=n {
            let forms = [(1, Some(1.0)), (LANES, plan.lanes)];
            let costs =
                forms.into_iter().filter_map(|(size, cost)| Some(cost? + least[n - n.min(size)]));
            least.push(costs.fold(f64::INFINITY, f64::min));
        }
        least[n]
    }

    #[test]
    fn no_other_mix_is_cheaper() {
        let mut rng = fastrand::Rng::with_seed(12);
        for round in 0..3000 {
            let plan = Plan { lanes: (round % 5 != 0).then(|| 10.0 * rng.f64()) };
            for n in 0..=40 {
                let (cost, least) = (plan.cost(plan.cut(n)), brute_force(plan, n));
                assert!((cost - least).abs() < 1e-9, "{plan:?}, {n}: {cost}, {least}");
            }
        }
    }

    #[test]
    fn calls_take_each_request_once_and_lanes_evenly() {
        let mut rng = fastrand::Rng::with_seed(13);
        for _ in 0..3000 {
            let plan = Plan { lanes: Some(10.0 * rng.f64()) };
            let n = rng.usize(..200);
            let calls: Vec<_> = plan.cut(n).calls().collect();
            assert_eq!(calls.iter().map(|(_, count)| count).sum::<usize>(), n);
            let counts = |form| calls.iter().filter(move |call| call.0 == form).map(|call| call.1);
            assert!(counts(Form::One).all(|count| count == 1));
            let (least, most) = (counts(Form::Lanes).min(), counts(Form::Lanes).max());
            assert!(least.is_none_or(|least| least >= 1 && most <= Some((least + 1).min(LANES))));
        }
    }

    #[test]
    fn a_form_can_be_forced_and_a_form_without_a_cost_is_never_used() {
        let forms = |plan: Plan, n| plan.cut(n).calls().map(|call| call.0).collect::<Vec<_>>();
        assert_eq!(forms(Plan::always(Form::Lanes), 9), [Form::Lanes; 2]);
        assert_eq!(forms(Plan::always(Form::One), 9), [Form::One; 9]);
        assert_eq!(forms(Plan { lanes: Some(f64::NAN) }, 9), [Form::One; 9]);
    }

    #[test]
    fn a_cut_is_spelled_as_a_sum() {
        let plan = |lanes| Plan { lanes: Some(lanes) };
        assert_eq!(plan(5.5).cut(0).to_string(), "");
        assert_eq!(plan(5.5).cut(5).to_string(), "5 x 1");
        assert_eq!(plan(5.5).cut(6).to_string(), "[6]");
        assert_eq!(plan(5.5).cut(10).to_string(), "[8] + 1 + 1");
        assert_eq!(plan(5.5).cut(22).to_string(), "[8] + [7] + [7]");
        assert_eq!(plan(5.5).cut(24).to_string(), "3 x [8]");
    }
}
