//! The tables of batches on a GPU, and the histograms of their times.

use core::time::Duration;

use tollgate_cuda::{Done, Meter, Numbers};
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use super::batches::whole;
use super::{Measured, Unit};
use crate::cells::{or_dash, rate};
use crate::histogram::drawn;

const BATCHES: [Column; 10] = [
    Column::words("key", 8),
    Column::figures("batch", 6),
    Column::figures("load ms", 7),
    Column::figures("execute ms", 10),
    Column::figures("store ms", 8),
    Column::figures("notify ms", 9),
    Column::figures("p50 ms", 7),
    Column::figures("p99 ms", 7),
    Column::figures("CPU us/op", 9),
    Column::figures("per s", 9),
];

const FACTORS: [Column; 10] = [
    Column::words("key", 8),
    Column::figures("GPU", 6),
    Column::figures("OpenSSL", 7),
    Column::figures("lanes", 6),
    Column::figures("/ OpenSSL", 9),
    Column::figures("/ lanes", 7),
    Column::figures("CPU us/op", 9),
    Column::figures("freed us/op", 11),
    Column::figures("op/J", 6),
    Column::figures("MHz", 5),
];

const NOTES: [&str; 2] = [
    "GPU: two full batches at a time. OpenSSL, lanes: signatures with the same key on one core of this \
     processor, measured just before; lanes are Tollgate in batches of eight. / OpenSSL, / lanes: \
     the GPU's figure, divided by theirs. CPU us/op: CPU time of the thread that runs the batches. freed \
     us/op: the time of an operation in lanes, minus that. op/J: operations for a joule of the GPU, \
     with its pauses during checks left out. MHz: its clock after a stretch of such batches",
    "[FSL05] puts a public-key unit of 2005 at 500 to 1000 times the speed of the same function in \
     software of its time",
];

/// Returns all tables of a run.
pub(super) fn text(unit: &Unit, all: &[Measured]) -> String {
    let mut text = wrapped(&about(unit));
    text += "\none batch after the other; medians of batches\n\n";
    text += &grid(&BATCHES, all.iter().map(batches).collect());
    text += &wrapped(&compared(all));
    let numbers: Vec<String> = all.iter().filter_map(numbers).collect();
    text += &wrapped(&format!("numbers of exponentiations: {}", numbers.join("; ")));
    let overlapped: Vec<String> = all.iter().map(overlapped).collect();
    text += &wrapped(&format!("two at a time: {}", overlapped.join("; ")));
    text += "\noperations per second of the GPU and of one core, and their quotients\n\n";
    text += &grid(&FACTORS, all.iter().map(factors).collect());
    NOTES.iter().for_each(|note| text += &wrapped(note));
    for one in all {
        let times = one.batches.times.iter();
        let nanos = times.map(|done| u64::try_from(whole(done).as_nanos()).unwrap_or(u64::MAX));
        let heading = format!("{}, times of whole batches:", name(one));
        let counted = nanos.map(|ns| (ns, 1)).collect();
        text += &drawn(&heading, &[(format!("{} batches", one.batches.times.len()), counted)]);
    }
    text
}

/// Names the GPU, its driver and the limit of its power.
fn about(unit: &Unit) -> String {
    let meter = unit.meter.as_ref();
    let limit = meter.and_then(Meter::power_limit_mw);
    format!(
        "GPU: {}, driver {}, power limit {}",
        unit.name,
        or_dash(meter.and_then(Meter::driver_version), |version| version),
        or_dash(limit, |mw| format!("{:.0} W", f64::from(mw) / 1e3))
    )
}

fn name(one: &Measured) -> String {
    format!("RSA-{}", one.size.bits())
}

fn compared(all: &[Measured]) -> String {
    let counts = all.iter().map(|one| format!("{} of {}", one.batches.compared, name(one)));
    let counts: Vec<String> = counts.collect();
    format!("compared with right results: {}; 0 wrong", counts.join(", "))
}

/// Names the numbers of the exponentiations, and their times if the GPU has a choice.
fn numbers(one: &Measured) -> Option<String> {
    let prepared = one.batches.prepared.as_ref()?;
    let name_of = |numbers| match numbers {
        Numbers::Words => "words",
        Numbers::Doubles => "doubles",
    };
    let time = |(numbers, time): &(Numbers, Duration)| {
        format!("{} {:.2} us", name_of(*numbers), time.as_secs_f64() * 1e6)
    };
    let times: Vec<String> = prepared.times.iter().map(time).collect();
    let times = if times.is_empty() { "no choice".to_owned() } else { times.join(", ") };
    Some(format!("{} {} ({times})", name(one), name_of(prepared.numbers)))
}

/// Returns the times of overlapped batches.
fn overlapped(one: &Measured) -> String {
    let ms = |q| one.batches.overlapped_ns(q).point() / 1e6;
    format!("{} p50 {:.3} ms, p99 {:.3} ms", name(one), ms(0.5), ms(0.99))
}

fn batches(one: &Measured) -> Vec<String> {
    let batches = &one.batches;
    let ms = |ns: f64| format!("{:.3}", ns / 1e6);
    let median = |of: fn(&Done) -> Duration| batches.median_ns(of).point();
    let (width, p50) = (f64::from(batches.width()), median(whole));
    let mut cells = vec![name(one), width.to_string()];
    let parts: [fn(&Done) -> Duration; 4] =
        [|done| done.load, |done| done.execute, |done| done.store, |done| done.notify];
    cells.extend(parts.map(|of| ms(median(of))));
    cells.extend([ms(p50), ms(batches.p99_ns().point())]);
    cells.push(format!("{:.2}", median(|done| done.cpu) / width / 1e3));
    cells.push(format!("{:.0}", 1e9 * width / p50));
    cells
}

fn factors(one: &Measured) -> Vec<String> {
    let Measured { core, batches, .. } = one;
    let width = f64::from(batches.width());
    let gpu = 1e9 / batches.overlapped_per_s().point();
    let cpu = batches.median_ns(|done| done.cpu).point() / width;
    let (openssl, lanes) = (core.openssl.point(), core.lanes.point());
    let mut cells = vec![name(one)];
    cells.extend([gpu, openssl, lanes].map(|ns| rate(1e9 / ns)));
    cells.extend([openssl, lanes].map(|ns| rate(ns / gpu)));
    cells.extend([cpu, lanes - cpu].map(|ns| format!("{:.2}", ns / 1e3)));
    cells.push(or_dash(batches.per_joule(), |per_joule| rate(per_joule.point())));
    cells.push(or_dash(batches.median_clock_mhz(), |mhz| format!("{mhz:.0}")));
    cells
}

#[cfg(test)]
mod tests {
    use tollgate_cuda::Size;
    use tollgate_record::Estimate;

    use super::super::Core;
    use super::super::batches::Batches;
    use super::*;

    fn measured() -> Measured {
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
        let overlapped = times.clone();
        let per_s = vec![4000.0, 5000.0, 6000.0];
        let batches = Batches { times, overlapped, per_s, compared: 400, ..Batches::default() };
        Measured { size: Size::Rsa2048, core, batches }
    }

    #[test]
    fn a_row_has_medians_and_the_rate_of_the_median_batch() {
        let expected = [
            "RSA-2048", "100", "1.000", "14.000", "2.000", "3.000", "20.000", "100.000", "10.00",
            "5000",
        ];
        assert_eq!(batches(&measured()), expected);
    }

    #[test]
    fn factors_are_those_of_one_core() {
        let unknown =
            ["RSA-2048", "5.00k", "500", "2.00k", "10.0", "2.50", "10.00", "490.00", "-", "-"];
        assert_eq!(factors(&measured()), unknown);
        let mut known = measured();
        known.batches.operations_per_joule = vec![1900.0, 2000.0, 2100.0];
        known.batches.clock_mhz = vec![1980, 1980, 1215];
        assert_eq!(factors(&known)[8..], ["2.00k", "1980"]);
    }
}
