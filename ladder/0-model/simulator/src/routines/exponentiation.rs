//! An exponentiation, from its first instruction to its last: conversion, table, windows,
//! conversion.
//!
//! Windows skip zeros, so the time depends on the exponent: right for a public one, and the custom
//! of the papers. Not a way to use a private one.

use super::measure::{Counts, modulus, read, words};
use super::power::{END, FIXED, SLIDING, TABLE};
use super::window::Window;
use super::{Number, Routine};
use crate::assembler::Assembler;
use crate::machine::{Ending, Failure, Machine};
use crate::timing::Timing;

/// An exponentiation.
#[derive(Clone, Copy, Debug)]
pub struct Exponentiation {
    /// What multiplies.
    pub multiply: Routine,
    /// What squares, if it is something else.
    pub square: Option<Routine>,
    /// How the exponent is cut: 1 to 6 bits.
    pub window: Window,
}

/// What an exponentiation took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// From the first instruction to the last.
    pub counts: Counts,
    /// Bytes of code.
    pub code: usize,
    /// base^exponent mod p.
    pub result: Number,
}

/// More than any takes: 4096 bits, rolled, at 35 slots are 4 * 10^10 cycles.
const LIMIT: u64 = 100_000_000_000;

impl Exponentiation {
    /// Runs it, base below p, exponent not zero.
    ///
    /// # Errors
    ///
    /// [`Failure`], if it is wrong and traps.
    ///
    /// # Panics
    ///
    /// If the window does not have 1 to 6 bits, or the exponent is zero.
    pub fn run(
        &self,
        timing: &Timing,
        [base, exponent, p]: [&Number; 3],
    ) -> Result<Raised, Failure> {
        assert!((1..=6).contains(&self.window.bits()), "windows have 1 to 6 bits");
        assert!(exponent.bits() > 0, "an exponent of zero has no first digit");
        let set = self.multiply.instructions();
        let source = self.source([base, exponent, p]);
        let program = Assembler::new(&set)
            .assemble(&source)
            .expect("what is generated assembles; a test says so");
        let mut machine = Machine::new(set, timing.clone(), &program)
            .expect("the program is small, and begins where it has code");
        let ending = machine.run(LIMIT)?;
        assert_ne!(ending, Ending::Limit, "it should have ended long ago");
        let address = |name: &str| program.symbols[name];
        Ok(Raised {
            counts: Counts { cycles: machine.cycles(), instructions: machine.instructions() },
            code: (address("end_of_code") - address("_start")) as usize,
            result: read(&machine, address("z"), self.multiply.words()),
        })
    }

    /// Bytes of the table of powers.
    #[must_use]
    pub fn table_bytes(&self) -> u32 {
        4 * self.multiply.words() * self.window.entries()
    }

    /// The whole program.
    fn source(&self, [base, exponent, p]: [&Number; 3]) -> String {
        let count = p.words().len();
        let square = match &self.square {
            Some(routine) => routine.source("square"),
            None => String::new(),
        };
        let square_is = if self.square.is_some() { "" } else { "square = multiply" };
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
             end_of_code:
             {square_is}
             {modulus}
             base: {base}
             r_squared: {r_squared}
             one: {one}
             exponent: {exponent}
             z: .skip size
             power: .skip size
             table: .skip {table}",
            windows = match self.window {
                Window::Fixed(_) => FIXED,
                Window::Sliding(_) => SLIDING,
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
