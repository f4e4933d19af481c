//! The bounds of all kernels with one rate of a machine changed.

use tollgate_processor::{Kernel, Rate};
use tollgate_report::text::wrapped;

use super::columns::{columns, figure};
use super::selected::SelectedMachine;
use crate::bounds::call;
use crate::error::CliError;
use crate::options::Change;

/// The table of all kernels before and after the change.
pub(super) fn table(
    selected: &SelectedMachine,
    change: &Change,
    sizes: &[u32],
) -> Result<String, CliError> {
    let model = &selected.model;
    let (limit, name) = (change.limit, change.limit.key());
    let wrong = |error| CliError::new(format!("--what-if {name}={}: {error}", change.value));
    let then = model.changed(limit, change.value).map_err(wrong)?;
    let heads = ["kernel", "bits", "now", "then", "change", "limit now", "limit then"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for kernel in Kernel::ALL {
        for &bits in sizes {
            let Some(call) = call(kernel, bits) else {
                continue;
            };
            let (now, then) = (model.kernel(kernel, call), then.kernel(kernel, call));
            let cycles = |analysis: &Option<tollgate_processor::Analysis>| {
                analysis.as_ref().map(|analysis| analysis.bound.cycles.get())
            };
            let limit = |analysis: &Option<tollgate_processor::Analysis>| {
                analysis.as_ref().map_or("-", |analysis| analysis.bound.limit.word()).to_owned()
            };
            let (before, after) = (cycles(&now), cycles(&then));
            if after.is_none() {
                continue;
            }
            let share = before.zip(after).map(|(now, then)| 100.0 * (then / now - 1.0));
            let change = match share {
                Some(share) if share.abs() < 0.05 => "stays".to_owned(),
                Some(share) => format!("{share:+.1} %"),
                None => "-".to_owned(),
            };
            let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
            rows.push(vec![
                kernel.name.to_owned(),
                bits.to_string(),
                shown(before),
                shown(after),
                change,
                limit(&now),
                limit(&then),
            ]);
        }
    }
    if rows.len() == 1 {
        return Err(CliError::new(format!(
            "{}: no kernel has a bound on this machine",
            model.name
        )));
    }
    let was = model.rates.get(&limit).map_or_else(|| Rate::unknown().to_string(), Rate::to_string);
    let about = format!("{}: {name} = {} in place of {was}", model.name, change.value);
    let notes = "lower bounds in core cycles for one number of a call";
    Ok(wrapped(&about) + &columns(&rows, 1..5) + &wrapped(notes))
}
