//! The time of a batch of private-key operations.

use std::time::Instant;

use tollgate_bench::median;
use tollgate_queue::{Class, Lanes, PrivateJob, Request, Unit as _, Work};
use tollgate_rsa::Hash;
use tollgate_server::KeyKind;

use crate::error::CliError;
use crate::keys::{Key, SIZES};

/// Batches of each size that are measured. Eight sizes take about 0.1 s with RSA-2048.
const SAMPLES: usize = 41;

/// Returns the times of a batch of one signature, of two, and so on up to the width of the engine's
/// lanes, in nanoseconds. Empty if the engine runs no batches with such a key, or there is no
/// built-in one.
pub(super) fn times(key: KeyKind) -> Result<Vec<f64>, CliError> {
    let KeyKind::Rsa { bits } = key else { return Ok(Vec::new()) };
    let mut lanes = Lanes::new(0)?;
    let width = lanes.width(Class(bits.into()));
    if width < 2 || !SIZES.contains(&bits) {
        return Ok(Vec::new());
    }
    let key = Key::built_in(bits)?;
    (1..=width).map(|size| time(&mut lanes, &key, size)).collect()
}

fn time(lanes: &mut Lanes, key: &Key, size: usize) -> Result<f64, CliError> {
    let samples: Result<Vec<f64>, CliError> =
        (0..SAMPLES).map(|_| sample(lanes, key, size)).collect();
    Ok(median(&samples?))
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
    use crate::cells::float;

    #[test]
    fn a_batch_costs_less_than_its_operations_alone() {
        let times = times(KeyKind::Rsa { bits: 1024 }).unwrap();
        let Some((alone, all)) = times.first().zip(times.last()) else { return };
        let operations = float(times.len() as u64);
        assert!(*all / operations < *alone, "{times:?}");
        assert!(*alone > 0.0 && *all > 0.0, "{times:?}");
    }

    #[test]
    fn only_rsa_has_batches() {
        assert_eq!(times(KeyKind::EcdsaP384).unwrap(), [0.0; 0]);
    }
}
