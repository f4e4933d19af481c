//! Runs a product once.

use super::execute::{Core, Run, Stopped};
use super::product::Product;
use crate::routines::{Inputs, Number};

/// The limit of instructions; 128 words take 128^2 * 20.
const LIMIT: u64 = 1_000_000;

/// The counts and the result of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductRun {
    /// The counts.
    pub run: Run,
    /// The result: below twice the modulus, one word of 64 bits longer.
    pub result: Number,
}

impl Product {
    /// Runs it once.
    ///
    /// # Errors
    ///
    /// [`Stopped`], if the generated code fails.
    ///
    /// # Panics
    ///
    /// If the inputs have another size than the product.
    pub fn measure(&self, Inputs { a, b, p }: &Inputs) -> Result<ProductRun, Stopped> {
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
        core.registers[15] = Number::n0(p);
        let run = core.run(LIMIT)?;
        let words = core.memory[result..result + bytes + 8].chunks_exact(4);
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &b| word << 8 | u32::from(b));
        Ok(ProductRun { run, result: Number::new(words.map(word).collect()) })
    }
}
