//! Generated assembly routines for long integers.
//!
//! A routine is a Montgomery product z := a b / R mod p, with R = 2^(32n). The result is below p,
//! and no branch depends on a number. The calling convention is the usual one: `%o0` to
//! `%o3` are the addresses of z, a, b and p. The two words before p are n and n0' = -1/p mod 2^32;
//! after p there is space for 2n words. z may be a or b.
//!
//! The product by columns (FIPS) with rolled and partly unrolled loops has the structure of a
//! published routine. Closed forms of that routine's cycles on the LEON-2 VHDL are published, but
//! its instructions are not. This routine was written to take the same cycles, so the agreement is
//! partly by construction. For this purpose it has superfluous instructions; see [`Loops::Index`].

mod columns;
mod exponentiation;
mod fips;
mod measure;
mod number;
mod text;

pub(crate) use columns::Columns;
pub use exponentiation::{Exponentiation, ExponentiationRun, Products};
pub use measure::{Counts, Inputs, RoutineRun};
pub use number::Number;

use core::fmt;

use self::text::Text;
use crate::isa::InstructionSet;

/// The instructions that multiply and add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// SPARC V8: `umul`, `rd %y`, three additions with carry.
    Plain,
    /// The extension's `umac`.
    Extended,
}

/// The innermost loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loops {
    /// Rolled, with two moving indices. The plain product has two superfluous instructions (a
    /// comparison and an empty delay slot), because the published routine has them too.
    Index,
    /// Unrolled by 2, 4, 8 or 16. A computed jump into the first pass allows any number of words.
    Unrolled(u32),
    /// Fully unrolled: code for one number of words.
    Full,
}

impl Loops {
    /// All, by size of code.
    pub const ALL: [Self; 6] = [
        Self::Index,
        Self::Unrolled(2),
        Self::Unrolled(4),
        Self::Unrolled(8),
        Self::Unrolled(16),
        Self::Full,
    ];
}

/// A product by columns, with product and reduction interleaved (FIPS: finely integrated product
/// scanning).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Routine {
    /// Its instructions that multiply and add.
    pub arithmetic: Arithmetic,
    /// Its innermost loops.
    pub loops: Loops,
    /// The words of the modulus: 4 to 128, and a multiple of the unrolling.
    pub words: u32,
}

impl Routine {
    /// Returns the instruction set that it needs.
    pub fn instructions(&self) -> InstructionSet {
        match self.arithmetic {
            Arithmetic::Plain => InstructionSet::sparc(),
            Arithmetic::Extended => InstructionSet::with_accumulator(),
        }
    }

    /// Returns its source under this name. All its labels begin with the name.
    pub fn source(&self, name: &str) -> String {
        let mut text = Text::new(name, self.arithmetic);
        self.begin(&mut text);
        fips::write(&mut text, self);
        finish(&mut text);
        text.into_source()
    }

    /// Writes the prologue: a new window, n in bytes, n0', and the addresses after p.
    fn begin(&self, text: &mut Text) {
        text.add("save %sp, -96, %sp");
        text.add(match self.loops {
            Loops::Full => format!("mov {}, %l0; ld [%i3 - 4], %l1", 4 * self.words),
            _ => "ld [%i3 - 8], %l0; ld [%i3 - 4], %l1; sll %l0, 2, %l0".to_owned(),
        });
        text.add("add %i3, %l0, %i4; add %i4, %l0, %i5");
    }
}

/// Writes the final subtraction, which computes t - p, and selects t or t - p without a branch on a
/// number.
///
/// z := t - p if t >= p, else t; t is the n words at m and the word REST above them.
fn finish(text: &mut Text) {
    text.add(
        "clr %l2
         clr %l3                 ! the borrow
         @subtract: ld [%i4 + %l2], %o0
         ld [%i3 + %l2], %o1
         subcc %g0, %l3, %g0     ! the carry is the borrow
         subxcc %o0, %o1, %o0
         addx %g0, %g0, %l3
         st %o0, [%i5 + %l2]
         add %l2, 4, %l2; cmp %l2, %l0; bne @subtract; nop
         sub %o5, %l3, %l3       ! ones, if t < p
         clr %l2
         @select: ld [%i5 + %l2], %o1
         ld [%i4 + %l2], %o0
         and %o0, %l3, %o0; andn %o1, %l3, %o1; or %o0, %o1, %o0
         st %o0, [%i0 + %l2]
         add %l2, 4, %l2; cmp %l2, %l0; bne @select; nop
         ret; restore",
    );
}

impl fmt::Display for Routine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FIPS, {}, {}", self.arithmetic, self.loops)
    }
}

impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "V8",
            Self::Extended => "extended",
        })
    }
}

impl fmt::Display for Loops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index => f.write_str("rolled, index"),
            Self::Unrolled(by) => write!(f, "unrolled by {by}"),
            Self::Full => f.write_str("fully unrolled"),
        }
    }
}
