//! The calls that need AVX-512 IFMA.

use core::arch::x86_64::__m512i;

use tollgate_cpu::{HaveIfma, proven};

use crate::contract::Kernel;
use crate::kernels::amm52_blocks_ifma::{amm52_blocks_ifma, window52_blocks_ifma};
use crate::kernels::amm52_long_blocks_ifma::amm52_long_blocks_ifma;
use crate::kernels::amm52_mb8_ifma::{Product, amm52_mb8_ifma};
use crate::kernels::ams52_mb8_ifma::{Square, ams52_mb8_ifma};
use crate::kernels::columns52_ifma::columns_mut;
use crate::kernels::lanes52_blocks::Constants;
use crate::kernels::select52_blocks_ifma::select52_blocks_ifma;
use crate::kernels::select52_mb8_avx512::{Read, SPAN, select52_mb8_avx512, start};
use crate::kernels::table52_mb8_ifma::table52_mb8_ifma;
use crate::kernels::tiles52_ifma::{Factors, Reduction};
use crate::kernels::window52_mb8_ifma::{Stream, window52_mb8_ifma};
use crate::modulus::Modulus;
use crate::vectors::{vector, vectors, vectors_mut};
use crate::window::{self, Windows, bits_at};
use crate::word::Row;

/// Calls the kernel that is compiled for this tile width.
macro_rules! tiled {
    ($proof:expr, $kernel:ident, $tile:expr, $operands:tt) => {
        match $tile {
            20 => proven!($proof, $kernel::<20, _> $operands),
            15 => proven!($proof, $kernel::<15, _> $operands),
            10 => proven!($proof, $kernel::<10, _> $operands),
            _ => proven!($proof, $kernel::<6, _> $operands),
        }
    };
}

/// Runs f. The code of f, with everything inlined into it, is compiled for vectors of 512 bits.
#[inline(always)]
pub(super) fn with_target_features<R>(f: impl FnOnce() -> R, proof: HaveIfma) -> R {
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn inside<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
    proven!(proof, inside(f))
}

/// Inlined to build the value in place. Copying it right after narrower writes would stall.
#[inline(always)]
fn reduction<'a>(
    z: &'a mut [Row],
    t: &'a mut [Row],
    m: &'a Modulus<Row>,
    read: Option<Read<'a>>,
) -> Reduction<'a> {
    Reduction { z: vectors_mut(z), t: vectors_mut(t), m: factors(m), read }
}

#[inline(always)]
fn factors(m: &Modulus<Row>) -> Factors<'_> {
    let k0 = &vectors(m.k0_in_place())[0];
    let (b1, more) = vectors(m.fold()).split_at(m.k());
    Factors { m: vectors(m.m()), b1, more, k0 }
}

pub(super) fn amm(
    z: &mut [Row],
    x: &[Row],
    y: &[Row],
    m: &Modulus<Row>,
    t: &mut [Row],
    proof: HaveIfma,
) {
    let end = reduction(z, t, m, None);
    let mut streams = [Product { x: vectors(x), y: vectors(y), end }];
    tiled!(proof, amm52_mb8_ifma, m.shape().tile(), (&mut streams, proof.shares_vector_ports()));
}

pub(super) fn ams(z: &mut [Row], x: &[Row], m: &Modulus<Row>, t: &mut [Row], proof: HaveIfma) {
    let mut streams = [Square { x: vectors(x), end: reduction(z, t, m, None) }];
    tiled!(proof, ams52_mb8_ifma, m.shape().tile(), (&mut streams, proof.shares_vector_ports()));
}

/// Returns whether a table of this many entries can be read in parts, at most one in each square.
pub(super) fn reads_in_parts(entries: usize, squares: usize) -> bool {
    entries.is_multiple_of(SPAN) && (1..=squares).contains(&(entries / SPAN))
}

/// Processes the windows of each stream. The squares also read the tables, in parts: see
/// [`reads_in_parts`].
pub(super) fn windows<const S: usize>(
    kernel: impl Kernel<Word = Row>,
    top: usize,
    w: usize,
    streams: &mut [Windows<'_, Row>; S],
    proof: HaveIfma,
) {
    let (k, tile) = (streams[0].z.len(), streams[0].m.shape().tile());
    if k == tile {
        tiled!(proof, short_windows, tile, (top, w, streams, proof.shares_vector_ports()));
        return;
    }
    for at in window::below(top, w) {
        streams.iter_mut().for_each(|s| s.look_up(kernel, at, w));
        long_window(w, streams, proof);
    }
}

/// Processes one window for [`windows`], for numbers of several tiles.
fn long_window<const S: usize>(w: usize, streams: &mut [Windows<'_, Row>; S], proof: HaveIfma) {
    let (k, tile) = (streams[0].z.len(), streams[0].m.shape().tile());
    for s in &mut *streams {
        let index = &vectors(core::slice::from_ref(&s.index))[0];
        proven!(proof, start(vectors_mut(s.entry), index));
    }
    for first in (0..w).map(|part| part * SPAN) {
        let mut squares = streams.each_mut().map(
            #[inline(always)]
            |s| {
                let entries = s.table.get(first * k..).filter(|entries| !entries.is_empty());
                let read = entries.map(|entries| Read {
                    entries: vectors(&entries[..SPAN * k]),
                    z: vectors_mut(s.entry),
                    index: &vectors(core::slice::from_ref(&s.index))[0],
                    first: i64::try_from(first).expect("a table has few entries"),
                });
                Square { x: vectors(s.z), end: reduction(s.next, s.t, s.m, read) }
            },
        );
        tiled!(proof, ams52_mb8_ifma, tile, (&mut squares, proof.shares_vector_ports()));
        streams.iter_mut().for_each(Windows::turn);
    }
    let mut products = streams.each_mut().map(|s| {
        let end = reduction(s.next, s.t, s.m, None);
        Product { x: vectors(s.z), y: vectors(s.entry), end }
    });
    tiled!(proof, amm52_mb8_ifma, tile, (&mut products, proof.shares_vector_ports()));
    streams.iter_mut().for_each(Windows::turn);
}

/// Fills the tables of numbers of one tile.
pub(super) fn table<const S: usize>(streams: &mut [Windows<'_, Row>; S], proof: HaveIfma) {
    tiled!(proof, short_table, streams[0].m.shape().tile(), (streams, proof.shares_vector_ports()));
}

/// [`table`] for numbers of W digits.
#[target_feature(enable = "avx512f,avx512ifma")]
fn short_table<const W: usize, const S: usize>(streams: &mut [Windows<'_, Row>; S], by_rows: bool) {
    let mut streams = short::<W, S>(streams);
    if by_rows {
        table52_mb8_ifma::<W, S, true>(&mut streams);
    } else {
        table52_mb8_ifma::<W, S, false>(&mut streams);
    }
}

/// [`windows`] for numbers of one tile, with one call for each window.
#[target_feature(enable = "avx512f,avx512ifma")]
fn short_windows<const W: usize, const S: usize>(
    top: usize,
    w: usize,
    streams: &mut [Windows<'_, Row>; S],
    by_rows: bool,
) {
    let e = streams.each_ref().map(|s| s.e);
    let mut short = short::<W, S>(streams);
    for at in window::below(top, w) {
        for (s, e) in short.iter_mut().zip(e) {
            s.index = vector(bits_at(e, at, w));
        }
        if by_rows {
            window52_mb8_ifma::<W, S, true>(&mut short, w);
        } else {
            window52_mb8_ifma::<W, S, false>(&mut short, w);
        }
    }
    let products = top / w * (w + 1);
    if !products.is_multiple_of(2) {
        streams.iter_mut().for_each(Windows::turn);
    }
}

/// Converts streams for kernels on numbers of one tile.
#[inline(always)]
fn short<'a, const W: usize, const S: usize>(
    streams: &'a mut [Windows<'_, Row>; S],
) -> [Stream<'a, W>; S] {
    streams.each_mut().map(
        #[inline(always)]
        |s| Stream::<W> {
            z: whole_mut(s.z),
            next: whole_mut(s.next),
            entry: whole_mut(s.entry),
            table: vectors_mut(s.table).as_chunks_mut().0,
            index: vector(s.index),
            m: factors(s.m).short(),
            t: columns_mut(vectors_mut(s.t)),
        },
    )
}

fn whole_mut<const W: usize>(x: &mut [Row]) -> &mut [__m512i; W] {
    vectors_mut(x).first_chunk_mut().expect("a number of one tile")
}

/// z := z^{2^squares} * table[index] / R^{2^squares}, for two numbers.
pub(super) fn window_blocks(
    z: &mut [Row],
    squares: usize,
    table: &[Row],
    index: &Row,
    m: &Modulus<Row>,
    proof: HaveIfma,
) {
    let (z, table, k0) = (vectors_mut(z), vectors(table), &vectors(m.k0_in_place())[0]);
    let index = &vectors(core::slice::from_ref(index))[0];
    match (m.shape().k(), m.shape().tile(), proof.shares_vector_ports()) {
        (3, 4, false) => {
            proven!(
                proof,
                window52_blocks_ifma::<3, 1, 1>(z, squares, table, index, constants(m), k0)
            );
        }
        (3, 4, true) => {
            proven!(
                proof,
                window52_blocks_ifma::<3, 2, 1>(z, squares, table, index, constants(m), k0)
            );
        }
        (5, 4, false) => {
            proven!(
                proof,
                window52_blocks_ifma::<5, 1, 5>(z, squares, table, index, constants(m), k0)
            );
        }
        (5, 4, true) => {
            proven!(
                proof,
                window52_blocks_ifma::<5, 2, 5>(z, squares, table, index, constants(m), k0)
            );
        }
        (k, lanes, _) => unreachable!("no windows of {k} digits for {lanes} lanes"),
    }
}

/// z := x * y / R.
pub(super) fn amm_blocks(z: &mut [Row], x: &[Row], y: &[Row], m: &Modulus<Row>, proof: HaveIfma) {
    let (z, rows, x, y) = (vectors_mut(z), x, vectors(x), vectors(y));
    let k0 = &vectors(m.k0_in_place())[0];
    match (m.shape().k(), m.shape().tile()) {
        (3, 4) => proven!(proof, amm52_blocks_ifma::<3, 4, 1>(z, x, rows, y, constants(m), k0)),
        (5, 4) => proven!(proof, amm52_blocks_ifma::<5, 4, 5>(z, x, rows, y, constants(m), k0)),
        (4, 8) => proven!(proof, amm52_blocks_ifma::<4, 8, 2>(z, x, rows, y, constants(m), k0)),
        (5, 8) => proven!(proof, amm52_blocks_ifma::<5, 8, 5>(z, x, rows, y, constants(m), k0)),
        (8, 8) => {
            proven!(proof, amm52_long_blocks_ifma::<8, 4>(z, rows, y, constants(m), k0));
        }
        (10, 8) => {
            proven!(proof, amm52_long_blocks_ifma::<10, 10>(z, rows, y, constants(m), k0));
        }
        (k, lanes) => unreachable!("no blocks of {k} digits for {lanes} lanes"),
    }
}

/// Returns the constants of a modulus in lane blocks: B^-1, B^-2 and m, with the radix B.
fn constants<const K: usize>(m: &Modulus<Row>) -> &Constants<K> {
    let constants = vectors(m.fold()).as_chunks::<K>().0;
    constants.first_chunk().expect("the modulus is one in lane blocks")
}

pub(super) fn select_blocks(z: &mut [Row], table: &[Row], index: &Row, proof: HaveIfma) {
    let (table, index) = (vectors(table), &vectors(core::slice::from_ref(index))[0]);
    macro_rules! select {
        ($k:literal) => {
            proven!(proof, select52_blocks_ifma::<$k>(vectors_mut(z), table, index))
        };
    }
    match z.len() {
        3 => select!(3),
        4 => select!(4),
        5 => select!(5),
        8 => select!(8),
        10 => select!(10),
        k => unreachable!("no blocks of {k} digits"),
    }
}

pub(super) fn select(z: &mut [Row], table: &[Row], index: Row, proof: HaveIfma) {
    let (z, table) = (vectors_mut(z), vectors(table));
    proven!(proof, select52_mb8_avx512(z, table, vector(index)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;
    use crate::word::{Digit, LANES, Place};
    use crate::{LaneKernel, carry};

    /// Each machine uses one form of the products of one tile: see `short52_ifma`.
    #[test]
    fn windows_are_the_same_by_rows_and_by_columns() {
        let Some(proof) = HaveIfma::check() else {
            return; // `tests/backends.rs` says what is tested
        };
        for (bits, seed) in
            [300, 512, 768, 1024].into_iter().flat_map(|b| (0..8).map(move |s| (b, s)))
        {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut word = || match rng.u64(..) {
                word if seed % 2 == 0 && word % 2 == 0 => u64::MAX, // columns carry
                word => word,
            };
            let shape = Shape::digits(bits);
            let mut m = Modulus::lanes(shape);
            for lane in 0..LANES {
                let mut limbs: Vec<u64> = (0..bits.div_ceil(64)).map(|_| word()).collect();
                limbs[0] |= 1;
                limbs[bits.div_ceil(64) - 1] &= u64::MAX >> (limbs.len() * 64 - bits);
                m.load(Place::Lane(lane), &Modulus::<Digit>::new(&limbs, shape).expect("odd"));
            }
            let k = m.k();
            let mut row = |bits: u32| Row([(); LANES].map(|()| word() >> (64 - bits)));
            let e = vec![row(64); 1];
            let x: Vec<Row> = (0..k).map(|j| row(if j + 1 == k { 36 } else { 52 })).collect();
            let powers = [false, true].map(|by_rows| {
                let [mut z, mut next, mut entry] = [x.clone(), x.clone(), x.clone()];
                let (mut t, mut table) = (vec![Row::default(); m.scratch_words()], x.repeat(32));
                table[..k].copy_from_slice(m.one());
                let (index, z, next) = (Row::default(), &mut z[..], &mut next[..]);
                let mut streams = [Windows {
                    z,
                    next,
                    entry: &mut entry,
                    table: &mut table,
                    e: &e,
                    index,
                    m: &m,
                    t: &mut t,
                }];
                tiled!(proof, short_table, k, (&mut streams, by_rows));
                tiled!(proof, short_windows, k, (60, 5, &mut streams, by_rows));
                let (power, mut z) = (streams[0].z.to_vec(), x.clone());
                LaneKernel::Ifma(proof).amm(&mut z, &power, m.plain_one(), &m, &mut t);
                carry::reduce(&mut z, m.m());
                z
            });
            assert!(
                powers[0].iter().zip(&powers[1]).all(|(x, y)| x.0 == y.0),
                "{bits} bits, seed {seed}"
            );
        }
    }

    /// Each machine uses one order of lanes: see [`HaveIfma::shares_vector_ports`]. Both kernels do
    /// the same operations on every number, so any operands serve.
    #[test]
    fn windows_are_the_same_in_both_orders_of_lanes() {
        let Some(proof) = HaveIfma::check() else {
            return; // `tests/backends.rs` says what is tested
        };
        macro_rules! compare {
            ($k:literal, $last:literal) => {
                for round in 0..200 {
                    let mut rng = fastrand::Rng::with_seed(round);
                    let mut row = || {
                        Row([(); LANES].map(|()| match rng.u64(..) {
                            word if round % 4 == 0 && word % 2 == 0 => u64::MAX, // columns carry
                            word => word,
                        }))
                    };
                    let mut rows = |count| -> Vec<Row> { (0..count).map(|_| row()).collect() };
                    let (mut one, table, c, k0) = (rows($k), rows(32 * $k), rows(3 * $k), rows(1));
                    let mut two = one.clone();
                    let c = vectors(&c).as_chunks::<$k>().0.first_chunk().expect("b1, b2, m");
                    let mut index = [round % 32; LANES];
                    index[LANES / 2..].fill(round / 6 % 32);
                    let (table, k0, index) = (vectors(&table), vector(k0[0]), vector(Row(index)));
                    let z = vectors_mut(&mut one);
                    proven!(
                        proof,
                        window52_blocks_ifma::<$k, 1, $last>(z, 5, table, &index, c, &k0)
                    );
                    let z = vectors_mut(&mut two);
                    proven!(
                        proof,
                        window52_blocks_ifma::<$k, 2, $last>(z, 5, table, &index, c, &k0)
                    );
                    assert!(one.iter().zip(&two).all(|(x, y)| x.0 == y.0), "{} {round}", $k);
                }
            };
        }
        compare!(3, 1);
        compare!(5, 5);
    }
}
