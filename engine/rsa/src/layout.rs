//! The layouts of an operation's numbers, behind two private traits that [`crate::path`] runs on.
//!
//! * [`Words`] of [`LimbKernel`](tollgate_mont::LimbKernel): one operation on limbs.
//! * [`Words`] of [`LaneKernel`](tollgate_mont::LaneKernel): eight operations, a lane each.
//! * [`InBlocks`]: one operation in lane blocks.

mod blocks;
mod plain;
mod words;

use tollgate_mont::{Kernel, Modulus};

pub(crate) use blocks::InBlocks;
pub(crate) use plain::{Plain, Stored};
pub(crate) use words::{Words, places, public, public_words};

use crate::blinding::Pool;
use crate::fresh::Fresh;
use crate::key::PrivateKey;
use crate::material::Exponent;
use crate::workspace::Workspace;

/// Calls [`fault::points`](crate::fault::points) with these arguments, in tests only.
macro_rules! fault_points {
    ($($arguments:tt)*) => {
        #[cfg(test)]
        crate::fault::points($($arguments)*);
    };
}

pub(crate) use fault_points;

/// The words that a layout's kernel multiplies.
pub(crate) type WordOf<L> = <<L as Layout>::Kernel as Kernel>::Word;

/// The representation of numbers in words, and its exponentiation and recombination.
pub(crate) trait Layout: Sized {
    /// Multiplies numbers in Montgomery form.
    type Kernel: Kernel;
    /// Words of plain numbers: inputs, results and their powers.
    type Plain: Plain;
    /// The numbers of the keys.
    type Own<'a>;

    /// Returns a plain number as an operand of the kernel, converted into `room` if necessary.
    fn operand<'b>(
        own: &Self::Own<'_>,
        plain: &'b [Self::Plain],
        room: &'b mut [WordOf<Self>],
    ) -> &'b [WordOf<Self>];

    /// s := y mod n, below n, for a product y.
    fn reduce(kernel: Self::Kernel, set: &mut Set<'_, Self>);

    /// power := c^e or s^e mod n, below n. The time varies with e only.
    fn raise(call: &mut Call<'_, Self>, base: Base);

    /// x := x^d or x^-1 mod n by CRT. Before, x is a product; afterwards it is an operand.
    fn crt(call: &mut Call<'_, Self>, exponent: Exponent);
}

/// A layout with its memory and its blinding pairs, for calls of `N` operations.
pub(crate) trait Backend<const N: usize>: Layout {
    /// Words of stored pairs.
    type Stored: Stored<WordOf<Self>>;

    /// Returns the pool of the key's pairs in this layout.
    fn pool(key: &PrivateKey) -> &Pool<Self::Stored>;

    /// Divides the workspace's memory for operations with these keys, and loads the keys into
    /// lanes. With `fresh`, the call has memory for [`make_pairs`](crate::path::make_pairs).
    fn begin<'a>(
        workspace: &'a mut Workspace,
        keys: &[&'a PrivateKey; N],
        fresh: bool,
    ) -> Call<'a, Self>;
}

/// The base of a public exponentiation: the input or the result.
#[derive(Clone, Copy)]
pub(crate) enum Base {
    /// c.
    Input,
    /// s.
    Result,
}

/// One operation, or eight in lanes: their numbers and scratch memory.
pub(crate) struct Call<'a, L: Layout> {
    pub(crate) kernel: L::Kernel,
    pub(crate) set: Set<'a, L>,
    /// Scratch of products and exponentiations.
    pub(crate) t: &'a mut [WordOf<L>],
}

/// The numbers of one operation, or of eight operations in lanes; K(n) words each.
pub(crate) struct Set<'a, L: Layout> {
    pub(crate) own: L::Own<'a>,
    pub(crate) n: &'a Modulus<WordOf<L>>,
    /// The input: a number below n, clean.
    pub(crate) c: &'a mut [L::Plain],
    /// The result: below n, clean.
    pub(crate) s: &'a mut [L::Plain],
    /// A power of the input or of the result: below n, clean.
    pub(crate) power: &'a mut [L::Plain],
    /// The first number of the blinding pair, r^e: an operand in Montgomery form.
    pub(crate) blind: &'a mut [WordOf<L>],
    /// The second number of the blinding pair: r^-1.
    pub(crate) unblind: &'a mut [WordOf<L>],
    pub(crate) x: &'a mut [WordOf<L>],
    pub(crate) y: &'a mut [WordOf<L>],
    pub(crate) u: &'a mut [WordOf<L>],
    /// Fresh pairs, if this call makes any.
    pub(crate) fresh: Fresh<'a, WordOf<L>>,
}
