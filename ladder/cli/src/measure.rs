//! Measures the contenders of a row in one interleaved series.

use core::time::Duration;

use tollgate_bench::{Contender as Runner, Error, SamplePlan, Series, Wrong, interleave};
use tollgate_record::Estimate;

use crate::contenders::Contender;
use crate::error::CliError;
use crate::interrupt;
use crate::run::Notes;

/// Limits the warm-up of one contender to the row's time, divided by this number and by the number
/// of contenders.
const WARM_UP_PART: u32 = 5;

/// A row that is shorter than this gets shorter samples, so that there are enough samples.
const LONG: Duration = Duration::from_secs(1);

/// Measures all contenders, interleaved, for `seconds` in total, and notes warnings. `None` after
/// Ctrl-C, since the series is incomplete.
pub(crate) fn measure(
    row: &str,
    contenders: &mut [Contender],
    seconds: f64,
    notes: &mut Notes,
    mut progress: impl FnMut(f64),
) -> Result<Option<Series>, CliError> {
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
        Ok(series) => {
            notes.warn(row, series.warnings());
            Ok(Some(series))
        }
        Err(Error::Stopped) => Ok(None),
        Err(error) => Err(CliError::about(row)(error)),
    }
}

/// Returns the core cycles of one operation.
pub(crate) fn cycles(series: &Series, contender: usize) -> Result<Estimate, CliError> {
    series
        .cycles(contender)
        .ok_or_else(|| error!("core cycles cannot be told on this machine: no time stamp counter"))
}

fn plan(row: Duration, contenders: usize) -> SamplePlan {
    let contenders = u32::try_from(contenders.max(1)).expect("few contenders");
    let thorough = SamplePlan::thorough(row);
    let warm_up = thorough.warm_up.min(row / (WARM_UP_PART * contenders));
    let sample = if row < LONG { SamplePlan::quick().sample } else { thorough.sample };
    SamplePlan { warm_up, total: row.saturating_sub(warm_up * contenders), sample, ..thorough }
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
}
