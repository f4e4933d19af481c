//! A Montgomery product on RV64IM, without and with three multiply-add instructions: a modern
//! comparison with SPARC.
//!
//! The three instructions are published in the repository `scarv/rvkex`: `maddlu` and `maddhu`
//! return the lower and the upper half of a product of two words plus a third; `cadd` adds a carry.
//! The product is by columns, fully unrolled, without its final subtraction. A
//! multiply-accumulate into three words is the published sequence: two loads, then eight base
//! instructions or four of the extension. Of RV64IM there are the instructions that a product uses.
//!
//! Instructions are counted, not cycles of a processor.

use crate::routines::{Columns, Inputs, Number};

/// The instructions of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// RV64IM.
    Base,
    /// RV64IM with the extension.
    Extended,
}

/// A product for moduli of n words of 64 bits.
#[derive(Clone, Debug)]
pub struct Product {
    code: Vec<Instruction>,
    source: Source,
    words: u32,
}

/// A register's number.
type Register = usize;

/// -1/p mod 2^64.
const N0: Register = 15;
/// Temporary registers.
const X: Register = 5;
const Y: Register = 6;
const LOW: Register = 7;
const HIGH: Register = 28;
/// The accumulator, lowest word first.
const T: [Register; 3] = [29, 30, 31];

/// The number of an array of n words in memory: a, b, p; and m, whose words become the result. The
/// address of each is in a register that does not change.
type Array = usize;

const A: Array = 0;
const B: Array = 1;
const P: Array = 2;
const M: Array = 3;

/// The function of an instruction, of its three source registers.
type Compute = fn(u64, u64, u64) -> u64;

#[derive(Clone, Copy, Debug)]
enum Instruction {
    /// `rd := f(sources)`
    Compute { rd: Register, sources: [Register; 3], compute: Compute },
    /// `ld rd, word(array)`
    Load { rd: Register, array: Array, word: usize },
    /// `sd source, word(m)`
    Store { source: Register, word: usize },
}

fn high(a: u64, b: u64, c: u64) -> u64 {
    ((u128::from(a) * u128::from(b) + u128::from(c)) >> 64) as u64
}

impl Product {
    /// Generates the code.
    ///
    /// # Panics
    ///
    /// If `words` is not from 1 to 128.
    #[must_use]
    pub fn new(source: Source, words: u32) -> Self {
        assert!((1..=128).contains(&words), "moduli have 1 to 128 words");
        let mut product = Self { code: Vec::new(), source, words };
        T.into_iter().for_each(|register| product.copy(register, 0));
        product.columns(words);
        product
    }

    /// Runs it once. Returns how many instructions it executes, and the result: below twice the
    /// modulus, one word of 64 bits longer.
    ///
    /// # Panics
    ///
    /// If the inputs have another size than the product.
    pub fn measure(&self, Inputs { a, b, p }: &Inputs) -> (u64, Number) {
        let n = self.words as usize;
        let pairs = [a, b, p].into_iter().flat_map(|number| number.words().chunks_exact(2));
        let words = pairs.map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32);
        let mut memory: Vec<u64> = words.collect();
        assert_eq!(memory.len(), M * n, "numbers have the product's words");
        memory.resize(4 * n + 1, 0);
        self.run(Number::n0(p), &mut memory);
        let halves = |word: &u64| [(word & 0xffff_ffff) as u32, (word >> 32) as u32];
        let words = memory[M * n..].iter().flat_map(halves);
        // and `ecall`, which ends the program
        (self.code.len() as u64 + 1, Number::new(words.collect()))
    }

    fn run(&self, n0: u64, memory: &mut [u64]) {
        let n = self.words as usize;
        let mut registers = [0; 32];
        registers[N0] = n0;
        for instruction in &self.code {
            match *instruction {
                Instruction::Compute { rd, sources, compute } => {
                    let [a, b, c] = sources.map(|source| registers[source]);
                    registers[rd] = compute(a, b, c);
                }
                Instruction::Load { rd, array, word } => registers[rd] = memory[array * n + word],
                Instruction::Store { source, word } => memory[M * n + word] = registers[source],
            }
        }
    }

    fn add_product(&mut self, a: Array, i: u32, b: Array, j: u32) {
        self.load(X, a, i);
        self.load(Y, b, j);
        self.accumulate();
    }

    /// t := t + x y, in three words.
    fn accumulate(&mut self) {
        let [t0, t1, t2] = T;
        match self.source {
            Source::Base => {
                self.compute(HIGH, [X, Y, 0], high); // mulhu
                self.compute(LOW, [X, Y, 0], |a, b, _| a.wrapping_mul(b)); // mul
                self.add(t0, LOW);
                self.is_less(LOW, t0);
                // Does not overflow: an upper half is at most 2^64 - 2.
                self.add(HIGH, LOW);
                self.add(t1, HIGH);
                self.is_less(HIGH, t1);
                self.add(t2, HIGH);
            }
            Source::Extended => {
                self.compute(HIGH, [X, Y, t0], high); // maddhu
                self.compute(t0, [X, Y, t0], |a, b, c| a.wrapping_mul(b).wrapping_add(c)); // maddlu
                // cadd
                self.compute(t2, [t1, HIGH, t2], |a, b, c| {
                    c.wrapping_add(a.overflowing_add(b).1.into())
                });
                self.add(t1, HIGH);
            }
        }
    }

    fn shift(&mut self) {
        let [t0, t1, t2] = T;
        self.copy(t0, t1);
        self.copy(t1, t2);
        self.copy(t2, 0);
    }

    /// `addi rd, source, 0`
    fn copy(&mut self, rd: Register, source: Register) {
        self.compute(rd, [source, 0, 0], |a, _, _| a);
    }

    /// `add rd, rd, source`
    fn add(&mut self, rd: Register, source: Register) {
        self.compute(rd, [rd, source, 0], |a, b, _| a.wrapping_add(b));
    }

    /// `sltu rd, a, rd`
    fn is_less(&mut self, rd: Register, a: Register) {
        self.compute(rd, [a, rd, 0], |a, b, _| (a < b).into());
    }

    fn compute(&mut self, rd: Register, sources: [Register; 3], compute: Compute) {
        self.code.push(Instruction::Compute { rd, sources, compute });
    }

    fn load(&mut self, rd: Register, array: Array, word: u32) {
        self.code.push(Instruction::Load { rd, array, word: word as usize });
    }

    fn store(&mut self, source: Register, word: u32) {
        self.code.push(Instruction::Store { source, word: word as usize });
    }
}

impl Columns for Product {
    fn pair(&mut self, j: u32, k: u32) {
        self.add_product(A, j, B, k);
        self.add_product(M, j, P, k);
    }

    fn quotient(&mut self, i: u32) {
        self.add_product(A, i, B, 0);
        self.compute(X, [T[0], N0, 0], |a, b, _| a.wrapping_mul(b));
        self.store(X, i);
        self.load(Y, P, 0);
        self.accumulate();
        self.shift();
    }

    fn result_word(&mut self, word: u32) {
        self.store(T[0], word);
        self.shift();
    }

    fn last_words(&mut self, word: u32) {
        self.store(T[0], word);
        self.store(T[1], word + 1);
    }
}
