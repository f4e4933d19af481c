//! A whole exponentiation: conversion, table, windows, conversion.
//!
//! Windows skip zeros, as in the papers. The time therefore depends on the exponent. Do not use
//! this exponentiation with a private exponent.

use super::measure::{Counts, modulus, read, words};
use super::power::{self, END, TABLE};
use super::window::Window;
use super::{Number, Routine};
use crate::assembler::Assembler;
use crate::machine::{Ending, Failure, Machine};
use crate::timing::Timing;

/// An exponentiation.
#[derive(Clone, Copy, Debug)]
pub struct Exponentiation {
    /// The routine for products.
    pub multiply: Routine,
    /// The routine for squares, if it differs from the routine for products.
    pub square: Option<Routine>,
    /// The window: 1 to 6 bits.
    pub window: Window,
}

/// The counts and the result of an exponentiation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExponentiationRun {
    /// Counts from the first instruction to the last.
    pub counts: Counts,
    /// The size of the code in bytes.
    pub code: usize,
    /// base^exponent mod p.
    pub result: Number,
}

/// The limit of instructions. An exponentiation of 4096 bits with rolled loops takes 4 * 10^10
/// cycles if each multiplication of two words takes 35 slots.
const LIMIT: u64 = 100_000_000_000;

impl Exponentiation {
    /// Runs it; the base must be below p.
    ///
    /// # Errors
    ///
    /// [`Failure`], if the generated program traps.
    ///
    /// # Panics
    ///
    /// If the window does not have 1 to 6 bits, or the exponent is zero.
    pub fn run(
        &self,
        timing: &Timing,
        [base, exponent, p]: [&Number; 3],
    ) -> Result<ExponentiationRun, Failure> {
        assert!((1..=6).contains(&self.window.bits()), "windows have 1 to 6 bits");
        assert!(exponent.bits() > 0, "an exponent of zero has no first digit");
        let set = self.multiply.instructions();
        let source = self.source([base, exponent, p]);
        let program = Assembler::new(&set).assemble(&source).expect("tests assemble every routine");
        let mut machine = Machine::new(set, timing.clone(), &program)
            .expect("the program is small and begins with code");
        let ending = machine.run(LIMIT)?;
        assert_ne!(ending, Ending::Limit, "the limit is above every exponentiation");
        let address = |name: &str| program.symbols[name];
        Ok(ExponentiationRun {
            counts: Counts { cycles: machine.cycles(), instructions: machine.instructions() },
            code: (address("end_of_code") - address("_start")) as usize,
            result: read(&machine, address("z"), self.multiply.words()),
        })
    }

    /// Returns the size in bytes of the table of powers.
    pub fn table_bytes(&self) -> u32 {
        4 * self.multiply.words() * self.window.entries()
    }

    /// Returns the whole program.
    fn source(&self, [base, exponent, p]: [&Number; 3]) -> String {
        let count = p.words().len();
        let square = match &self.square {
            Some(routine) => format!("{}\nend_of_code:", routine.source("square")),
            None => "end_of_code:\nsquare = multiply".to_owned(),
        };
        format!(
            "odd_only = {odd_only}
             window = {bits}
             first_width = {first_width}
             entries = {entries}
             top = {top}
             size = {size}
             {TABLE}
             {windows}
             {END}
             {multiply}
             {square}
             {modulus}
             base: {base}
             r_squared: {r_squared}
             one: {one}
             exponent: {exponent}
             z: .skip size
             power: .skip size
             table: .skip {table}",
            windows = match self.window {
                Window::Fixed(_) => power::fixed(),
                Window::Sliding(_) => power::sliding(),
            },
            multiply = self.multiply.source("multiply"),
            odd_only = u32::from(matches!(self.window, Window::Sliding(_))),
            first_width = match exponent.bits() % self.window.bits() {
                0 => self.window.bits(),
                width => width,
            },
            bits = self.window.bits(),
            entries = self.window.entries(),
            top = exponent.bits(),
            size = 4 * count,
            modulus = modulus(p),
            base = words(base),
            r_squared = words(&Number::square_of_r(p)),
            one = words(&Number::small(1, count)),
            exponent = words(exponent),
            table = self.table_bytes(),
        )
    }
}
