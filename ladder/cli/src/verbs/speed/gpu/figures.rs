//! The figures of batches, and their records.

use core::time::Duration;

use tollgate_cuda::{Done, Meter};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Key, Operation, Quantity, Record, Subject, Topic, Unit as In};

use super::batches::{Batches, whole};
use super::{Measured, Unit};
use crate::cells::float;
use crate::error::CliError;
use crate::figures::{Figures, subject};

/// Standard deviations of half an interval with 95 % confidence.
const DEVIATIONS: f64 = 1.96;

impl Batches {
    /// Returns the number of operations in a batch.
    pub(super) fn width(&self) -> u32 {
        self.times.first().map_or(1, |done| u32::try_from(done.operations).unwrap_or(u32::MAX))
    }

    /// Returns the median of a time of a batch in nanoseconds.
    pub(super) fn median_ns(&self, of: impl Fn(&Done) -> Duration) -> Estimate {
        quantile_ns(&self.times, 0.5, of)
    }

    /// Returns the clock of the device while it worked.
    pub(super) fn median_clock_mhz(&self) -> Option<f64> {
        let clocks = self.clock_mhz.iter().map(|mhz| f64::from(*mhz)).collect();
        quantile(clocks, 0.5).map(|clock| clock.point())
    }

    /// Returns the operations for a joule, from the stretches.
    pub(super) fn per_joule(&self) -> Option<Estimate> {
        quantile(self.operations_per_joule.clone(), 0.5)
    }

    /// Returns the 99th percentile of whole batches in nanoseconds.
    pub(super) fn p99_ns(&self) -> Estimate {
        quantile_ns(&self.times, 0.99, whole)
    }

    /// Returns a quantile of whole overlapped batches in nanoseconds.
    pub(super) fn overlapped_ns(&self, q: f64) -> Estimate {
        quantile_ns(&self.overlapped, q, whole)
    }

    /// Returns the operations per second of overlapped batches.
    pub(super) fn overlapped_per_s(&self) -> Estimate {
        quantile(self.per_s.clone(), 0.5).expect("there is a stretch")
    }
}

fn quantile_ns(times: &[Done], q: f64, of: impl Fn(&Done) -> Duration) -> Estimate {
    let nanos = times.iter().map(|done| 1e9 * of(done).as_secs_f64());
    quantile(nanos.collect(), q).expect("there is a batch")
}

/// Returns a quantile with its interval, from ranks: the number of values below the quantile is
/// binomial. `None` without values. A bootstrap would take long for the batches of a long run.
fn quantile(mut values: Vec<f64>, q: f64) -> Option<Estimate> {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let count = float(values.len() as u64);
    let spread = DEVIATIONS * (count * q * (1.0 - q)).sqrt();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the count")]
    let at = |rank: f64| values[(rank.max(0.0) as usize).min(last)];
    let (middle, low, high) = (count * q, count * q - spread, count * q + spread);
    let interval = (at(low.floor()), at(high.ceil()));
    Estimate::new(at(middle), interval, values.len() as u64).ok()
}

/// Returns the records of a size.
pub(super) fn records(
    unit: &Unit,
    measured: &Measured,
    figures: &Figures<'_>,
) -> Result<Vec<Record>, CliError> {
    let Measured { size, core, batches } = measured;
    let (width, meter) = (batches.width(), unit.meter.as_ref());
    let watts = meter.and_then(Meter::power_limit_mw).map(|mw| f64::from(mw) / 1e3);
    let prepared = batches.prepared.as_ref();
    let conditions = [
        (word::GPU, Some(unit.name.clone())),
        (word::GPU_CLOCK_MHZ, batches.median_clock_mhz().map(|mhz| mhz.to_string())),
        (word::GPU_DRIVER, meter.and_then(Meter::driver_version)),
        (word::GPU_POWER_LIMIT_W, watts.map(|watts| watts.to_string())),
        (
            word::GPU_NUMBERS,
            prepared.map(|prepared| format!("{:?}", prepared.numbers).to_lowercase()),
        ),
        (word::COMPARED, Some(batches.compared.to_string())),
    ];
    let known = conditions.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let figures = figures.with(known);
    let key = Key::Rsa(u32::try_from(size.bits())?);
    let topic = Topic::Operation { key, operation: Operation::Private };
    let parameters = [(word::BY, word::GPU.to_owned()), (word::BATCH, width.to_string())];
    let alone = subject(topic, parameters)?;
    let overlapped = alone.with(word::THREADS, unit.operations.len())?;
    let median = |of: fn(&Done) -> Duration| batches.median_ns(of);
    let each = |batch: Estimate| batch.scaled(1.0 / f64::from(width));
    let nanos = each(median(whole))?;
    let cpu = quantile_ns(&batches.overlapped, 0.5, |done| done.cpu);
    let measured: [(&Subject, Quantity, In, Option<Estimate>); 14] = [
        (&alone, word::NS_PER_OPERATION, In::Nanos, Some(nanos)),
        (&alone, word::OPERATIONS_PER_S, In::PerSecond, Some(nanos.inverted(1e9)?)),
        (&alone, word::LOAD_NS_PER_BATCH, In::Nanos, Some(median(|done| done.load))),
        (&alone, word::EXECUTE_NS_PER_BATCH, In::Nanos, Some(median(|done| done.execute))),
        (&alone, word::STORE_NS_PER_BATCH, In::Nanos, Some(median(|done| done.store))),
        (&alone, word::NOTIFY_NS_PER_BATCH, In::Nanos, Some(median(|done| done.notify))),
        (&alone, word::BATCH_NS_P50, In::Nanos, Some(median(whole))),
        (&alone, word::BATCH_NS_P99, In::Nanos, Some(batches.p99_ns())),
        (&alone, word::CPU_NS_PER_OPERATION, In::Nanos, Some(each(median(|done| done.cpu))?)),
        (&overlapped, word::OPERATIONS_PER_S, In::PerSecond, Some(batches.overlapped_per_s())),
        (&overlapped, word::BATCH_NS_P50, In::Nanos, Some(batches.overlapped_ns(0.5))),
        (&overlapped, word::BATCH_NS_P99, In::Nanos, Some(batches.overlapped_ns(0.99))),
        (&overlapped, word::CPU_NS_PER_OPERATION, In::Nanos, Some(each(cpu)?)),
        (&overlapped, word::OPERATIONS_PER_JOULE, In::Count, batches.per_joule()),
    ];
    let known = measured.into_iter().filter_map(|(subject, quantity, unit, estimate)| {
        Some(figures.measured(subject, quantity, unit, estimate?))
    });
    let mut records: Vec<Record> = known.collect();
    let against = overlapped.with(word::AGAINST, "openssl")?;
    let times = ratio(core.openssl, batches.overlapped_per_s().inverted(1e9)?)?;
    records.push(figures.measured(&against, word::TIMES_AS_FAST, In::Ratio, times));
    Ok(records)
}

/// Returns the quotient of two positive figures, with the widest interval.
fn ratio(above: Estimate, below: Estimate) -> Result<Estimate, CliError> {
    let ((low, high), (least, most)) = (above.interval(), below.interval());
    let samples = above.samples().min(below.samples());
    Ok(Estimate::new(above.point() / below.point(), (low / most, high / least), samples)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_has_ranks_for_its_interval() {
        let p99 = quantile((0..1000).rev().map(f64::from).collect(), 0.99).unwrap();
        assert_eq!((p99.point(), p99.interval()), (990.0, (983.0, 997.0)));
        let alone = quantile(vec![5.0], 0.99).unwrap();
        assert_eq!((alone.point(), alone.interval()), (5.0, (5.0, 5.0)));
    }

    #[test]
    fn a_ratio_has_the_widest_interval() {
        let estimate = |point, interval| Estimate::new(point, interval, 3).unwrap();
        let found = ratio(estimate(100.0, (90.0, 110.0)), estimate(2.0, (1.0, 3.0))).unwrap();
        assert_eq!(found, estimate(50.0, (30.0, 110.0)));
    }
}
