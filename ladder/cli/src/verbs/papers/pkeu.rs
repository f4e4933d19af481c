//! The operations of the execution unit of 2005, measured here.

use tollgate_record::Record;

use crate::error::CliError;
use crate::options::values::defaults;
use crate::progress::Progress;
use crate::run::Run;
use crate::verbs::speed::{self, Against, Exponent, LineupOptions, Speed};

/// Sizes of the moduli.
const SIZES: [u32; 3] = [512, 1024, 2048];

/// An exponent of 3 bits for the rows with a short exponent; the paper gives no value.
const SHORT_EXPONENT: u64 = 7;

/// Measures private operations without CRT and public operations with a short exponent.
pub(super) fn collect(seconds: f64, run: &mut Run) -> Result<Vec<Record>, CliError> {
    let _progress = Progress::new("pkeu");
    let mut records = Vec::new();
    for exponent in [Exponent::Full, Exponent::Public(SHORT_EXPONENT)] {
        let options = Speed {
            lineup: LineupOptions { against: vec![Against::None], batch: 1 },
            bits: SIZES.to_vec(),
            exponent: Some(exponent),
            seconds: Some(seconds),
            ..defaults()
        };
        records.extend(speed::collect(&options, &records, run)?);
    }
    Ok(records)
}
