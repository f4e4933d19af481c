//! A core that executes RV64IM: registers, memory and counts.

use super::row::{Form, Meaning, Row, decode};

/// A core and its memory, which begins at address 0.
#[derive(Clone, Debug)]
pub struct Core {
    tables: Vec<&'static [Row]>,
    /// `x0` to `x31`.
    pub registers: [u64; 32],
    /// The address of the next instruction.
    pub pc: u64,
    /// Memory, little-endian.
    pub memory: Vec<u8>,
}

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Instructions.
    pub instructions: u64,
    /// The number of executed instructions that multiply.
    pub products: u64,
    /// The number of executed instructions that read the result of the load before them. Such an
    /// instruction waits for the load.
    pub waits: u64,
}

impl Run {
    /// Returns the slots by a simple model of an in-order core. An instruction takes one slot, and
    /// a product takes `multiply` slots. An instruction that reads the result of the load just
    /// before it takes one more slot. The model was not compared with a processor.
    pub const fn slots(&self, multiply: u64) -> u64 {
        self.instructions + self.products * (multiply - 1) + self.waits
    }
}

/// The reason why a core stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// No valid instruction, or no memory, at this address.
    #[error("at {0:#x}: no instruction of this machine")]
    NoInstruction(u64),
    /// A misaligned or missing address, and the address of the instruction.
    #[error("at {1:#x}: address {0:#x} is misaligned or has no memory")]
    BadAddress(u64, u64),
    /// The limit of instructions was reached.
    #[error("the limit of instructions was reached")]
    Limit,
}

impl Core {
    /// Creates a core with these instruction tables, this program at address 0, and `bytes` bytes
    /// of memory.
    #[must_use]
    pub fn new(tables: &[&'static [Row]], program: &[u32], bytes: usize) -> Self {
        let mut memory: Vec<u8> = program.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.resize(bytes.max(memory.len()), 0);
        Self { tables: tables.to_vec(), registers: [0; 32], pc: 0, memory }
    }

    /// Runs up to and including the next `ecall`.
    ///
    /// # Errors
    ///
    /// [`Stopped`], if an instruction fails or the limit is reached.
    pub fn run(&mut self, limit: u64) -> Result<Run, Stopped> {
        let mut run = Run::default();
        let mut loaded = 0;
        while run.instructions < limit {
            let at = self.pc;
            let word = self.read(at, 4).filter(|_| at.is_multiple_of(4));
            let word = word.and_then(|word| u32::try_from(word).ok());
            let decoded = word.and_then(|word| decode(&self.tables, word));
            let (row, o) = decoded.ok_or(Stopped::NoInstruction(at))?;
            run.instructions += 1;
            let reads = [o.rs1, o.rs2, o.rs3];
            run.waits += u64::from(loaded != 0 && reads.contains(&loaded));
            run.products += u64::from(multiplies(row));
            loaded = if matches!(row.meaning, Meaning::Load(..)) { o.rd } else { 0 };

            let [a, b, c] = reads.map(|register| self.registers[usize::from(register)]);
            let constant = i64::from(o.constant).cast_unsigned();
            let address = a.wrapping_add(constant);
            let bad = Stopped::BadAddress(address, at);
            let mut next = at.wrapping_add(4);
            let value = match row.meaning {
                Meaning::Compute(f) => Some(f(a, if row.form == Form::R { b } else { constant })),
                Meaning::Three(f) => Some(f(a, b, c)),
                Meaning::Upper => Some(constant),
                Meaning::UpperFromHere => Some(at.wrapping_add(constant)),
                Meaning::Load(bytes, sign) => {
                    let value = self.read(address, bytes).ok_or(bad)?;
                    let unused = 64 - 8 * u32::from(bytes);
                    let signed = ((value << unused).cast_signed() >> unused).cast_unsigned();
                    Some(if sign { signed } else { value })
                }
                Meaning::Store(bytes) => {
                    self.write(address, bytes, b).ok_or(bad)?;
                    None
                }
                Meaning::Branch(taken) => {
                    if taken(a, b) {
                        next = at.wrapping_add(constant);
                    }
                    None
                }
                Meaning::Jump | Meaning::JumpByRegister => {
                    let link = next;
                    let by_register = matches!(row.meaning, Meaning::JumpByRegister);
                    next = if by_register { address & !1 } else { at.wrapping_add(constant) };
                    Some(link)
                }
                Meaning::End => {
                    self.pc = next;
                    return Ok(run);
                }
            };
            if let (Some(value), 1..) = (value, o.rd) {
                self.registers[usize::from(o.rd)] = value;
            }
            self.pc = next;
        }
        Err(Stopped::Limit)
    }

    fn place(&self, address: u64, bytes: u8) -> Option<core::ops::Range<usize>> {
        let start =
            usize::try_from(address).ok().filter(|_| address.is_multiple_of(bytes.into()))?;
        let end = start.checked_add(bytes.into())?;
        (end <= self.memory.len()).then_some(start..end)
    }

    fn read(&self, address: u64, bytes: u8) -> Option<u64> {
        let place = self.place(address, bytes)?;
        Some(self.memory[place].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn write(&mut self, address: u64, bytes: u8, value: u64) -> Option<()> {
        let place = self.place(address, bytes)?;
        let count = place.len();
        self.memory[place].copy_from_slice(&value.to_le_bytes()[..count]);
        Some(())
    }
}

/// Returns whether an instruction of this row needs the multiplier.
fn multiplies(row: &Row) -> bool {
    row.name.starts_with("mul") || row.name.starts_with("madd")
}
