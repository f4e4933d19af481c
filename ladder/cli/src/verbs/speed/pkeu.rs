//! The published times of a public-key execution unit of 2005, as records.

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Key, Operation, Record, Subject, Topic, Unit};

use crate::error::CliError;
use crate::figures::Figures;

const SOURCE: &str = "Freescale Semiconductor, Understanding Public-Key Performance, rev. 0, white \
                      paper PublicKeyPerfWP, February 2005: milliseconds per operation in the \
                      public-key execution unit, operands loaded to DONE; CPU, data movement and \
                      protocol excluded";

/// Clocks of the paper's columns, in MHz.
pub(crate) const CLOCKS_MHZ: [u32; 8] = [33, 50, 66, 83, 100, 133, 166, 333];

/// The paper's rows: bits of the modulus, bits of the exponent, milliseconds at each clock.
const TIMES_MS: [(u32, u32, [f64; 8]); 6] = [
    (512, 512, [8.09, 5.34, 4.05, 3.22, 2.67, 2.01, 1.61, 0.80]),
    (512, 3, [0.43, 0.29, 0.22, 0.17, 0.14, 0.11, 0.09, 0.04]),
    (1024, 1024, [54.71, 36.11, 27.35, 21.75, 18.05, 13.57, 10.88, 5.42]),
    (1024, 3, [1.48, 0.97, 0.74, 0.59, 0.49, 0.37, 0.29, 0.15]),
    (2048, 2048, [406.50, 268.29, 203.25, 161.62, 134.14, 100.86, 80.81, 40.28]),
    (2048, 3, [5.40, 3.56, 2.70, 2.15, 1.78, 1.34, 1.07, 0.53]),
];

/// Core cycles of the paper's rows, in the order of the paper. The paper does not print cycles;
/// each value is the middle of the range that the rounding of the eight columns allows.
const CYCLES: [f64; 6] = [267_050.0, 14_300.0, 1_805_350.0, 48_715.0, 13_414_400.0, 178_100.0];

/// Returns bits of modulus and exponent, cycles, and the printed milliseconds at the lowest clock.
pub(crate) fn decoded() -> impl Iterator<Item = (u32, u32, f64, f64)> {
    let rows = TIMES_MS.into_iter().zip(CYCLES);
    rows.map(|((bits, exponent_bits, times), cycles)| (bits, exponent_bits, cycles, times[0]))
}

/// Sizes of the moduli, in the paper's order.
pub(crate) const SIZES: [u32; 3] = [512, 1024, 2048];

/// The exponent of 3 bits for the paper's rows with a short exponent; the paper gives no value.
pub(crate) const SHORT_EXPONENT: u64 = 7;

pub(crate) fn published(figures: &Figures<'_>) -> Result<Vec<Record>, CliError> {
    let mut records = Vec::new();
    for (bits, exponent_bits, times) in TIMES_MS {
        let (operation, exponent) = if exponent_bits == bits {
            (Operation::Private, word::FULL.to_owned())
        } else {
            (Operation::Public, SHORT_EXPONENT.to_string())
        };
        for (clock, ms) in CLOCKS_MHZ.into_iter().zip(times) {
            let topic = Topic::Operation { key: Key::Rsa(bits), operation: operation.clone() };
            let subject = Subject::new(topic)
                .and_then(|bare| bare.with(word::BY, "pkeu")?.with(word::CLOCK_MHZ, clock))
                .and_then(|at_clock| at_clock.with(word::EXPONENT, &exponent))?;
            let estimate = Estimate::exact(ms * 1e6)?;
            let about = ("Freescale public-key execution unit", SOURCE);
            let figure = (Unit::Nanos, estimate);
            records.push(figures.published(&subject, word::NS_PER_OPERATION, figure, about));
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_counts_of_cycles_give_all_48_cells() {
        for ((bits, exponent_bits, times), cycles) in TIMES_MS.into_iter().zip(CYCLES) {
            for (clock, ms) in CLOCKS_MHZ.into_iter().zip(times) {
                let off = (cycles / (f64::from(clock) * 1e3) - ms).abs();
                assert!(off <= 0.005 + 1e-9, "{bits}/{exponent_bits} at {clock} MHz: {off}");
            }
        }
    }

    /// Assumes 1.5 products per bit of the exponent, and one cycle per product of 32-bit words.
    #[test]
    fn cycles_per_exponent_bit_follow_one_formula() {
        for (rows, bits) in CYCLES.chunks(2).zip(SIZES) {
            let per_bit = (rows[0] - rows[1]) / f64::from(bits - 3);
            let n = f64::from(bits / 32);
            assert!((per_bit - 1.5 * (n * n + 3.0 * n + 27.0)).abs() < 0.2, "{bits}: {per_bit}");
        }
    }

    /// Each row is one cycle count, divided by the clock and rounded to two decimals. If any of the
    /// 48 cells had a typing error, no cycle count would fit its row.
    #[test]
    fn each_row_is_one_count_of_cycles() {
        for (bits, exponent_bits, times) in TIMES_MS {
            let (mut low, mut high) = (0.0_f64, f64::INFINITY);
            for (clock, ms) in CLOCKS_MHZ.into_iter().zip(times) {
                let per_ms = f64::from(clock) * 1e3;
                low = low.max((ms - 0.005) * per_ms);
                high = high.min((ms + 0.005) * per_ms);
            }
            assert!(low <= high, "{bits}/{exponent_bits}: {low} to {high} cycles");
            assert!(SIZES.contains(&bits));
        }
    }
}
