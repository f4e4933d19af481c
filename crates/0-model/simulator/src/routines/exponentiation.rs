//! An exponentiation, from its first instruction to its last: conversion, table, windows, conversion.
//!
//! Windows skip zeros, so the time depends on the exponent: right for a public one, and the custom of
//! the papers. Not a way to use a private one.

use core::fmt;

use super::measure::{Counts, modulus, read, words};
use super::{Number, Routine};
use crate::assembler::Assembler;
use crate::machine::{Ending, Failure, Machine};
use crate::timing::Timing;

/// How the exponent is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// Into digits of so many bits, from its lowest bit on; a table of all digits but zero.
    Fixed(u32),
    /// Into odd digits of at most so many bits, and zeros between; a table of odd digits.
    Sliding(u32),
}

impl Window {
    /// Its bits.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Fixed(bits) | Self::Sliding(bits) => bits,
        }
    }

    /// How many powers its table has.
    #[must_use]
    pub fn entries(self) -> u32 {
        match self {
            Self::Fixed(bits) => (1 << bits) - 1,
            Self::Sliding(bits) => 1 << (bits - 1),
        }
    }

    /// The products that an exponent takes, the two conversions not counted.
    #[must_use]
    pub fn products(self, exponent: &Number) -> Products {
        let (bits, top) = (self.bits(), exponent.bits());
        let square = u32::from(matches!(self, Self::Sliding(2..)));
        let table = u64::from(self.entries() - 1 + square);
        let mut products = Products { table, ..Products::default() };
        let mut left = top;
        while left > 0 {
            let first = left == top;
            let width = match self {
                Self::Fixed(_) if first && left % bits != 0 => left % bits,
                Self::Fixed(_) => bits,
                Self::Sliding(_) if !exponent.bit(left - 1) => 1,
                Self::Sliding(_) => {
                    let lowest = left.saturating_sub(bits);
                    let zeros = (lowest..left).take_while(|&bit| !exponent.bit(bit)).count();
                    left - lowest - u32::try_from(zeros).unwrap_or(0)
                }
            };
            let digit = (left - width..left).any(|bit| exponent.bit(bit));
            products.multiplications += u64::from(digit && !first);
            products.squarings += if first { 0 } else { u64::from(width) };
            left -= width;
        }
        products
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(bits) => write!(f, "fixed {bits}"),
            Self::Sliding(bits) => write!(f, "sliding {bits}"),
        }
    }
}

/// How many products an exponentiation takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Products {
    /// Squarings.
    pub squarings: u64,
    /// Multiplications by powers of the table.
    pub multiplications: u64,
    /// Products that make the table.
    pub table: u64,
}

impl Products {
    /// All of them, and the two conversions.
    #[must_use]
    pub fn total(self) -> u64 {
        self.squarings + self.multiplications + self.table + 2
    }
}

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
    /// Bytes of the table of powers.
    pub table: usize,
    /// base^exponent mod p.
    pub result: Number,
}

/// More than any takes: 4096 bits, rolled, at 35 slots are 4 * 10^10 cycles.
const LIMIT: u64 = 100_000_000_000;

impl Exponentiation {
    /// Runs it, base below p, exponent not zero. `progress` hears how many instructions were done.
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
        mut progress: impl FnMut(u64),
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
        while machine.run(4_000_000)? == Ending::Limit {
            progress(machine.instructions());
            assert!(machine.instructions() < LIMIT, "it should have ended long ago");
        }
        let address = |name: &str| program.symbols[name];
        Ok(Raised {
            counts: Counts { cycles: machine.cycles(), instructions: machine.instructions() },
            code: (address("end_of_code") - address("_start")) as usize,
            table: (address("end_of_table") - address("table")) as usize,
            result: read(&machine, address("z"), self.multiply.words()),
        })
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
             table: .skip {table}
             end_of_table:",
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
            table = 4 * count * self.window.entries() as usize,
        )
    }
}

/// The table. `%i0` holds p, `%i1` n words in bytes, `%l3` the table, `%l5` the exponent. A fixed
/// window has all powers, each from the one before times the first; a sliding one the odd ones, each
/// times the square, which is at `power` until the table is done.
const TABLE: &str = "
_start: set     p, %i0
        set     size, %i1
        set     table, %l3
        set     exponent, %l5
        mov     %l3, %o0
        set     base, %o1
        set     r_squared, %o2
        call    multiply
        mov     %i0, %o3
        set     entries - 1, %l0
        mov     %l3, %l1
        mov     %l3, %l2        ! what leads from one power to the next
        tst     %l0
        be      table_done
        nop
        set     odd_only, %o0
        tst     %o0
        be      table_next
        nop
        set     power, %o0
        mov     %l3, %o1
        mov     %l3, %o2
        call    square
        mov     %i0, %o3
        set     power, %l2
table_next:
        add     %l1, %i1, %o0
        mov     %l1, %o1
        mov     %l2, %o2
        call    multiply
        mov     %i0, %o3
        subcc   %l0, 1, %l0
        bne     table_next
        add     %l1, %i1, %l1
table_done:
        set     power, %l2
        clr     %l1             ! where the power is: nowhere yet
";

/// Digits of a fixed window. `%l0` counts the bits that are left.
const FIXED: &str = "
        set     top, %l0
        set     first_width, %l4
fixed:  clr     %l6             ! the digit
        mov     %l4, %i2
fixed_bit:
        sub     %l0, 1, %l0
        call    bit
        mov     %l0, %o0
        sll     %l6, 1, %l6
        or      %l6, %o0, %l6
        tst     %l1
        be      fixed_squared
        nop
        mov     %l2, %o0
        mov     %l1, %o1
        mov     %l1, %o2
        call    square
        mov     %i0, %o3
        mov     %l2, %l1
fixed_squared:
        subcc   %i2, 1, %i2
        bne     fixed_bit
        nop
        subcc   %l6, 1, %l6
        bneg    fixed_done
        umul    %l6, %i1, %o2
        tst     %l1
        bne     fixed_multiply
        add     %l3, %o2, %o2
        ba      fixed_done
        mov     %o2, %l1
fixed_multiply:
        mov     %l2, %o0
        mov     %l1, %o1
        call    multiply
        mov     %i0, %o3
fixed_done:
        tst     %l0
        bne     fixed
        mov     window, %l4
";

/// Digits of a sliding window. `%l0` is the bit that comes next.
const SLIDING: &str = "
        set     top - 1, %l0
slide:  call    bit
        mov     %l0, %o0
        tst     %o0
        bne     slide_digit
        nop
        mov     %l2, %o0
        mov     %l1, %o1
        mov     %l1, %o2
        call    square
        mov     %i0, %o3
        mov     %l2, %l1
        ba      slide_next
        sub     %l0, 1, %l0
slide_digit:
        subcc   %l0, window - 1, %l4
        bneg,a  slide_low
        clr     %l4
slide_low:
        call    bit             ! the lowest bit of a digit is set
        mov     %l4, %o0
        tst     %o0
        be,a    slide_low
        add     %l4, 1, %l4
        clr     %l6             ! the digit
slide_bit:
        call    bit
        mov     %l0, %o0
        sll     %l6, 1, %l6
        or      %l6, %o0, %l6
        tst     %l1
        be      slide_squared
        nop
        mov     %l2, %o0
        mov     %l1, %o1
        mov     %l1, %o2
        call    square
        mov     %i0, %o3
        mov     %l2, %l1
slide_squared:
        cmp     %l0, %l4
        bne     slide_bit
        sub     %l0, 1, %l0
        srl     %l6, 1, %l6
        umul    %l6, %i1, %o2
        tst     %l1
        bne     slide_multiply
        add     %l3, %o2, %o2
        ba      slide_next
        mov     %o2, %l1
slide_multiply:
        mov     %l2, %o0
        mov     %l1, %o1
        call    multiply
        mov     %i0, %o3
slide_next:
        tst     %l0
        bge     slide
        nop
";

/// The power leaves Montgomery's form.
const END: &str = "
        set     z, %o0
        mov     %l1, %o1
        set     one, %o2
        call    multiply
        mov     %i0, %o3
        ta      0
bit:    srl     %o0, 5, %g1     ! %o0 := bit %o0 of the exponent
        sll     %g1, 2, %g1
        ld      [%l5 + %g1], %g1
        srl     %g1, %o0, %o0
        retl
        and     %o0, 1, %o0
";
