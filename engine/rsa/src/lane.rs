//! Copies between one number and its lane of rows.

use tollgate_mont::{Digit, Row, Scalar, Word};
use zeroize::Zeroize;

/// Writes a lane of a number to `digits`, which become clean.
pub(crate) fn store_digits(digits: &mut [Digit], rows: &[Row], lane: usize) {
    for (digit, row) in digits.iter_mut().zip(rows) {
        *digit = Digit::from_bits(row.lane(lane));
    }
}

/// Bytes of two digits.
const TWO: usize = 2 * Digit::BITS / 8;

/// Writes a big-endian number to a lane, zero-extended or cut to the rows.
pub(crate) fn load_bytes(rows: &mut [Row], lane: usize, bytes: &[u8]) {
    let mut rows = rows.iter_mut();
    let mut put = |two: &[u8; TWO]| {
        let (low, high) = (two.last_chunk().expect("13 bytes"), two.first_chunk().expect("13"));
        let [low, high] = [low, high].map(|eight| u64::from_be_bytes(*eight));
        for bits in [low, high >> (64 - Digit::BITS)] {
            if let Some(row) = rows.next() {
                row.set_lane(lane, Digit::from_bits(bits).bits());
            }
        }
    };
    let (rest, whole) = bytes.as_rchunks();
    whole.iter().rev().for_each(&mut put);
    let mut top = [0; TWO];
    top[TWO - rest.len()..].copy_from_slice(rest);
    put(&top);
    top.zeroize();
    rows.for_each(|row| row.set_lane(lane, 0));
}

/// Writes a lane to big-endian bytes, cut to their length. Its digits must be clean.
pub(crate) fn store_bytes(bytes: &mut [u8], rows: &[Row], lane: usize) {
    let mut rows = rows.iter().map(|row| row.lane(lane));
    let mut two = || {
        let [low, high] = [rows.next(), rows.next()].map(Option::unwrap_or_default);
        (u128::from(low) | u128::from(high) << Digit::BITS).to_be_bytes()
    };
    let (rest, whole) = bytes.as_rchunks_mut::<TWO>();
    whole.iter_mut().rev().for_each(|bytes| bytes.copy_from_slice(&two()[16 - TWO..]));
    rest.copy_from_slice(&two()[16 - rest.len()..]);
}

#[cfg(test)]
mod tests {
    use tollgate_mont::LANES;

    use super::*;

    #[test]
    fn bytes_go_into_a_lane_and_back() {
        let mut rng = fastrand::Rng::with_seed(14);
        for size in [1usize, 6, 7, 8, 13, 64, 127, 128, 129, 256, 1024] {
            let bytes: Vec<u8> = (0..size).map(|_| rng.u8(..)).collect();
            let k = (8 * size + 6).div_ceil(Digit::BITS) + 2; // two digits beyond the number
            let (mut rows, mut limbs) = (vec![Row([7; LANES]); k], vec![0; size.div_ceil(8)]);
            load_bytes(&mut rows, 5, &bytes);
            crate::key::from_bytes(&mut limbs, &bytes);
            let mut digits = vec![Digit::default(); k];
            Digit::pack(&mut digits, &limbs);
            for (row, digit) in rows.iter().zip(&digits) {
                let mut right = [7; LANES];
                right[5] = digit.bits();
                assert!(*row == Row(right), "{size} bytes");
            }
            let mut back = vec![0; size];
            store_bytes(&mut back, &rows, 5);
            assert_eq!(back, bytes);
            // fewer rows than the bytes need, then more rows than they need
            let few = k.saturating_sub(4);
            let mut cut = rows[..few].to_vec();
            load_bytes(&mut cut, 5, &bytes);
            assert!(cut == rows[..few], "{size} bytes, cut");
            store_bytes(&mut back, &cut, 5);
            crate::key::from_bytes(&mut limbs, &back);
            Digit::pack(&mut digits, &limbs);
            assert!(digits[few..].iter().all(|digit| *digit == Digit(0)), "{size} bytes, cut");
            for (row, digit) in cut.iter().zip(&digits) {
                assert_eq!(row.lane(5), digit.bits(), "{size} bytes, cut");
            }
        }
    }
}
