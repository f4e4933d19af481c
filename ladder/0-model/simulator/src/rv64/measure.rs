//! A product, run once.

use super::execute::{Core, Run, Stopped};
use super::product::Product;
use crate::routines::{Inputs, Number};

/// More than any product takes: 128 words, 128^2 * 20.
const LIMIT: u64 = 1_000_000;

/// A product that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// What was counted.
    pub run: Run,
    /// What it computed: a word of 64 bits more than the modulus, below twice the modulus.
    pub result: Number,
}

impl Product {
    /// Runs it once.
    ///
    /// # Errors
    ///
    /// [`Stopped`], if it is wrong.
    ///
    /// # Panics
    ///
    /// If the inputs have another size than it.
    pub fn measure(&self, Inputs { a, b, p }: &Inputs) -> Result<Measured, Stopped> {
        let bytes = 8 * self.words() as usize;
        let data = (4 * self.code().len()).next_multiple_of(8);
        let mut core = Core::new(&self.source().tables(), self.code(), data + 4 * bytes + 8);
        for (i, number) in [a, b, p].into_iter().enumerate() {
            let all: Vec<u8> = number.words().iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(all.len(), bytes, "numbers have the product's words");
            let at = data + bytes * i;
            core.memory[at..at + bytes].copy_from_slice(&all);
            core.registers[10 + i] = at as u64;
        }
        let result = data + 3 * bytes;
        (core.registers[13], core.registers[14]) = (result as u64, result as u64);
        core.registers[15] = n0(p);
        let run = core.run(LIMIT)?;
        let words = core.memory[result..result + bytes + 8].chunks_exact(4);
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &b| word << 8 | u32::from(b));
        Ok(Measured { run, result: Number::new(words.map(word).collect()) })
    }
}

/// -1/p mod 2^64.
fn n0(p: &Number) -> u64 {
    let lowest = p.words()[..2].iter().rev().fold(0, |limb, &word| limb << 32 | u64::from(word));
    // Each step doubles the bits that are right: 3, 6, 12, 24, 48, 96.
    let step = |x: u64, _| x.wrapping_mul(2_u64.wrapping_sub(lowest.wrapping_mul(x)));
    (0..5).fold(lowest, step).wrapping_neg()
}
