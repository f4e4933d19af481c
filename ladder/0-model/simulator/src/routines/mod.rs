//! Routines of long integers, written as assembly language from one source.
//!
//! A routine is a Montgomery product z := a b / R mod p or a square, R = 2^(32n), complete: the
//! result is below p, without a branch that depends on a number. Its calling convention is the
//! customary one: `%o0` to `%o3` are the addresses of z, a, b and p. Before p stand n, a word, and
//! n0' = -1/p mod 2^32; after p there is room for twice n words. z may be a or b.
//!
//! The product by columns (FIPS) with rolled and partly unrolled loops has the structure of a
//! routine whose cycles were compared with the LEON-2 VHDL and are known as closed forms; its
//! instructions are not known. This one was written to take the same cycles, so that they agree is
//! partly by construction; it keeps filler for that, and is not as short as can be: see
//! [`Loops::Index`].

mod cios;
mod columns;
mod exponentiation;
mod finish;
mod fips;
mod measure;
mod number;
mod power;
mod squaring;
mod text;
mod window;

pub(crate) use columns::Columns;
pub use exponentiation::{Exponentiation, Raised};
pub use measure::{Counts, Inputs, Measured};
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
    /// By rows, product and reduction interleaved (coarsely integrated operand scanning).
    Cios,
    /// A square by columns: each product of two different words is computed once.
    Squaring,
}

/// What multiplies and adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// SPARC V8: `umul`, `rd %y`, three additions with carry.
    Plain,
    /// The extension's `umac`.
    Extended,
}

/// How the innermost loops go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loops {
    /// Rolled, two moving indices. The plain product spends two instructions more than it must, a
    /// comparison and an empty delay slot, as the routine does to which it was compared.
    Index,
    /// Rolled, moving pointers.
    Pointers,
    /// Unrolled by so many, and entered in the middle by a computed jump, so that any number of
    /// words is served.
    Unrolled(u32),
    /// No loops: code for one number of words.
    Full,
}

impl Loops {
    /// All that are written, by the code that they take.
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
    /// A routine for moduli of so many words of 32 bits.
    ///
    /// # Errors
    ///
    /// [`NotWritten`], if there is no such routine.
    pub fn new(
        algorithm: Algorithm,
        arithmetic: Arithmetic,
        loops: Loops,
        words: u32,
    ) -> Result<Self, NotWritten> {
        let why = match loops {
            _ if !(4..=128).contains(&words) => "moduli have 4 to 128 words of 32 bits",
            Loops::Unrolled(by) if !matches!(by, 2 | 4 | 8 | 16) => {
                "loops are unrolled by 2, 4, 8 or 16"
            }
            Loops::Unrolled(by) if !words.is_multiple_of(by) => {
                "the number of words must be a multiple of the unrolling"
            }
            Loops::Pointers if algorithm != Algorithm::Fips => {
                "rolled loops with pointers are written for FIPS only"
            }
            _ => return Ok(Self { algorithm, arithmetic, loops, words }),
        };
        Err(NotWritten(why))
    }

    /// Its schedule.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// What multiplies and adds.
    #[must_use]
    pub fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }

    /// How its innermost loops go.
    #[must_use]
    pub fn loops(&self) -> Loops {
        self.loops
    }

    /// Words of the modulus.
    #[must_use]
    pub fn words(&self) -> u32 {
        self.words
    }

    /// The instructions that it needs.
    #[must_use]
    pub fn instructions(&self) -> InstructionSet {
        match self.arithmetic {
            Arithmetic::Plain => InstructionSet::sparc(),
            Arithmetic::Extended => InstructionSet::with_accumulator(),
        }
    }

    /// Itself as assembly language, under this name. Names within it begin with it.
    #[must_use]
    pub fn source(&self, name: &str) -> String {
        let mut text = Text::new(name);
        self.begin(&mut text);
        match self.algorithm {
            Algorithm::Fips => fips::write(&mut text, self),
            Algorithm::Cios => cios::write(&mut text, self),
            Algorithm::Squaring => squaring::write(&mut text, self),
        }
        finish::write(&mut text);
        text.into_source()
    }

    /// A window, and registers that all routines have: n words in bytes, n0', and room after p.
    fn begin(&self, text: &mut Text) {
        text.name("");
        text.add("save %sp, -96, %sp");
        if self.loops == Loops::Full {
            text.add(format!("mov {}, %l0", 4 * self.words));
            text.add("ld [%i3 - 4], %l1");
        } else {
            text.add("ld [%i3 - 8], %l0");
            text.add("ld [%i3 - 4], %l1");
            text.add("sll %l0, 2, %l0");
        }
        text.add("add %i3, %l0, %i4");
        text.add("add %i4, %l0, %i5");
    }
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
            Self::Cios => "CIOS",
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

/// There is no such routine: the caller asked for too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotWritten(&'static str);

impl fmt::Display for NotWritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl core::error::Error for NotWritten {}
