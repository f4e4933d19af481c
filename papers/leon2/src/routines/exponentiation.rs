//! A whole exponentiation by sliding windows: conversion, table, windows, conversion.
//!
//! Windows skip zeros, as in the papers. The time therefore depends on the exponent. Do not use
//! this exponentiation with a private exponent.

use super::measure::{Counts, modulus, read, words};
use super::{Number, Routine};
use crate::assembler::Assembler;
use crate::machine::{Ending, Failure, Machine};
use crate::timing::Timing;

/// An exponentiation. Its digits are odd and have at most `window` bits, with zeros between them.
/// The table has a power for each digit.
#[derive(Clone, Copy, Debug)]
pub struct Exponentiation {
    /// The routine for products and squares.
    pub multiply: Routine,
    /// The bits of a digit: 1 to 6.
    pub window: u32,
}

/// The counts and the result of an exponentiation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExponentiationRun {
    /// Counts from the first instruction to the last.
    pub counts: Counts,
    /// base^exponent mod p.
    pub result: Number,
}

/// Products and digits of an exponentiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Products {
    /// The number of products, including the two conversions.
    pub total: u64,
    /// The number of digits that are not zero.
    pub digits: u64,
}

impl Products {
    /// Counts for digits of at most `window` bits.
    #[must_use]
    pub fn count(window: u32, exponent: &Number) -> Self {
        let top = exponent.bits();
        let table = if window > 1 { 1 << (window - 1) } else { 0 };
        let mut products = Self { total: 2 + table, digits: 0 };
        let mut left = top;
        while left > 0 {
            let lowest = left.saturating_sub(window);
            let zeros = (lowest..left).take_while(|&bit| !exponent.bit(bit)).count();
            let is_digit = exponent.bit(left - 1);
            let zeros = u32::try_from(zeros).unwrap_or(0);
            let width = if is_digit { left - lowest - zeros } else { 1 };
            if left < top {
                products.total += u64::from(width) + u64::from(is_digit);
            }
            products.digits += u64::from(is_digit);
            left -= width;
        }
        products
    }
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
        assert!((1..=6).contains(&self.window), "windows have 1 to 6 bits");
        assert!(exponent.bits() > 0, "an exponent of zero has no first digit");
        let set = self.multiply.instructions();
        let source = self.source([base, exponent, p]);
        let program = Assembler::new(&set).assemble(&source).expect("tests assemble every routine");
        let mut machine = Machine::new(set, timing.clone(), &program)
            .expect("the program is small and begins with code");
        let ending = machine.run(LIMIT)?;
        assert_ne!(ending, Ending::Limit, "the limit is above every exponentiation");
        Ok(ExponentiationRun {
            counts: Counts { cycles: machine.cycles(), instructions: machine.instructions() },
            result: read(&machine, program.symbols["z"], self.multiply.words),
        })
    }

    /// Returns the whole program.
    fn source(&self, [base, exponent, p]: [&Number; 3]) -> String {
        let count = p.words().len();
        let entries = 1 << (self.window - 1);
        format!(
            "window = {window}
             entries = {entries}
             top = {top}
             size = {size}
             {CODE}
             {multiply}
             {modulus}
             base: {base}
             r_squared: {r_squared}
             one: {one}
             exponent: {exponent}
             z: .skip size
             power: .skip size
             table: .skip {table}",
            multiply = self.multiply.source("multiply"),
            window = self.window,
            top = exponent.bits(),
            size = 4 * count,
            modulus = modulus(p),
            base = words(base),
            r_squared = words(&Number::square_of_r(p)),
            one = words(&Number::small(1, count)),
            exponent = words(exponent),
            table = 4 * count * entries,
        )
    }
}

/// The program without its routine and data. `multiply` takes the addresses of z, a, b and p.
///
/// `%i0` is p, `%i1` n in bytes, `%l3` the table, `%l5` the exponent. `%l1` is the address of the
/// power so far: 0 at the start, an entry of the table, or `power`. The table has the odd powers:
/// each is the previous one times the square, which is at `power` until the table is complete.
const CODE: &str = "
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
        tst     %l0
        be      table_done
        nop
        set     power, %o0
        mov     %l3, %o1
        mov     %l3, %o2
        call    multiply
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
        clr     %l1             ! no power yet

        set     top - 1, %l0    ! the next bit
slide:  call    bit
        mov     %l0, %o0
        tst     %o0
        bne     slide_digit
        nop
        mov     %l2, %o0        ! squares the power
        mov     %l1, %o1
        mov     %l1, %o2
        call    multiply
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
        be      slide_squared   ! there is no power yet
        nop
        mov     %l2, %o0
        mov     %l1, %o1
        mov     %l1, %o2
        call    multiply
        mov     %i0, %o3
        mov     %l2, %l1
slide_squared:
        cmp     %l0, %l4
        bne     slide_bit
        sub     %l0, 1, %l0
        srl     %l6, 1, %l6
        umul    %l6, %i1, %o2   ! the entry of the table: a factor, or the first power
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

        set     z, %o0          ! converts the power from Montgomery form
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
