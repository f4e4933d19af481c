//! The backlog that a burst leaves: predicted by formula and simulation, then measured.

use std::fs;
use std::path::Path;

use tollgate_bench::{median, median_estimate};
use tollgate_fleet::Burst;
use tollgate_load::{Arrivals, Outcome, Pattern, Plan};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Nanos, PerSecond, Quantity, Record, Subject, Unit};
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;
use tollgate_report::timeline;

use super::model::{Model, Sessions};
use super::prediction::Runs;
use super::table::{interval, off, time};
use super::{Curve, percent};
use crate::cells::{float, or_dash};
use crate::error::CliError;

const COLUMNS: [Column; 8] = [
    Column::words("", 10),
    Column::words("", 7),
    Column::figures("formula", 8),
    Column::figures("simulated", 9),
    Column::figures("95 % of runs", 17),
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
    formula: [f64; 2],
    predicted: Runs<2>,
    /// Medians of the bursts of each run; empty if the runs were invalid.
    measured: Vec<[f64; 2]>,
    /// The sessions of the first burst, as predicted, and in each run.
    picture: (Sessions, Vec<Sessions>),
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
    fn within<'a>(&self, begin_ns: f64, all: &'a Sessions) -> &'a [(f64, f64)] {
        let from = all.partition_point(|session| session.0 < begin_ns);
        let to = all.partition_point(|session| session.0 < begin_ns + self.on_ns);
        &all[from..to.max(from)]
    }

    /// Returns the figures of a run: medians over its bursts. `None` if no session arrived in them.
    fn figures(&self, all: &Sessions) -> Option<[f64; 2]> {
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

    /// Returns the sessions of the first burst, in milliseconds since it began.
    fn first(&self, all: &Sessions) -> Sessions {
        let Some(begin) = self.begins_ns.first() else { return Vec::new() };
        let since = |ns: f64| (ns - begin) / 1e6;
        let sessions = self.within(*begin, all).iter();
        sessions.map(|(arrived, done)| (since(*arrived), since(*done))).collect()
    }
}

impl Backlog {
    /// Predicts the backlogs; `None` if the plan has no bursts.
    pub(super) fn predict(model: &Model, plan: &Plan, load: f64) -> Result<Option<Self>, CliError> {
        let Some(bursts) = Bursts::of(plan) else { return Ok(None) };
        let predicted = model.runs(plan, |run| bursts.figures(&run.sessions))?;
        let predicted = predicted.ok_or_else(|| {
            error!(
                "bench response: no burst and its pause are in the measured part: give more \
                    --seconds"
            )
        })?;
        let burst = Burst {
            usual: PerSecond::new(0.0),
            rate: PerSecond::new(bursts.per_s),
            length: Nanos::new(bursts.on_ns),
        };
        let formula = burst.backlog(model.station().cores(), model.cpu_ns())?;
        let own = model.run(plan, model.cpu_ns().point(), plan.seed)?.sessions;
        Ok(Some(Self {
            load,
            formula: [formula.sessions.point(), formula.drain_ns.point()],
            predicted,
            measured: Vec::new(),
            picture: (bursts.first(&own), Vec::new()),
            bursts,
        }))
    }

    /// Takes the figures of the measured runs.
    pub(super) fn measure(&mut self, rounds: &[Outcome]) {
        for round in rounds {
            let ns = |time: core::time::Duration| 1e9 * time.as_secs_f64();
            let timeline = round.timeline().unwrap_or_default().iter();
            let sessions = timeline.map(|moment| (ns(moment.arrived), ns(moment.done))).collect();
            self.measured.extend(self.bursts.figures(&sessions));
            self.picture.1.push(self.bursts.first(&sessions));
        }
    }

    pub(super) fn predictions(&self) -> Result<Vec<(Quantity, Unit, Estimate)>, CliError> {
        let figure =
            |(number, (quantity, unit))| Ok((quantity, unit, self.predicted.estimate(number)?));
        FIGURES.into_iter().enumerate().map(figure).collect()
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

    /// Returns whether a backlog lasts into the next burst, so that it is not that of one burst.
    fn lasts(&self) -> bool {
        let measured = self.measured(1).map_or(0.0, |gone| gone.point());
        self.predicted.own[1].max(measured) > self.bursts.off_ns
    }

    fn rows(&self, by: &str) -> Result<Vec<Vec<String>>, CliError> {
        let row = |number: usize| {
            let shown = |value: f64| if number == 0 { format!("{value:.0}") } else { time(value) };
            let between = |of: Estimate| {
                let (low, high) = of.interval();
                if number == 0 { format!("[{low:.0}-{high:.0}]") } else { interval(of) }
            };
            let (simulated, measured) = (self.predicted.estimate(number)?, self.measured(number));
            Ok(vec![
                if number == 0 { by.to_owned() } else { String::new() },
                ["backlog", "gone in"][number].to_owned(),
                shown(self.formula[number]),
                shown(simulated.point()),
                between(simulated),
                or_dash(measured, |measured| shown(measured.point())),
                or_dash(measured, between),
                or_dash(measured, |measured| off(simulated, measured)),
            ])
        };
        [row(0), row(1)].into_iter().collect()
    }
}

/// Returns the table of the backlogs, and if servers had the same arrivals, their difference. Empty
/// if the arrivals had no bursts.
pub(super) fn text(curves: &[Curve], same_rates: bool) -> Result<String, CliError> {
    let all: Vec<(&Curve, &Backlog)> =
        curves.iter().filter_map(|curve| Some((curve, curve.backlog.as_ref()?))).collect();
    let Some((_, first)) = all.first() else { return Ok(String::new()) };
    let mut text = "\n".to_owned();
    text += &wrapped(&format!(
        "bursts at a load of {}: arrivals for {}, then none for {}; bursts in each run: {}",
        percent(first.load),
        time(first.bursts.on_ns),
        time(first.bursts.off_ns),
        first.bursts.begins_ns.len(),
    ));
    for of in all.chunk_by(|(a, _), (b, _)| a.scenario() == b.scenario()) {
        let rows = of.iter().map(|(curve, backlog)| {
            let rate = PerSecond::new(backlog.bursts.per_s);
            let share = percent(backlog.bursts.per_s / curve.capacity_per_s);
            text +=
                &wrapped(&format!("{}: {rate} in a burst, {share} of its capacity", curve.label));
            backlog.rows(curve.by())
        });
        let rows: Vec<_> = rows.collect::<Result<Vec<_>, CliError>>()?.concat();
        text += &grid(&COLUMNS, rows);
        if let ([(_, baseline), (curve, other)], true) = (of, same_rates) {
            text += &sooner(baseline, (curve.by(), other))?;
        }
    }
    text += "\n";
    Ok(text
        + &wrapped(
            "backlog: sessions that are not done at the last arrival of a burst; gone in: time from this \
         arrival until all are done; formula: arrivals and service as constant flows, for the CPU \
         time alone; both are medians over the bursts of a run",
        ))
}

/// Describes how much sooner the backlog of the second server is gone.
fn sooner(baseline: &Backlog, (by, other): (&str, &Backlog)) -> Result<String, CliError> {
    if baseline.lasts() || other.lasts() {
        return Ok(wrapped(
            "same bursts: a backlog lasts into the next burst: give --arrivals a longer pause, or \
             --loads a lower load",
        ));
    }
    let predicted = baseline.predicted.minus(&other.predicted).estimate(1)?;
    let rounds = baseline.measured.iter().zip(&other.measured);
    let measured = median_estimate(&rounds.map(|(a, b)| a[1] - b[1]).collect::<Vec<_>>());
    let told = |of: Estimate| {
        let (low, high) = of.interval();
        format!("{} [{} to {}]", signed(of.point()), signed(low), signed(high))
    };
    Ok(wrapped(&format!(
        "same bursts: the backlog of {by} is gone {} sooner; predicted: {}",
        or_dash(measured, told),
        told(predicted)
    )))
}

/// Returns a time that is negative if the backlog is gone later.
fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "-" } else { "" };
    format!("{sign}{}", time(ns.abs()))
}

/// Draws the first burst of the servers that share their arrivals; `false` if there is none.
pub(super) fn draw(file: &Path, curves: &[Curve]) -> Result<bool, CliError> {
    let of = |curve: &Curve| {
        let backlog = curve.backlog.as_ref()?;
        let (predicted, measured) = backlog.picture.clone();
        Some(timeline::Server { name: curve.by().to_owned(), predicted, measured })
    };
    let Some((first, backlog)) = curves.first().and_then(|c| Some((c, c.backlog.as_ref()?))) else {
        return Ok(false);
    };
    let same = curves.iter().take_while(|curve| curve.scenario() == first.scenario());
    let burst = timeline::Burst {
        title: format!(
            "{}: one burst, {} for {}",
            first.scenario(),
            PerSecond::new(backlog.bursts.per_s),
            time(backlog.bursts.on_ns)
        ),
        shown_ms: (backlog.bursts.on_ns + backlog.bursts.off_ns) / 1e6,
        servers: same.filter_map(of).collect(),
    };
    fs::write(file, timeline::burst(&burst)).map_err(CliError::at(file))?;
    Ok(true)
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
    fn a_later_end_has_a_sign() {
        assert_eq!([-2.5e6, 0.0, 12e6].map(signed), ["-2.50 ms", "0.00 µs", "12.0 ms"]);
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
        let first = bursts.first(&sessions);
        assert_eq!(first.len(), 4);
        assert!((first[0].0 - 100.0).abs() < 1e-6 && (first[2].1 - 1400.0).abs() < 1e-6);
        assert!(bursts.figures(&Vec::new()).is_none());
    }
}
