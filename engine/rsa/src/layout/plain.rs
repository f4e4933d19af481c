//! Plain numbers in words and in bytes, and the words of stored blinding pairs.

use tollgate_mont::{Digit, Place, Row, Scalar, Word};
use zeroize::{DefaultIsZeroes, Zeroize};

use crate::material::load_digits;
use crate::natural::{from_bytes, to_bytes};

/// Words of plain numbers.
pub(crate) trait Plain: Word {
    /// Reads a big-endian number into a lane, zero-extended or cut.
    fn read(words: &mut [Self], lane: usize, bytes: &[u8]);

    /// Writes a lane as a big-endian number, cut to the length of `bytes`. The words must be clean.
    fn write(bytes: &mut [u8], words: &[Self], lane: usize);
}

impl Plain for u64 {
    fn read(limbs: &mut [Self], _one: usize, bytes: &[u8]) {
        from_bytes(limbs, bytes);
    }

    fn write(bytes: &mut [u8], limbs: &[Self], _one: usize) {
        to_bytes(bytes, limbs);
    }
}

/// The length of two digits in bytes.
const TWO: usize = 2 * Digit::BITS / 8;

impl Plain for Row {
    fn read(rows: &mut [Self], lane: usize, bytes: &[u8]) {
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

    fn write(bytes: &mut [u8], rows: &[Self], lane: usize) {
        let mut rows = rows.iter().map(|row| row.lane(lane));
        let mut two = || {
            let [low, high] = [rows.next(), rows.next()].map(Option::unwrap_or_default);
            (u128::from(low) | u128::from(high) << Digit::BITS).to_be_bytes()
        };
        let (rest, whole) = bytes.as_rchunks_mut::<TWO>();
        whole.iter_mut().rev().for_each(|bytes| bytes.copy_from_slice(&two()[16 - TWO..]));
        rest.copy_from_slice(&two()[16 - rest.len()..]);
    }
}

/// Words of stored blinding pairs, for a kernel on words `W`.
pub(crate) trait Stored<W>: DefaultIsZeroes {
    /// Copies a stored number into a lane.
    fn load(words: &mut [W], lane: usize, stored: &[Self]);

    /// Copies a lane into a stored number.
    fn store(stored: &mut [Self], words: &[W], lane: usize);
}

/// Words that are one number each are stored as they are.
impl<W: Word> Stored<W> for W {
    fn load(words: &mut [W], _one: usize, stored: &[Self]) {
        words.copy_from_slice(stored);
    }

    fn store(stored: &mut [Self], words: &[W], _one: usize) {
        stored.copy_from_slice(words);
    }
}

/// A lane is stored as its digits.
impl Stored<Row> for Digit {
    fn load(rows: &mut [Row], lane: usize, digits: &[Self]) {
        load_digits(rows, Place::Lane(lane), digits);
    }

    fn store(digits: &mut [Self], rows: &[Row], lane: usize) {
        for (digit, row) in digits.iter_mut().zip(rows) {
            *digit = Self::from_bits(row.lane(lane)); // clean
        }
    }
}
