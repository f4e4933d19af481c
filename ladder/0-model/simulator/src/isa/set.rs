//! The instructions that a machine has: tables side by side, none of whose words mean two things.

use core::fmt;

use super::instruction::Instruction;
use super::row::Row;
use super::{accumulate, sparc};

/// Tables that do not overlap.
#[derive(Clone, Debug)]
pub struct InstructionSet {
    rows: Vec<&'static Row>,
    /// Rows by `op`, `op2` or `op3`, so that a word is compared with few.
    shelves: Vec<Vec<&'static Row>>,
}

impl InstructionSet {
    /// SPARC V8, and nothing else.
    ///
    /// # Panics
    ///
    /// Never: a test says that its rows do not overlap.
    #[must_use]
    pub fn sparc() -> Self {
        Self::new(&[sparc::ROWS]).expect("a test says that its rows do not overlap")
    }

    /// SPARC V8 with the multiply-accumulate extension.
    ///
    /// # Panics
    ///
    /// Never: a test says that their rows do not overlap.
    #[must_use]
    pub fn with_accumulator() -> Self {
        let tables = [sparc::ROWS, accumulate::ROWS];
        Self::new(&tables).expect("a test says that their rows do not overlap")
    }

    /// Tables side by side.
    ///
    /// # Errors
    ///
    /// [`Overlap`], if some word would have two rows.
    pub fn new(tables: &[&'static [Row]]) -> Result<Self, Overlap> {
        let rows: Vec<&'static Row> = tables.iter().copied().flatten().collect();
        for (i, row) in rows.iter().enumerate() {
            let both = |other: &&&Row| (row.bits ^ other.bits) & row.mask & other.mask == 0;
            if let Some(other) = rows[..i].iter().find(both) {
                return Err(Overlap { first: other.name, second: row.name });
            }
        }
        let mut shelves = vec![Vec::new(); SHELVES];
        for &row in &rows {
            let on = |&number: &usize| (representative(number) ^ row.bits) & row.mask & SHELF == 0;
            (0..SHELVES).filter(on).for_each(|number| shelves[number].push(row));
        }
        Ok(Self { rows, shelves })
    }

    /// Every row.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> {
        self.rows.iter().copied()
    }

    /// The instruction that a word is, if it is one.
    #[must_use]
    pub fn decode(&self, word: u32) -> Option<Instruction> {
        let row = self.shelves[shelf(word)].iter().find(|row| word & row.mask == row.bits)?;
        Instruction::read(row, word)
    }
}

/// The bits that choose a shelf: `op` and `op3`, of which `op2` is a part.
const SHELF: u32 = 0xc1f8_0000;
const SHELVES: usize = 1 << 8;

fn shelf(word: u32) -> usize {
    ((word >> 24) & 0xc0 | (word >> 19) & 0x3f) as usize
}

/// The bits of a shelf.
fn representative(shelf: usize) -> u32 {
    let shelf = u32::try_from(shelf).expect("shelves are few");
    (shelf & 0xc0) << 24 | (shelf & 0x3f) << 19
}

/// Two rows have a word in common. Fixed by who wrote the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    first: &'static str,
    second: &'static str,
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a word would be both {} and {}; change the encoding of one, or leave its table out",
            self.first, self.second
        )
    }
}

impl core::error::Error for Overlap {}
