//! The parts of a session's cost, predicted without a server.

use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Record};
use tollgate_session::{SessionPlan, measure, predicted_rate};

use crate::error::CliError;
use crate::interrupt;
use crate::progress;
use crate::run::Run;

/// Predicts the sessions of a plan for the stock server of this name, or without a name for the
/// embedded one. Returns the records of the parts, their sums, and the predicted rates; none after
/// Ctrl-C.
pub(crate) fn collect(
    server: Option<&str>,
    plan: &SessionPlan,
    run: &mut Run,
) -> Result<Vec<Record>, CliError> {
    progress::plan(1, plan.total.as_secs_f64());
    progress::row(0, "parts of sessions");
    let context = &run.host.context;
    let mut records = match measure(server, plan, context, &interrupt::asked, &mut progress::part) {
        Err(_) if interrupt::asked() => Vec::new(),
        measured => measured?,
    };
    if let Some(clock) = &context.machine.core_clock_hz {
        let is_total = |record: &&Record| {
            record.quantity == word::CYCLES_PER_SESSION
                && record.subject.parameter(word::PART).is_none()
                && matches!(record.kind, Kind::Predicted { .. })
        };
        let rates: Result<Vec<_>, _> =
            records.iter().filter(is_total).map(|total| predicted_rate(total, clock, 1)).collect();
        records.extend(rates?);
    }
    run.output.records(&records)?;
    Ok(records)
}
