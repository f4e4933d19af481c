//! One modulus in lane blocks, or several that share the rows.

use super::Modulus;
use super::field::Field;
use crate::blocks::Blocks;
use crate::shape::Shape;
use crate::word::{Digit, LANES, Row, Scalar, Word};

impl Modulus<Row> {
    /// Returns m in lane blocks, as each of the numbers that share the rows. `k` is its size in
    /// limbs.
    pub(super) fn in_blocks(blocks: Blocks, m: &[u64], k: usize, field: &mut Field<'_>) -> Self {
        let pack = |x: &[u64]| packed(blocks, x);
        let mut this = Self::bare_in_blocks(blocks, m, field);
        let constants = field.constants(blocks.r_bits(), blocks.bits_max());
        this.exit_factor = if blocks.numbers() == 4 {
            let two = Blocks::of_pair(blocks.bits_max()).expect("where four fit, two do");
            pack(&field.constants(two.r_bits(), 0)[0])
        } else {
            pack(&(0..k).fold(constants[1].clone(), |x, _| field.fold(&x, 64)))
        };
        [this.one, this.rr, this.upper] = constants.map(|x| pack(&x));
        this.plain_one = pack(&[1]);
        this
    }

    /// Returns m in lane blocks, as [`in_blocks`](Self::in_blocks), with the constants of a product
    /// alone.
    pub(super) fn bare_in_blocks(blocks: Blocks, m: &[u64], field: &Field<'_>) -> Self {
        let b1 = field.fold(&[1], 52);
        let b2 = field.fold(&b1, 52);
        let mut this = Self::empty(blocks.shape(), field.bits);
        this.fold = vec![Row::default(); 3 * blocks.k()];
        for (rows, x) in this.fold.chunks_exact_mut(blocks.k()).zip([&b1[..], &b2, m]) {
            blocks.pack_all(rows, x);
        }
        this.m = packed(blocks, m);
        this.k0 = Row::splat(Digit::from_bits(field.k0).bits());
        this
    }

    /// Replaces every second number by q.
    pub(super) fn take_turns(&mut self, q: &Self) {
        let lanes = self.shape.tile();
        self.take(q, |lane| lane / lanes % 2 == 1);
    }

    /// Returns memory for [`load_halves`](Self::load_halves), without a modulus.
    pub fn unloaded() -> Self {
        let mut lanes = Self::lanes(Shape::limbs(1));
        lanes.rows().into_iter().for_each(Vec::clear);
        lanes
    }

    /// Loads the first half of the lanes from a and the second half from b. Both are in lane blocks
    /// of the same shape. Allocates only if the shape is the largest so far.
    ///
    /// # Panics
    ///
    /// If the shapes differ.
    pub fn load_halves(&mut self, a: &Self, b: &Self) {
        assert!(a.shape == b.shape, "moduli side by side have one shape");
        self.wipe(); // a vector that grows may free memory without wiping it
        (self.shape, self.bits, self.k0) = (a.shape, a.bits, a.k0);
        for (z, a) in self.constants_mut().into_iter().zip(a.constants()) {
            z.clear();
            z.extend_from_slice(a);
        }
        self.plain_one.clone_from(&a.plain_one);
        self.take(b, |lane| lane >= LANES / 2);
    }

    /// Replaces the given lanes by those of another modulus of the same shape.
    fn take(&mut self, other: &Self, lanes: impl Fn(usize) -> bool) {
        let mine = self.constants_mut().into_iter().flatten();
        for (z, x) in mine.zip(other.constants().into_iter().flatten()) {
            (0..LANES).filter(|&lane| lanes(lane)).for_each(|lane| z.0[lane] = x.0[lane]);
        }
        (0..LANES).filter(|&lane| lanes(lane)).for_each(|lane| self.k0.0[lane] = other.k0.0[lane]);
    }

    fn constants(&self) -> [&Vec<Row>; 6] {
        let Self { m, one, rr, upper, fold, exit_factor, .. } = self;
        [m, one, rr, upper, fold, exit_factor]
    }

    fn constants_mut(&mut self) -> [&mut Vec<Row>; 6] {
        let Self { m, one, rr, upper, fold, exit_factor, .. } = self;
        [m, one, rr, upper, fold, exit_factor]
    }

    pub(super) fn mark_rows_secret(&self) {
        for row in self.constants().into_iter().flatten().chain([&self.k0]) {
            tollgate_cpu::memcheck::mark_secret(&row.0);
        }
    }
}

/// Returns x below R in lane blocks, as each of the numbers that share the rows.
pub(super) fn packed(blocks: Blocks, x: &[u64]) -> Vec<Row> {
    let mut rows = vec![Row::default(); blocks.k()];
    blocks.pack_all(&mut rows, x);
    rows
}
