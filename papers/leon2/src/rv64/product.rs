//! A Montgomery product by columns for RV64, fully unrolled, without its final subtraction.
//!
//! A multiply-accumulate into three words is the published sequence: two loads, then eight base
//! instructions or four of the extension. The columns are those of the SPARC routine ([`Columns`]).

use super::execute::{Core, Run, Stopped};
use super::row::{BASE, Form, Operands, PRODUCTS, Row, encode};
use crate::routines::{Columns, Inputs, Number};

/// The instructions of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// RV64IM.
    Base,
    /// RV64IM with the extension.
    Extended,
}

impl Source {
    /// Returns its instruction tables.
    pub fn tables(self) -> Vec<&'static [Row]> {
        match self {
            Self::Base => vec![BASE],
            Self::Extended => vec![BASE, PRODUCTS],
        }
    }
}

/// The code of a product for moduli of n words of 64 bits; it ends with `ecall`.
///
/// `a0` to `a4` are the addresses of a, b, p, of n words for m, and of the result of n + 1 words,
/// which may be at m; `a5` is -1/p mod 2^64.
#[derive(Clone, Debug)]
pub struct Product {
    code: Vec<u32>,
    source: Source,
    words: u32,
}

/// The counts and the result of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductRun {
    /// The counts.
    pub run: Run,
    /// The result: below twice the modulus, one word of 64 bits longer.
    pub result: Number,
}

/// The limit of instructions; 128 words take 128^2 * 20.
const LIMIT: u64 = 1_000_000;

const A: u8 = 10;
const B: u8 = 11;
const P: u8 = 12;
const M: u8 = 13;
const Z: u8 = 14;
const N0: u8 = 15;
/// Temporary registers.
const X: u8 = 5;
const Y: u8 = 6;
const LOW: u8 = 7;
const HIGH: u8 = 28;
/// The accumulator, lowest word first.
const T: [u8; 3] = [29, 30, 31];

impl Product {
    /// Generates the code.
    ///
    /// # Panics
    ///
    /// If `words` is not from 1 to 128.
    #[must_use]
    pub fn new(source: Source, words: u32) -> Self {
        assert!((1..=128).contains(&words), "moduli have 1 to 128 words");
        let mut this = Self { code: Vec::new(), source, words };
        for register in T {
            this.add("addi", register, 0, 0);
        }
        this.columns(words);
        this.emit("ecall", Operands::default());
        this
    }

    /// Returns its code.
    pub fn code(&self) -> &[u32] {
        &self.code
    }

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
        let bytes = 8 * self.words as usize;
        let data = (4 * self.code.len()).next_multiple_of(8);
        let mut core = Core::new(&self.source.tables(), &self.code, data + 4 * bytes + 8);
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

    fn add_product(&mut self, a: u8, i: u32, b: u8, j: u32) {
        self.load(X, a, i);
        self.load(Y, b, j);
        self.accumulate();
    }

    /// t := t + x y, in three words.
    fn accumulate(&mut self) {
        let [t0, t1, t2] = T;
        match self.source {
            Source::Base => {
                self.register("mulhu", HIGH, X, Y);
                self.register("mul", LOW, X, Y);
                self.register("add", t0, t0, LOW);
                self.register("sltu", LOW, t0, LOW);
                // Does not overflow: an upper half is at most 2^64 - 2.
                self.register("add", HIGH, HIGH, LOW);
                self.register("add", t1, t1, HIGH);
                self.register("sltu", HIGH, t1, HIGH);
                self.register("add", t2, t2, HIGH);
            }
            Source::Extended => {
                let three = |rs3| Operands { rd: 0, rs1: X, rs2: Y, rs3, constant: 0 };
                self.emit("maddhu", Operands { rd: HIGH, ..three(t0) });
                self.emit("maddlu", Operands { rd: t0, ..three(t0) });
                let carry = Operands { rd: t2, rs1: t1, rs2: HIGH, rs3: t2, constant: 0 };
                self.emit("cadd", carry);
                self.register("add", t1, t1, HIGH);
            }
        }
    }

    fn shift(&mut self) {
        let [t0, t1, t2] = T;
        self.add("addi", t0, t1, 0);
        self.add("addi", t1, t2, 0);
        self.add("addi", t2, 0, 0);
    }

    fn load(&mut self, rd: u8, base: u8, word: u32) {
        self.add("ld", rd, base, offset(word));
    }

    fn store(&mut self, rs2: u8, base: u8, word: u32) {
        let constant = offset(word);
        self.emit("sd", Operands { rs1: base, rs2, constant, ..Operands::default() });
    }

    fn register(&mut self, name: &str, rd: u8, rs1: u8, rs2: u8) {
        self.emit(name, Operands { rd, rs1, rs2, ..Operands::default() });
    }

    fn add(&mut self, name: &str, rd: u8, rs1: u8, constant: i32) {
        self.emit(name, Operands { rd, rs1, constant, ..Operands::default() });
    }

    fn emit(&mut self, name: &str, operands: Operands) {
        let mut rows = self.source.tables().into_iter().flatten();
        let row =
            rows.find(|row| row.name == name).expect("the tables have every instruction used here");
        debug_assert!(row.form != Form::R4 || self.source == Source::Extended, "of the extension");
        self.code.push(encode(row, operands).expect("offsets of 129 words fit"));
    }
}

impl Columns for Product {
    fn pair(&mut self, j: u32, k: u32) {
        self.add_product(A, j, B, k);
        self.add_product(M, j, P, k);
    }

    fn quotient(&mut self, i: u32) {
        self.add_product(A, i, B, 0);
        self.register("mul", X, T[0], N0);
        self.store(X, M, i);
        self.load(Y, P, 0);
        self.accumulate();
        self.shift();
    }

    fn result_word(&mut self, word: u32) {
        self.store(T[0], Z, word);
        self.shift();
    }

    fn last_words(&mut self, word: u32) {
        self.store(T[0], Z, word);
        self.store(T[1], Z, word + 1);
    }
}

fn offset(word: u32) -> i32 {
    i32::try_from(8 * word).expect("few words")
}
