//! The multiply instructions that one call of a kernel of this project issues, including those on
//! unused parts of tiles and lanes. A [`Form`] gives the fewest instructions that a call needs.
//!
//! `cargo xtask audit` compares these formulas with the kernels' headers and machine code.

use crate::form::{Count, Form};

/// A kernel and the multiply instructions of one call.
#[derive(Clone, Copy, Debug)]
pub struct Issued {
    /// The kernel's name: file and function.
    pub kernel: &'static str,
    /// The formula, as in the kernel's header.
    pub formula: &'static str,
    /// The formula for numbers of 30 and 40 words, which are multiplied by halves (Karatsuba).
    pub by_halves: Option<&'static str>,
    count: fn(Size) -> Count,
}

/// The size of a kernel's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// K: the number of words of a number, or in lane blocks the number of digits of a block.
    pub k: u32,
    /// The number of digits that a product multiplies by: K, or in lane blocks the digits of all
    /// blocks.
    pub rows: u32,
}

impl Size {
    /// Creates the size of numbers of `k` words.
    #[must_use]
    pub const fn words(k: u32) -> Self {
        Self { k, rows: k }
    }
}

impl Issued {
    /// Every kernel that contains multiply instructions itself.
    pub const ALL: [Self; 12] = [
        row("amm52_blocks_ifma", "4 * rows * K + 1 vpmadd52", |size| blocks(size.rows, size.k)),
        // There is one more row, of zeros.
        row("amm52_long_blocks_ifma", "4 * rows * K + 2K + 1 vpmadd52", |size| {
            blocks(size.rows, size.k) + Count(2 * u64::from(size.k))
        }),
        row("amm52_mb8_avx2", "12K^2 + 6 vpmuludq", |size| Form::Halves52.product(size.k)),
        row("amm52_mb8_avx512", "6K^2 + 3 vpmuludq", |size| Form::WideHalves52.product(size.k)),
        row("amm52_mb8_avxifma", "8K^2 + 2 vpmadd52 of 256 bits", |size| {
            Form::NarrowMadd52.product(size.k)
        }),
        Self {
            by_halves: Some("by Karatsuba 3.5K^2 + 1 for K = 30, 3.125K^2 + 2K + 1 for K = 40"),
            ..row("amm52_mb8_ifma", "4K^2 + 1 vpmadd52 a stream", |size| {
                lanes(size.k).product(size.k)
            })
        },
        row(
            "amm64_mulx",
            "2K^2 + K mulx (K of them imul, for q), and K mulx that mask m",
            |size| with_masks(Form::Mulx.product(size.k), size.k),
        ),
        row("ams52_mb8_avx2", "3K(K+1) + 6K^2 + 6 vpmuludq", |size| Form::Halves52.square(size.k)),
        row("ams52_mb8_avx512", "3K(K+1)/2 + 3K^2 + 3 vpmuludq", |size| {
            Form::WideHalves52.square(size.k)
        }),
        row("ams52_mb8_avxifma", "2K(K+1) + 4K^2 + 2 vpmadd52 of 256 bits", |size| {
            Form::NarrowMadd52.square(size.k)
        }),
        Self {
            by_halves: Some(
                "By Karatsuba 3K(K+2)/4 + 2K^2 + 1 for K = 30, 3K(K+2)/4 + 1.625K^2 + 2K + 1 for \
                 K = 40",
            ),
            ..row("ams52_mb8_ifma", "K(K+1) + 2K^2 + 1 vpmadd52", |size| {
                lanes(size.k).square(size.k)
            })
        },
        row("ams64_mulx", "K(K+1)/2 + K^2 + K mulx, and K that mask m", |size| {
            with_masks(Form::Mulx.square(size.k), size.k)
        }),
    ];

    /// Returns the kernel of this name.
    #[must_use]
    pub fn new(kernel: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|issued| issued.kernel == kernel)
    }

    /// Returns the multiply instructions of a call.
    pub fn count(&self, size: Size) -> Count {
        (self.count)(size)
    }
}

/// Returns a kernel with one formula for every size.
const fn row(kernel: &'static str, formula: &'static str, count: fn(Size) -> Count) -> Issued {
    Issued { kernel, formula, by_halves: None, count }
}

/// Returns the form of eight lanes at K digits: 30 and 40 digits have Karatsuba kernels.
fn lanes(k: u32) -> Form {
    if matches!(k, 30 | 40) { Form::Karatsuba52 } else { Form::Madd52 }
}

/// Adds one mulx for each limb of m, which selects m or 0 and leaves the flags unchanged.
fn with_masks(form: Count, k: u32) -> Count {
    form + Count(u64::from(k))
}

/// Returns the instructions of the rows of product and reduction, over all lanes, used or not.
fn blocks(rows: u32, k: u32) -> Count {
    Count(4 * u64::from(rows) * u64::from(k) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(kernel: &str, size: Size) -> u64 {
        Issued::new(kernel).map_or(0, |issued| issued.count(size).0)
    }

    #[test]
    fn the_usual_sizes() {
        assert_eq!(count("amm52_mb8_ifma", Size::words(20)), 1601);
        assert_eq!(count("ams52_mb8_ifma", Size::words(20)), 1221);
        assert_eq!(count("amm52_mb8_ifma", Size::words(40)), 5000 + 80 + 1);
        assert_eq!(count("ams52_mb8_ifma", Size::words(40)), 3 * 40 * 42 / 4 + 2600 + 80 + 1);
        assert_eq!(count("ams52_mb8_ifma", Size::words(80)), 80 * 81 + 12800 + 1);
        assert_eq!(count("amm64_mulx", Size::words(16)), 528 + 16);
        assert_eq!(count("ams64_mulx", Size::words(16)), 408 + 16);
        assert_eq!(count("amm52_blocks_ifma", Size { k: 5, rows: 20 }), 401);
    }

    #[test]
    fn full_lanes_issue_the_models_count_and_others_more() {
        for (k, rows, numbers, full) in
            [(3, 10, 2, false), (5, 20, 2, true), (4, 30, 1, false), (5, 40, 1, true)]
        {
            let issued = count("amm52_blocks_ifma", Size { k, rows });
            let asked = (Form::Blocks52.product(rows).0 - 1) * numbers + 1;
            assert_eq!(issued == asked, full, "{k}, {rows}: {issued}, {asked}");
            assert!(issued >= asked);
        }
    }
}
