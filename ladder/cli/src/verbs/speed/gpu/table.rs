//! The table of batches on a GPU, beside one core of the processor.

use core::time::Duration;

use tollgate_cuda::{Done, Meter};
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use super::batches::whole;
use super::{Measured, Unit};
use crate::cells::{or_dash, rate};

const COLUMNS: [Column; 11] = [
    Column::words("key", 8),
    Column::figures("batch", 5),
    Column::figures("execute ms", 10),
    Column::figures("p50 ms", 7),
    Column::figures("p99 ms", 7),
    Column::figures("CPU us/op", 9),
    Column::figures("per s", 6),
    Column::figures("two", 6),
    Column::figures("OpenSSL", 7),
    Column::figures("lanes", 6),
    Column::figures("op/J", 5),
];

const NOTE: &str = "execute: of the kernels; p50, p99: of a whole batch; per s: full batches one after \
                    the other; two: two at a time; OpenSSL, lanes: signatures per second with the same \
                    key on one core of this processor, measured just before, lanes in batches of \
                    eight; CPU us/op: CPU time of the thread that runs the batches; op/J: operations \
                    for a joule of the GPU. [FSL05] puts a public-key unit of 2005 at 500 to 1000 \
                    times the speed of the same function in software of its time";

/// Returns the table of a run.
pub(super) fn text(unit: &Unit, all: &[Measured]) -> String {
    let meter = unit.meter.as_ref();
    let limit = meter.and_then(Meter::power_limit_mw);
    let about = format!(
        "GPU: {}, driver {}, power limit {}",
        unit.name,
        or_dash(meter.and_then(Meter::driver_version), |version| version),
        or_dash(limit, |mw| format!("{:.0} W", f64::from(mw) / 1e3))
    );
    let counts = all.iter().map(|row| format!("{} of {}", row.batches.compared, name(row)));
    let counts = counts.collect::<Vec<_>>().join(", ");
    wrapped(&about)
        + "\n"
        + &grid(&COLUMNS, all.iter().map(cells).collect())
        + &wrapped(&format!("compared with right results: {counts}; 0 wrong"))
        + &wrapped(NOTE)
}

fn name(row: &Measured) -> String {
    format!("RSA-{}", row.size.bits())
}

fn cells(row: &Measured) -> Vec<String> {
    let Measured { core, batches, .. } = row;
    let ms = |ns: f64| format!("{:.3}", ns / 1e6);
    let median = |of: fn(&Done) -> Duration| batches.median_ns(of).point();
    let (width, p50) = (f64::from(batches.width()), median(whole));
    vec![
        name(row),
        width.to_string(),
        ms(median(|done| done.execute)),
        ms(p50),
        ms(batches.p99_ns().point()),
        format!("{:.2}", median(|done| done.cpu) / width / 1e3),
        rate(1e9 * width / p50),
        rate(batches.overlapped_per_s().point()),
        rate(1e9 / core.openssl.point()),
        rate(1e9 / core.lanes.point()),
        or_dash(batches.per_joule(), |per_joule| rate(per_joule.point())),
    ]
}

#[cfg(test)]
mod tests {
    use tollgate_cuda::Size;
    use tollgate_record::Estimate;

    use super::super::Core;
    use super::super::batches::Batches;
    use super::*;

    #[test]
    fn a_row_has_medians_and_the_rates_of_one_core() {
        let ms = Duration::from_millis;
        let done = |execute| Done {
            operations: 100,
            load: ms(1),
            execute: ms(execute),
            store: ms(2),
            notify: ms(3),
            cpu: ms(1),
        };
        let exact = |ns| Estimate::exact(ns).unwrap();
        let core = Core { openssl: exact(2e6), lanes: exact(5e5) };
        let times = vec![done(14), done(4), done(94)];
        let batches = Batches {
            overlapped: times.clone(),
            times,
            per_s: vec![4000.0, 5000.0, 6000.0],
            operations_per_joule: vec![1900.0, 2000.0, 2100.0],
            compared: 400,
            ..Batches::default()
        };
        let row = cells(&Measured { size: Size::Rsa2048, core, batches }).join(" ");
        assert_eq!(row, "RSA-2048 100 14.000 20.000 100.000 10.00 5.00k 5.00k 500 2.00k 2.00k");
    }
}
