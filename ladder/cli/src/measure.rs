//! Measures the contenders of a row in one interleaved series.

use core::mem::discriminant;
use core::time::Duration;

use tollgate_bench::{Contender as Runner, Error, Plan, Series, Warning, Wrong, interleave};
use tollgate_record::Estimate;
use tollgate_report::text;

use crate::contenders::Contender;
use crate::error::CliError;
use crate::interrupt;

/// The most that one contender's warm-up may take: the row divided by this and by the contenders.
const WARM_UP_PART: u32 = 5;

/// Shorter rows get shorter samples, so that there are enough of them.
const LONG: Duration = Duration::from_secs(1);

/// The result of a series.
pub(crate) struct Round {
    series: Series,
}

impl Round {
    /// Nanoseconds of one operation, in CPU time of the thread, which excludes time that other
    /// processes took.
    pub(crate) fn nanos(&self, contender: usize) -> Estimate {
        self.series.cpu_nanos(contender)
    }

    /// Core cycles of one operation, if they can be measured.
    pub(crate) fn cycles(&self, contender: usize) -> Option<Estimate> {
        self.series.cycles(contender)
    }

    /// The time of one operation of `other` divided by that of one operation of `ours`.
    pub(crate) fn times_as_fast(&self, ours: usize, other: usize) -> Estimate {
        self.series.ratio(other, ours)
    }

    /// Warnings about doubtful figures.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        self.series.warnings()
    }
}

/// Measures all contenders, interleaved, for `seconds` in total. `None` after Ctrl-C, since the
/// series is incomplete.
///
/// # Errors
///
/// A result was wrong or missing.
pub(crate) fn measure(
    row: &str,
    contenders: &mut [Contender],
    seconds: f64,
    mut progress: impl FnMut(f64),
) -> Result<Option<Round>, CliError> {
    let plan = plan(Duration::from_secs_f64(seconds), contenders.len());
    let mut runners: Vec<Runner<'_>> = contenders
        .iter_mut()
        .map(|contender| {
            let run = &mut contender.run;
            let operations = contender.batch.unwrap_or(1);
            let name = match contender.batch {
                Some(batch) => format!("{} x{batch}", contender.by),
                None => contender.by.to_owned(),
            };
            Runner::new(name, operations, move || run().map_err(|why| Wrong::new(why.to_string())))
        })
        .collect();
    match interleave(&mut runners, &plan, &interrupt::asked, &mut progress) {
        Ok(series) => Ok(Some(Round { series })),
        Err(Error::Stopped) => Ok(None),
        Err(error) => Err(CliError::new(format!("{row}: {error}"))),
    }
}

fn plan(row: Duration, contenders: usize) -> Plan {
    let contenders = u32::try_from(contenders.max(1)).expect("few contenders");
    let thorough = Plan::thorough(row);
    let warm_up = thorough.warm_up.min(row / (WARM_UP_PART * contenders));
    let sample = if row < LONG { Plan::quick().sample } else { thorough.sample };
    Plan { warm_up, total: row.saturating_sub(warm_up * contenders), sample, ..thorough }
}

/// Notes under the table: each sentence once, and only the worst warning of each kind.
#[derive(Default)]
pub(crate) struct Notes {
    sentences: Vec<String>,
    warnings: Vec<Worst>,
}

/// The worst warning of its kind, and the number of warnings of that kind.
struct Worst {
    warning: Warning,
    row: String,
    count: usize,
}

impl Notes {
    /// Adds a sentence.
    pub(crate) fn add(&mut self, sentence: String) {
        if !self.sentences.contains(&sentence) {
            self.sentences.push(sentence);
        }
    }

    /// Adds the warnings of a row.
    pub(crate) fn warn(&mut self, row: &str, warnings: Vec<Warning>) {
        for warning in warnings {
            let row = row.to_owned();
            let known = |worst: &&mut Worst| discriminant(&worst.warning) == discriminant(&warning);
            match self.warnings.iter_mut().find(known) {
                None => self.warnings.push(Worst { warning, row, count: 1 }),
                Some(worst) => {
                    worst.count += 1;
                    if share(&warning) > share(&worst.warning) {
                        (worst.warning, worst.row) = (warning, row);
                    }
                }
            }
        }
    }

    /// All notes, wrapped, after an empty line; empty if there are none.
    pub(crate) fn lines(&self) -> String {
        let texts = self.texts();
        let gap = if texts.is_empty() { "" } else { "\n" };
        gap.to_owned() + &texts.iter().map(|note| text::wrapped(note)).collect::<String>()
    }

    /// The text of each note.
    fn texts(&self) -> Vec<String> {
        let warnings = self.warnings.iter().map(|worst| {
            let more = match worst.count - 1 {
                0 => String::new(),
                more => format!(" ({more} more of this kind, none worse)"),
            };
            format!("warning: {}: {}{more}", worst.row, worst.warning)
        });
        self.sentences.iter().cloned().chain(warnings).collect()
    }
}

/// The severity of a warning within its kind.
fn share(warning: &Warning) -> f64 {
    match warning {
        // fewer rounds are worse
        Warning::FewRounds { rounds } => -f64::from(u32::try_from(*rounds).unwrap_or(u32::MAX)),
        Warning::Drift { share }
        | Warning::Shared { share, .. }
        | Warning::Interrupted { share, .. }
        | Warning::Outliers { share, .. } => *share,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_to_its_time() {
        for (row, contenders) in [(10, 1), (200, 4), (6000, 4), (60_000, 9)] {
            let row = Duration::from_millis(row);
            let plan = plan(row, contenders);
            let warm = plan.warm_up * u32::try_from(contenders).unwrap_or(u32::MAX);
            assert_eq!(warm + plan.total, row);
            assert!(warm <= row / 5 && plan.sample <= Duration::from_millis(4));
        }
    }

    #[test]
    fn of_each_kind_of_warning_the_worst_is_said() {
        let mut notes = Notes::default();
        notes.add("a sentence".into());
        notes.add("a sentence".into());
        let outliers = |share| Warning::Outliers { name: "x".into(), share };
        notes.warn("first", vec![outliers(0.2), Warning::Drift { share: 0.1 }]);
        notes.warn("second", vec![outliers(0.4)]);
        notes.warn("third", vec![outliers(0.3)]);
        let texts = notes.texts();
        assert_eq!(texts.len(), 3);
        assert_eq!(texts[0], "a sentence");
        assert!(texts[1].starts_with("warning: second: 40 %"), "{texts:?}");
        assert!(texts[1].ends_with("(2 more of this kind, none worse)"), "{texts:?}");
        assert!(texts[2].starts_with("warning: first: the core clock"), "{texts:?}");
    }
}
