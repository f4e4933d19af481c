//! The instruction set of a machine: one or more tables that do not overlap.

use super::instruction::Instruction;
use super::row::Row;
use super::{accumulate, sparc};

/// One or more instruction tables that do not overlap.
#[derive(Clone, Debug)]
pub struct InstructionSet {
    rows: Vec<&'static Row>,
    /// Rows by `op`, `op2` or `op3`, so that decoding compares a word with few rows.
    buckets: Vec<Vec<&'static Row>>,
}

impl InstructionSet {
    /// Returns SPARC V8 without extensions.
    ///
    /// # Panics
    ///
    /// Never: a test checks that the rows do not overlap.
    #[must_use]
    pub fn sparc() -> Self {
        Self::new(&[sparc::ROWS]).expect("a test checks that the rows do not overlap")
    }

    /// Returns SPARC V8 with the multiply-accumulate extension.
    ///
    /// # Panics
    ///
    /// Never: a test checks that the rows do not overlap.
    #[must_use]
    pub fn with_accumulator() -> Self {
        let tables = [sparc::ROWS, accumulate::ROWS];
        Self::new(&tables).expect("a test checks that the rows do not overlap")
    }

    /// Combines tables.
    ///
    /// # Errors
    ///
    /// [`Overlap`], if a word matches two rows.
    pub fn new(tables: &[&'static [Row]]) -> Result<Self, Overlap> {
        let rows: Vec<&'static Row> = tables.iter().copied().flatten().collect();
        for (i, row) in rows.iter().enumerate() {
            let is_same = |other: &&&Row| (row.bits ^ other.bits) & row.mask & other.mask == 0;
            if let Some(other) = rows[..i].iter().find(is_same) {
                return Err(Overlap { first: other.name, second: row.name });
            }
        }
        let mut buckets = vec![Vec::new(); BUCKETS];
        for &row in &rows {
            let on = |&number: &usize| (representative(number) ^ row.bits) & row.mask & BUCKET == 0;
            (0..BUCKETS).filter(on).for_each(|number| buckets[number].push(row));
        }
        Ok(Self { rows, buckets })
    }

    /// Returns all rows.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> {
        self.rows.iter().copied()
    }

    /// Decodes a word; `None` if it is no instruction.
    pub fn decode(&self, word: u32) -> Option<Instruction> {
        let row = self.buckets[bucket(word)].iter().find(|row| word & row.mask == row.bits)?;
        Instruction::read(row, word)
    }

    /// Describes the word at an address in a message: its instruction, or "not an instruction".
    pub(crate) fn describe(&self, word: u32, address: u32) -> String {
        match self.decode(word) {
            Some(instruction) => instruction.text(address),
            None => format!("{word:#010x}, which is no instruction of this machine"),
        }
    }
}

/// The bits that choose a bucket: `op` and `op3`, which includes `op2`.
const BUCKET: u32 = 0xc1f8_0000;
const BUCKETS: usize = 1 << 8;

fn bucket(word: u32) -> usize {
    ((word >> 24) & 0xc0 | (word >> 19) & 0x3f) as usize
}

/// Returns a word of a bucket, with all other bits zero.
fn representative(bucket: usize) -> u32 {
    let bucket = u32::try_from(bucket).expect("buckets are few");
    (bucket & 0xc0) << 24 | (bucket & 0x3f) << 19
}

/// Two rows match the same word. Correct the tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a word is both {first} and {second}; change the encoding of one, or leave its table out")]
pub struct Overlap {
    first: &'static str,
    second: &'static str,
}
