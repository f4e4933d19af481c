//! One modulus in lane blocks, or several that share the rows.

use super::Modulus;
use super::field::Field;
use crate::blocks::Blocks;
use crate::word::{Digit, LANES, Row, Scalar, Word};

impl Modulus<Row> {
    /// Returns m in lane blocks, as each of the numbers that share the rows.
    pub(super) fn in_blocks(blocks: Blocks, m: &[u64], field: &mut Field<'_>) -> Self {
        let pack = |x: &[u64]| packed(blocks, x);
        let mut this = Self::bare_in_blocks(blocks, m, field);
        let constants = field.constants(blocks.r_bits(), blocks.bits_max());
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

    /// Replaces the second of two numbers by q.
    pub(super) fn take_second(&mut self, q: &Self) {
        let take = |z: &mut Row, x: &Row| z.0[LANES / 2..].copy_from_slice(&x.0[LANES / 2..]);
        let mine = self.constants_mut().into_iter().flatten();
        mine.zip(q.constants().into_iter().flatten()).for_each(|(z, x)| take(z, x));
        take(&mut self.k0, &q.k0);
    }

    fn constants(&self) -> [&Vec<Row>; 5] {
        let Self { m, one, rr, upper, fold, .. } = self;
        [m, one, rr, upper, fold]
    }

    fn constants_mut(&mut self) -> [&mut Vec<Row>; 5] {
        let Self { m, one, rr, upper, fold, .. } = self;
        [m, one, rr, upper, fold]
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
