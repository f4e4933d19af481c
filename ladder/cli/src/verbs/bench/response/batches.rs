//! The time of a batch of private-key operations, measured before the runs.

use std::time::Instant;

use tollgate_bench::median;
use tollgate_queue::{Class, Lanes, PrivateJob, Request, Unit as _, Work};
use tollgate_rsa::Hash;
use tollgate_server::KeyKind;

use crate::error::CliError;
use crate::keys::Key;

/// Batches of each size that are measured. Eight sizes take about 0.1 s with RSA-2048.
const SAMPLES: usize = 41;

/// Returns the times of a batch of one signature, of two, and so on up to the width of the engine's
/// lanes, in nanoseconds. Empty if the engine runs no batches with such a key.
pub(super) fn times(key: KeyKind) -> Result<Vec<f64>, CliError> {
    let KeyKind::Rsa { bits } = key else { return Ok(Vec::new()) };
    let mut lanes = Lanes::new(0)?;
    let width = lanes.width(Class(bits.into()));
    if width < 2 {
        return Ok(Vec::new());
    }
    let key = Key::built_in(bits)?;
    let time = |size| {
        let samples: Result<Vec<f64>, CliError> =
            (0..SAMPLES).map(|_| sample(&mut lanes, &key, size)).collect();
        Ok(median(&samples?))
    };
    (1..=width).map(time).collect()
}

fn sample(lanes: &mut Lanes, key: &Key, size: usize) -> Result<f64, CliError> {
    let mut batch: Vec<Box<Request<PrivateJob>>> = (0..size).map(|_| Box::default()).collect();
    for request in &mut batch {
        let work = Work::SignPkcs1v15 { hash: Hash::Sha256 };
        request.job.load(&key.ours, work, &[7; 32])?;
    }
    let began = Instant::now();
    lanes.run(&mut batch);
    Ok(1e9 * began.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_costs_less_than_its_operations_alone() {
        let times = times(KeyKind::Rsa { bits: 1024 }).unwrap();
        let Some((alone, all)) = times.first().zip(times.last()) else { return };
        #[allow(clippy::cast_precision_loss, reason = "at most eight")]
        let operations = times.len() as f64;
        assert!(*alone > 0.0 && *all < operations * alone, "{times:?}");
    }

    #[test]
    fn only_rsa_has_batches() {
        assert_eq!(times(KeyKind::EcdsaP384).unwrap(), [0.0; 0]);
    }
}
