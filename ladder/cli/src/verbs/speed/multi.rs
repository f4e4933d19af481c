//! `tollgate speed --multi N`: the sum of the rates of threads that all run the same operation.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use core::time::Duration;
use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::Instant;

use tollgate_bench::median_estimate;
use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Topic, Unit};
use tollgate_report::grid::{Column, grid};

use super::Speed;
use super::rows::rows;
use crate::cells::{self, float};
use crate::error::CliError;
use crate::figures::Figures;
use crate::interrupt;
use crate::progress;
use crate::run::{Notes, Run};

/// The number of time slices of each contender; the contenders take turns.
const SLICES: u32 = 6;

/// The share of a slice in which threads run, but are not counted.
const WARM_UP: f64 = 0.2;

const COLUMNS: [Column; 5] = [
    Column::words("operation", 26),
    Column::words("by", 14),
    Column::figures("threads", 7),
    Column::figures("sum per s", 9),
    Column::figures("per thread", 10),
];

/// Measures every row with `threads` threads; after Ctrl-C, returns the completed rows.
pub(super) fn collect(
    options: &Speed,
    (threads, seconds): (u32, f64),
    run: &mut Run,
) -> Result<Vec<Record>, CliError> {
    let rows = rows(options)?.into_iter().enumerate();
    let rows = rows.map(|(number, row)| (row.label(), (number, row))).collect();
    run.rows(seconds, rows, |run, _, (number, row)| {
        let contenders = row.lineup(&options.lineup, &mut run.notes)?;
        let count = u32::try_from(contenders.len()).unwrap_or(u32::MAX).max(1);
        let slice = Duration::from_secs_f64(seconds / f64::from(count * SLICES));
        let Some(rates) = rates(options, (number, contenders.len()), threads, slice)? else {
            return Ok(None);
        };
        let figures = Figures::of_row(&run.host, seconds).with([(word::THREADS, threads)]);
        let mut found = Vec::new();
        for (contender, rates) in contenders.iter().zip(&rates) {
            let subject = row.subject(contender)?.with(word::THREADS, threads)?;
            let rate = median_estimate(rates)
                .ok_or_else(|| error!("too little time to measure: raise --seconds"))?;
            found.push(figures.measured(&subject, word::OPERATIONS_PER_S, Unit::PerSecond, rate));
        }
        Ok(Some(found))
    })
}

/// The place of a contender that ends the threads.
const NONE_LEFT: usize = usize::MAX;

/// Returns the operations per second of all threads together, by contender and slice; `None` after
/// Ctrl-C. Each thread makes its own keys and contenders, which cannot move between threads.
fn rates(
    options: &Speed,
    (row, contenders): (usize, usize),
    threads: u32,
    slice: Duration,
) -> Result<Option<Vec<Vec<f64>>>, CliError> {
    let count = usize::try_from(threads).unwrap_or(usize::MAX);
    // All threads pass it before and after each slice, also after an error. It has a barrier once
    // all have started, and none if one could not.
    let (gate, stop) = (OnceLock::<Option<Barrier>>::new(), AtomicBool::new(false));
    let (place, operations) = (AtomicUsize::new(0), AtomicU64::new(0));
    let work = || -> Result<(), CliError> {
        let prepared = rows(options).and_then(|mut rows| {
            rows.swap_remove(row).lineup(&options.lineup, &mut Notes::default())
        });
        let (mut all, mut result) = match prepared {
            Ok(all) => (all, Ok(())),
            Err(error) => (Vec::new(), Err(error)),
        };
        let Some(gate) = gate.wait().as_ref() else { return result };
        loop {
            gate.wait();
            let place = place.load(Relaxed);
            if place == NONE_LEFT {
                return result;
            }
            while let (false, Some(contender)) = (stop.load(Relaxed), all.get_mut(place)) {
                if let Err(error) = (contender.run)() {
                    (all, result) = (Vec::new(), Err(error));
                    break;
                }
                operations.fetch_add(u64::from(contender.batch.unwrap_or(1)), Relaxed);
            }
            gate.wait();
        }
    };
    thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, work);
        let running = (0..threads).map(spawn).collect::<Result<Vec<_>, _>>().map_err(|why| {
            gate.get_or_init(|| None);
            error!("--multi {threads}: a thread cannot start ({why}): use fewer threads")
        })?;
        let gate = gate.get_or_init(|| Some(Barrier::new(count + 1))).as_ref().expect("it is set");
        let mut rates = vec![Vec::new(); contenders];
        let turns = (0..SLICES).flat_map(|turn| (0..contenders).map(move |at| (turn, at)));
        for (turn, at) in turns.take_while(|_| !interrupt::asked()) {
            stop.store(false, Relaxed);
            place.store(at, Relaxed);
            gate.wait();
            thread::sleep(slice.mul_f64(WARM_UP));
            let (begun, before) = (Instant::now(), operations.load(Relaxed));
            thread::sleep(slice.mul_f64(1.0 - WARM_UP));
            let (after, elapsed) = (operations.load(Relaxed), begun.elapsed());
            stop.store(true, Relaxed);
            gate.wait();
            rates[at].push(float(after - before) / elapsed.as_secs_f64());
            progress::part(f64::from(turn + 1) / f64::from(SLICES));
        }
        place.store(NONE_LEFT, Relaxed);
        gate.wait();
        for thread in running {
            thread.join().expect("workers do not panic")?;
        }
        Ok((!interrupt::asked()).then_some(rates))
    })
}

pub(super) fn table(records: &[Record]) -> String {
    let row = |record: &Record| {
        let subject = &record.subject;
        let operation = match subject.topic() {
            Topic::Operation { key, operation } => format!("{key} {operation}"),
            other => other.to_string(),
        };
        let by = subject.parameter(word::BY).unwrap_or_default();
        let by = match subject.parameter(word::BATCH) {
            Some(batch) => format!("{by} x{batch}"),
            None => by.to_owned(),
        };
        let threads = subject.parameter(word::THREADS).unwrap_or("1");
        let sum = record.estimate.point();
        let each = sum / threads.parse::<f64>().unwrap_or(1.0);
        vec![operation, by, threads.to_owned(), cells::rate(sum), cells::rate(each)]
    };
    grid(&COLUMNS, records.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::values::defaults;

    #[test]
    fn two_threads_have_a_sum() {
        let options = Speed { bits: vec![512], ..defaults() };
        let mut run = Run::new(None).unwrap();
        let records = collect(&options, (2, 0.5), &mut run).unwrap();
        assert!(records.iter().all(|record| record.subject.parameter(word::THREADS) == Some("2")));
        let table = table(&records);
        assert!(table.contains("rsa-512 sign") && table.contains("openssl"), "{table}");
    }
}
