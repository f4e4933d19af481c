//! A modulus with the constants that kernels need.

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::blocks::Blocks;
use crate::shape::Shape;
use crate::word::{Digit, Place, Row, Scalar, Word};

mod field;
mod fold;
mod in_blocks;
mod pair;
mod public;
#[cfg(test)]
mod tests;

use field::{Field, Value};
pub use pair::Pair;

/// One odd modulus m, or several, with the constants of the Montgomery form, K words each.
///
/// Limb kernels use `Modulus<u64>`. A key keeps a `Modulus<Digit>`, which is copied into one lane
/// of a `Modulus<Row>`. `Modulus<Row>` holds eight moduli, one in each lane, or one or two in lane
/// blocks. A modulus is wiped when dropped.
#[derive(Clone, ZeroizeOnDrop)]
pub struct Modulus<W: Zeroize> {
    #[zeroize(skip)]
    shape: Shape,
    /// The size of m in bits; in lanes, that of the modulus loaded last.
    #[zeroize(skip)]
    bits: usize,
    m: Vec<W>,
    one: Vec<W>,
    rr: Vec<W>,
    upper: Vec<W>,
    /// B^-1 mod m, B = 2^52: the multiplier of a fold row. In lane blocks B^-2 mod m and m follow.
    /// Empty in radix 2^64.
    fold: Vec<W>,
    /// 1, not in Montgomery form.
    plain_one: Vec<W>,
    k0: W,
    /// The same modulus in lane blocks, if a layout has its size. `None` unless this modulus is in
    /// limbs.
    #[zeroize(skip)] // wipes itself
    blocks: Option<Box<Modulus<Row>>>,
}

impl<W: Zeroize> Zeroize for Modulus<W> {
    /// Wipes every number, in words and in blocks.
    fn zeroize(&mut self) {
        let Self { m, one, rr, upper, fold, plain_one, k0, .. } = self;
        [m, one, rr, upper, fold, plain_one].into_iter().for_each(Zeroize::zeroize);
        k0.zeroize();
        self.blocks = None; // wipes itself
    }
}

impl<W: Zeroize> core::fmt::Debug for Modulus<W> {
    /// Shows no value: the modulus may be a secret prime.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Modulus").field("shape", &self.shape).finish_non_exhaustive()
    }
}

/// The modulus is even or 1. Montgomery form needs an odd modulus above 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotOdd;

impl core::fmt::Display for NotOdd {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a Montgomery modulus is odd and above 1; give one that is")
    }
}

impl core::error::Error for NotOdd {}

impl<W: Zeroize> Modulus<W> {
    /// Returns K, the number of words.
    pub fn k(&self) -> usize {
        self.shape.k()
    }
    /// Returns K, and the tiles in which a kernel processes the words.
    pub fn shape(&self) -> Shape {
        self.shape
    }
    /// Returns the number of words of scratch memory that one product needs.
    pub fn scratch_words(&self) -> usize {
        self.shape.scratch_words()
    }
    /// Returns m.
    pub fn m(&self) -> &[W] {
        &self.m
    }
    /// Returns R mod m: 1 in Montgomery form.
    pub fn one(&self) -> &[W] {
        &self.one
    }
    /// Returns R^2 mod m. A product with it converts a number to Montgomery form.
    pub fn rr(&self) -> &[W] {
        &self.rr
    }
    /// Returns R^2 H mod m, for numbers x = x1 H + x0 of twice the size. Its product with x1 is x1
    /// H in Montgomery form. H = R; in lane blocks H = 2^b, where b is the largest size of a
    /// modulus.
    pub fn upper(&self) -> &[W] {
        &self.upper
    }
    /// Returns 1, not in Montgomery form. A product with it converts a number from Montgomery form.
    pub fn plain_one(&self) -> &[W] {
        &self.plain_one
    }
    /// Returns B^-1 mod m, in radix 2^52 only. In lane blocks, B^-2 mod m and m follow. For the
    /// constants that follow in some sizes in lanes, see [`fold::constants`].
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "only kernels for x86-64 read it in place")
    )]
    pub(crate) fn fold(&self) -> &[W] {
        &self.fold
    }
    /// Returns the size of m in bits; in lanes, that of the modulus loaded last.
    pub(crate) fn bits(&self) -> usize {
        self.bits
    }
    /// Returns this modulus in lane blocks, as each of the numbers that share the rows. `None` if
    /// this modulus is not in limbs, or no layout has its size.
    pub fn blocks(&self) -> Option<&Modulus<Row>> {
        self.blocks.as_deref()
    }
}

impl<W: Zeroize + Copy> Modulus<W> {
    /// Returns -1/m mod the radix. The bits above the radix are dirty.
    pub(crate) fn k0(&self) -> W {
        self.k0
    }

    /// Returns [`k0`](Self::k0) in place, not a copy. A copy may be written in parts, and a kernel
    /// that loads the whole word would then stall until the parts have left the store buffer.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "only kernels for x86-64 read it in place")
    )]
    pub(crate) fn k0_in_place(&self) -> &[W] {
        core::slice::from_ref(&self.k0)
    }
}

impl<S: Scalar> Modulus<S> {
    /// Creates the modulus from the little-endian limbs of m, which is odd and above 1. The time
    /// depends on lengths and on the position of the highest set bit, which is public.
    ///
    /// # Errors
    ///
    /// [`NotOdd`] for an even m or for 1.
    ///
    /// # Panics
    ///
    /// If `shape` belongs to another radix, or m has more bits than
    /// [`Shape::modulus_bits_max`].
    pub fn new(m: &[u64], shape: Shape) -> Result<Self, NotOdd> {
        let (m, bits) = checked::<S>(m, shape)?;
        let pack = |x: &[u64]| {
            let mut z = vec![S::default(); shape.k()];
            S::pack(&mut z, x);
            z
        };
        let mut field = Field::new(m, bits);
        let [one, rr, upper] = field.constants(shape.r_bits(), shape.r_bits()).map(|x| pack(&x));
        let blocks = Blocks::of_limbs(shape);
        let blocks = blocks.map(|blocks| Box::new(Modulus::in_blocks(blocks, m, &mut field)));
        let k0 = S::from_bits(field.k0);
        let fold = if S::BITS == Digit::BITS { fold::constants(&field, shape) } else { Vec::new() };
        let (m, plain_one) = (pack(m), pack(&[1]));
        Ok(Self { shape, bits, m, one, rr, upper, fold, plain_one, k0, blocks })
    }

    /// Tells memcheck that every number of this modulus is secret; see [`tollgate_cpu::memcheck`].
    pub fn mark_secret(&self) {
        let Self { m, one, rr, upper, fold, .. } = self;
        for word in [m, one, rr, upper, fold].into_iter().flatten().chain([&self.k0]) {
            tollgate_cpu::memcheck::mark_secret(core::slice::from_ref(word.word()));
        }
        self.blocks.iter().for_each(|blocks| blocks.mark_rows_secret());
    }

    /// Returns x R mod m, for x < m in limbs: converts x to Montgomery form without a kernel. It
    /// takes constant time but is slow; use it for constants of a key.
    ///
    /// # Panics
    ///
    /// If x has more limbs than m.
    pub fn enter(&self, x: &[u64]) -> Vec<S> {
        let product = self.scaled(x, self.k() * S::BITS, 0);
        let mut z = vec![S::default(); self.k()];
        S::pack(&mut z, &product);
        z
    }

    /// Returns x R / 2^`halvings` mod m in lane blocks. R is that of the layout of the blocks.
    /// Returns `None` if no layout of blocks has the size of m. Like [`enter`](Self::enter), it
    /// takes constant time but is slow.
    ///
    /// # Panics
    ///
    /// If x has more limbs than m.
    pub fn enter_blocks(&self, x: &[u64], halvings: usize) -> Option<Vec<Row>> {
        let shape = self.blocks()?.shape();
        let product = self.scaled(x, shape.r_bits(), halvings);
        let mut rows = vec![Row::default(); shape.k()];
        Blocks::of_shape(shape).pack_all(&mut rows, &product);
        Some(rows)
    }

    /// Returns m in as few limbs as possible.
    fn limbs(&self) -> Value {
        let mut m = Zeroizing::new(vec![0; self.bits.div_ceil(64)]);
        S::unpack(&mut m, &self.m);
        m
    }

    /// Returns x * 2^`doublings` / 2^`halvings` mod m, for x < m.
    fn scaled(&self, x: &[u64], doublings: usize, halvings: usize) -> Value {
        let m = self.limbs();
        let mut padded = Zeroizing::new(vec![0; m.len()]);
        padded[..x.len()].copy_from_slice(x);
        let mut field = Field::new(&m, self.bits);
        let r = field.power_of_two(doublings);
        let product = field.product(&padded, &r); // x * (2^doublings in Montgomery form) / R64
        let halve = |x: Value, bits: usize| field.fold(&x, bits);
        let product = (0..halvings / 64).fold(product, |x, _| halve(x, 64));
        if halvings.is_multiple_of(64) { product } else { halve(product, halvings % 64) }
    }
}

impl Modulus<Row> {
    /// Returns memory for eight moduli of this shape. Load every lane before a kernel uses the
    /// modulus.
    pub fn lanes(shape: Shape) -> Self {
        let zeros = || vec![Row::default(); shape.k()];
        let (m, one, rr, upper) = (zeros(), zeros(), zeros(), zeros());
        let fold = vec![Row::default(); shape.fold_words()];
        let mut plain_one = zeros();
        plain_one[0] = Row::splat(1);
        let k0 = Row::default();
        Self { shape, bits: 0, m, one, rr, upper, fold, plain_one, k0, blocks: None }
    }

    /// Changes the shape. Allocates only if the shape is the largest so far. Load all lanes again.
    ///
    /// # Panics
    ///
    /// If the shape is one of limbs.
    pub fn reshape(&mut self, shape: Shape) {
        self.shape = shape;
        assert!(shape.radix_bits() == Digit::BITS, "the shape belongs to another radix");
        for v in self.rows() {
            v.resize(shape.k(), Row::default());
        }
        self.fold.resize(shape.fold_words(), Row::default());
        self.plain_one.fill(Row::default());
        self.plain_one[0] = Row::splat(1);
    }

    /// Overwrites all eight moduli. Call this before [`reshape`](Self::reshape), which may free
    /// memory without wiping it.
    pub fn wipe(&mut self) {
        self.rows().into_iter().for_each(|v| v.as_mut_slice().zeroize());
        self.k0.zeroize();
    }

    fn rows(&mut self) -> [&mut Vec<Row>; 6] {
        let Self { m, one, rr, upper, fold, plain_one, .. } = self;
        [m, one, rr, upper, fold, plain_one]
    }

    /// Copies a modulus into one lane or into all lanes.
    ///
    /// # Panics
    ///
    /// If the shapes differ.
    #[inline(always)] // to be compiled with the features of `Kernel::with_target_features`
    pub fn load(&mut self, place: Place, m: &Modulus<Digit>) {
        assert!(self.shape == m.shape, "lanes of one batch have one shape");
        let fields = [&mut self.m, &mut self.one, &mut self.rr, &mut self.upper, &mut self.fold];
        for (rows, digits) in fields.into_iter().zip([&m.m, &m.one, &m.rr, &m.upper, &m.fold]) {
            for (row, digit) in rows.iter_mut().zip(digits) {
                place.put(row, digit.0);
            }
        }
        place.put(&mut self.k0, m.k0.0);
        self.bits = m.bits;
    }
}

/// Returns m in as few limbs as possible and its size in bits, if it is odd and fits the shape.
fn checked<S: Scalar>(m: &[u64], shape: Shape) -> Result<(&[u64], usize), NotOdd> {
    let bits = bit_length(m);
    if bits < 2 || m[0] & 1 == 0 {
        return Err(NotOdd);
    }
    assert!(shape.radix_bits() == S::BITS, "the shape belongs to another radix");
    assert!(bits <= shape.modulus_bits_max(), "the shape belongs to a shorter modulus");
    Ok((&m[..bits.div_ceil(64)], bits))
}

/// Returns the position of the highest set bit, plus one. The time depends on the number of high
/// zero limbs.
fn bit_length(x: &[u64]) -> usize {
    let top = x.iter().rposition(|&limb| limb != 0);
    top.map_or(0, |i| 64 * (i + 1) - x[i].leading_zeros() as usize)
}
