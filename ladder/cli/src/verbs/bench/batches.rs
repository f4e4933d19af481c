//! The time of a signature in full batches.

use std::time::Instant;

use tollgate_bench::median;
use tollgate_queue::{Class, Lanes, PrivateJob, Request, Unit as _, Work};
use tollgate_rsa::Hash;
use tollgate_server::KeyKind;

use crate::cells::float;
use crate::error::CliError;
use crate::keys::{Key, SIZES};

/// Batches that are measured.
const SAMPLES: usize = 41;

/// Returns the time of a signature in full batches of the engine, in nanoseconds. `None` if the
/// engine runs no batches with such a key, or there is no built-in one.
pub(super) fn full_ns(key: KeyKind) -> Result<Option<f64>, CliError> {
    let KeyKind::Rsa { bits } = key else { return Ok(None) };
    let mut lanes = Lanes::new(0)?;
    let width = lanes.width(Class(bits.into()));
    if width < 2 || !SIZES.contains(&bits) {
        return Ok(None);
    }
    let key = Key::built_in(bits)?;
    let samples: Result<Vec<f64>, CliError> =
        (0..SAMPLES).map(|_| sample(&mut lanes, &key, width)).collect();
    Ok(Some(median(&samples?) / float(width as u64)))
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
    fn only_rsa_has_batches() {
        assert!(full_ns(KeyKind::Rsa { bits: 1024 }).unwrap().is_none_or(|ns| ns > 0.0));
        assert_eq!(full_ns(KeyKind::EcdsaP384).unwrap(), None);
    }
}
