//! The backlog that a burst leaves: predicted by a formula, then measured.

use tollgate_bench::{median, median_estimate};
use tollgate_fleet::backlog;
use tollgate_load::{Arrivals, Outcome, Pattern, Plan};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Nanos, PerSecond, Quantity, Record, Subject, Unit};
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use super::prediction::Model;
use super::table::{interval, off, time};
use super::{Curve, percent};
use crate::cells::{float, or_dash};
use crate::error::CliError;

const COLUMNS: [Column; 6] = [
    Column::words("", 10),
    Column::words("", 7),
    Column::figures("formula", 8),
    Column::figures("measured", 8),
    Column::figures("95 % interval", 17),
    Column::figures("off", 6),
];

/// The figures of a burst, by number: the sessions that are not done at its last arrival, and the
/// time in nanoseconds from this arrival until they are.
const FIGURES: [(Quantity, Unit); 2] =
    [(word::BACKLOG_SESSIONS, Unit::Count), (word::BACKLOG_DRAIN_NS, Unit::Nanos)];

/// The backlogs of one server at one load.
pub(super) struct Backlog {
    bursts: Bursts,
    load: f64,
    /// By the formula, for the CPU time alone.
    formula: [Estimate; 2],
    /// Medians of the bursts of each run; empty if the runs were invalid.
    measured: Vec<[f64; 2]>,
}

/// The bursts of a run.
struct Bursts {
    /// Arrivals per second in a burst.
    per_s: f64,
    on_ns: f64,
    off_ns: f64,
    /// The begin of each burst that lies in the measured part with its pause.
    begins_ns: Vec<f64>,
}

impl Bursts {
    /// Returns the bursts of a plan; `None` if it has other arrivals.
    fn of(plan: &Plan) -> Option<Self> {
        let Arrivals::Open { pattern: Pattern::Bursts { per_s, on_ms, off_ms }, .. } =
            &plan.arrivals
        else {
            return None;
        };
        let period_ms = u64::from(*on_ms) + u64::from(*off_ms);
        let end_ms = plan.warm_up_ms + plan.sustain_ms;
        let numbers = plan.warm_up_ms.div_ceil(period_ms)..end_ms / period_ms;
        Some(Self {
            per_s: per_s * float(period_ms) / f64::from(*on_ms),
            on_ns: 1e6 * f64::from(*on_ms),
            off_ns: 1e6 * f64::from(*off_ms),
            begins_ns: numbers.map(|number| 1e6 * float(number * period_ms)).collect(),
        })
    }

    /// Returns the sessions that arrive in a burst.
    fn within<'a>(&self, begin_ns: f64, all: &'a [(f64, f64)]) -> &'a [(f64, f64)] {
        let from = all.partition_point(|session| session.0 < begin_ns);
        let to = all.partition_point(|session| session.0 < begin_ns + self.on_ns);
        &all[from..to.max(from)]
    }

    /// Returns the figures of a run: medians over its bursts. `None` if no session arrived in them.
    fn figures(&self, all: &[(f64, f64)]) -> Option<[f64; 2]> {
        let of_burst = |begin_ns: &f64| {
            let sessions = self.within(*begin_ns, all);
            let last = sessions.last()?.0;
            let left = sessions.iter().filter(|session| session.1 > last).count();
            let gone = sessions.iter().map(|session| session.1).fold(last, f64::max);
            Some([float(left as u64), gone - last])
        };
        let all: Vec<[f64; 2]> = self.begins_ns.iter().filter_map(of_burst).collect();
        let of = |number: usize| median(&all.iter().map(|one| one[number]).collect::<Vec<_>>());
        (!all.is_empty()).then(|| [of(0), of(1)])
    }
}

impl Backlog {
    /// Predicts the backlogs; `None` if the plan has no bursts.
    pub(super) fn predict(model: &Model, plan: &Plan, load: f64) -> Result<Option<Self>, CliError> {
        let Some(bursts) = Bursts::of(plan) else { return Ok(None) };
        if bursts.begins_ns.is_empty() {
            bail!(
                "bench response: no burst and its pause are in the measured part: give more \
                 --seconds"
            );
        }
        let (rate, length) = (PerSecond::new(bursts.per_s), Nanos::new(bursts.on_ns));
        let formula = backlog(model.station.cores(), model.cpu_ns, rate, length)?;
        Ok(Some(Self {
            load,
            formula: [formula.sessions, formula.drain_ns],
            measured: Vec::new(),
            bursts,
        }))
    }

    /// Takes the figures of the measured runs.
    pub(super) fn measure(&mut self, rounds: &[Outcome]) {
        for round in rounds {
            let ns = |time: core::time::Duration| 1e9 * time.as_secs_f64();
            let timeline = round.timeline().unwrap_or_default().iter();
            let sessions: Vec<_> =
                timeline.map(|moment| (ns(moment.arrived), ns(moment.done))).collect();
            self.measured.extend(self.bursts.figures(&sessions));
        }
    }

    pub(super) fn predictions(&self) -> impl Iterator<Item = (Quantity, Unit, Estimate)> {
        let figures = FIGURES.into_iter().zip(self.formula);
        figures.map(|((quantity, unit), formula)| (quantity, unit, formula))
    }

    /// Returns the measured figures as records of `subject`, under the conditions of `like`.
    pub(super) fn records(&self, subject: &Subject, like: &Record) -> Vec<Record> {
        let record = |(number, (quantity, unit))| {
            let estimate = self.measured(number)?;
            let (subject, kind) = (subject.clone(), Kind::Measured);
            Some(Record { subject, quantity, unit, estimate, kind, ..like.clone() })
        };
        FIGURES.into_iter().enumerate().filter_map(record).collect()
    }

    fn measured(&self, number: usize) -> Option<Estimate> {
        median_estimate(&self.measured.iter().map(|round| round[number]).collect::<Vec<_>>())
    }

    fn rows(&self, by: &str) -> [Vec<String>; 2] {
        let row = |number: usize| {
            let shown = |value: f64| if number == 0 { format!("{value:.0}") } else { time(value) };
            let between = |of: Estimate| {
                let (low, high) = of.interval();
                if number == 0 { format!("[{low:.0}-{high:.0}]") } else { interval(of) }
            };
            let (formula, measured) = (self.formula[number], self.measured(number));
            vec![
                if number == 0 { by.to_owned() } else { String::new() },
                ["backlog", "gone in"][number].to_owned(),
                shown(formula.point()),
                or_dash(measured, |measured| shown(measured.point())),
                or_dash(measured, between),
                or_dash(measured, |measured| off(formula, measured)),
            ]
        };
        [row(0), row(1)]
    }
}

/// Returns the table of the backlogs; empty if the arrivals had no bursts.
pub(super) fn text(curves: &[Curve]) -> String {
    let all: Vec<(&Curve, &Backlog)> =
        curves.iter().filter_map(|curve| Some((curve, curve.backlog.as_ref()?))).collect();
    let Some((_, first)) = all.first() else { return String::new() };
    let mut text = "\n".to_owned();
    text += &wrapped(&format!(
        "bursts at a load of {}: arrivals for {}, then none for {}; bursts in each run: {}",
        percent(first.load),
        time(first.bursts.on_ns),
        time(first.bursts.off_ns),
        first.bursts.begins_ns.len(),
    ));
    for of in all.chunk_by(|(a, _), (b, _)| a.scenario() == b.scenario()) {
        let mut rows = Vec::new();
        for (curve, backlog) in of {
            let rate = PerSecond::new(backlog.bursts.per_s);
            let share = percent(backlog.bursts.per_s / curve.capacity_per_s);
            text +=
                &wrapped(&format!("{}: {rate} in a burst, {share} of its capacity", curve.label));
            rows.extend(backlog.rows(curve.by()));
        }
        text += &grid(&COLUMNS, rows);
    }
    text + "\n"
        + &wrapped(
            "backlog: sessions that are not done at the last arrival of a burst; gone in: time \
             from this arrival until all are done; formula: arrivals and service as constant \
             flows, for the CPU time alone; both are medians over the bursts of a run",
        )
}

#[cfg(test)]
mod tests {
    use tollgate_load::Protocol;

    use super::*;

    fn plan() -> Plan {
        Plan {
            arrivals: Arrivals::open(Pattern::Bursts { per_s: 4.0, on_ms: 1000, off_ms: 1500 }),
            warm_up_ms: 2000,
            sustain_ms: 6000,
            ..Plan::new(Protocol::Tls13)
        }
    }

    #[test]
    fn bursts_with_their_pauses_are_in_the_measured_part() {
        let bursts = Bursts::of(&plan()).unwrap();
        // from 2.5 s and 5 s; that from 7.5 s has its pause after the run
        assert_eq!(bursts.begins_ns, [2.5e9, 5e9]);
        let poisson = Arrivals::open(Pattern::Poisson { per_s: 4.0 });
        assert!(Bursts::of(&Plan { arrivals: poisson, ..plan() }).is_none());
    }

    #[test]
    fn a_backlog_is_counted_at_the_last_arrival() {
        let bursts = Bursts::of(&plan()).unwrap();
        let s = |arrived: f64, done: f64| (1e9 * arrived, 1e9 * done);
        let sessions = vec![
            s(0.1, 9.0), // of the warm-up
            s(2.6, 2.9),
            s(2.8, 3.1),
            s(3.0, 3.9),
            s(3.1, 3.6),
            // the second burst leaves one session
            s(5.1, 5.2),
            s(5.2, 5.3),
        ];
        // the first burst leaves two sessions at 3.1 s, until 3.9 s
        let [left, gone] = bursts.figures(&sessions).unwrap();
        assert!((left - 1.5).abs() < 1e-9, "{left}");
        assert!((gone - (0.8e9 + 0.1e9) / 2.0).abs() < 1.0, "{gone}");
        assert!(bursts.figures(&[]).is_none());
    }
}
