//! Generated assembly routines for long integers.
//!
//! A routine is a Montgomery product z := a b / R mod p or a square, with R = 2^(32n). The result
//! is below p, and no branch depends on a number. The calling convention is the usual one: `%o0` to
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
mod power;
mod squaring;
mod text;
mod window;

pub(crate) use columns::Columns;
pub use exponentiation::{Exponentiation, ExponentiationRun};
pub use measure::{Counts, Inputs, RoutineRun};
pub use number::Number;
pub use window::{Products, Window};

use core::fmt;

use self::text::Text;
use crate::isa::InstructionSet;

/// The schedule of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// By columns, product and reduction interleaved (finely integrated product scanning).
    Fips,
    /// A square by columns: each product of two different words is computed once.
    Squaring,
}

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
    /// Rolled, with moving pointers.
    Pointers,
    /// Unrolled by this number. A computed jump into the first pass allows any number of words.
    Unrolled(u32),
    /// Fully unrolled: code for one number of words.
    Full,
}

impl Loops {
    /// All, by size of code.
    pub const ALL: [Self; 7] = [
        Self::Index,
        Self::Pointers,
        Self::Unrolled(2),
        Self::Unrolled(4),
        Self::Unrolled(8),
        Self::Unrolled(16),
        Self::Full,
    ];
}

/// A routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Routine {
    algorithm: Algorithm,
    arithmetic: Arithmetic,
    loops: Loops,
    words: u32,
}

impl Routine {
    /// Creates a routine for moduli of `words` words of 32 bits.
    ///
    /// # Errors
    ///
    /// [`Unsupported`], if there is no such routine.
    pub fn new(
        algorithm: Algorithm,
        arithmetic: Arithmetic,
        loops: Loops,
        words: u32,
    ) -> Result<Self, Unsupported> {
        let why = match loops {
            _ if !(4..=128).contains(&words) => "moduli have 4 to 128 words of 32 bits",
            Loops::Unrolled(by) if !matches!(by, 2 | 4 | 8 | 16) => {
                "loops are unrolled by 2, 4, 8 or 16"
            }
            Loops::Unrolled(by) if !words.is_multiple_of(by) => {
                "the number of words must be a multiple of the unrolling"
            }
            Loops::Pointers if algorithm != Algorithm::Fips => {
                "rolled loops with pointers exist for FIPS only"
            }
            _ => return Ok(Self { algorithm, arithmetic, loops, words }),
        };
        Err(Unsupported(why))
    }

    /// Returns its schedule.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns its instructions that multiply and add.
    pub fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }

    /// Returns its innermost loops.
    pub fn loops(&self) -> Loops {
        self.loops
    }

    /// Returns the words of the modulus.
    pub fn words(&self) -> u32 {
        self.words
    }

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
        match self.algorithm {
            Algorithm::Fips => fips::write(&mut text, self),
            Algorithm::Squaring => squaring::write(&mut text, self),
        }
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
        write!(f, "{}, {}, {}", self.algorithm, self.arithmetic, self.loops)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fips => "FIPS",
            Self::Squaring => "squaring",
        })
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
            Self::Pointers => f.write_str("rolled, pointers"),
            Self::Unrolled(by) => write!(f, "unrolled by {by}"),
            Self::Full => f.write_str("fully unrolled"),
        }
    }
}

/// There is no routine for these parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(&'static str);
