//! The only place that chooses a kernel or calls code that needs a proof of CPU features.
//!
//! It asserts lengths and casts rows to vectors. Kernels rely on both.
#![allow(unsafe_code, reason = "kernels with features that were detected")]

#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod lengths;
#[cfg(target_arch = "x86_64")]
mod mulx;

#[cfg(target_arch = "x86_64")]
use lanes::{avx2, avx512, avxifma};
use tollgate_cpu::{HaveAdxBmi2, HaveAvx2, HaveAvx512, HaveAvxIfma, HaveIfma};

use crate::blocks::exp::{Set, WindowKernel};
use crate::blocks::{self, Blocks};
use crate::contract::Kernel;
use crate::exp::{self, Exponentiate};
use crate::kernels::amm52_blocks_portable::amm52_blocks_portable;
use crate::kernels::amm52_mb8_portable::amm52_mb8_portable;
use crate::kernels::amm64_portable::amm64_portable;
use crate::kernels::select_portable::select_portable;
use crate::modulus::{Modulus, Pair};
use crate::shape::Shape;
use crate::window::{self, Windows};
use crate::word::{LANES, Row};
use lengths::{check, check_exp, check_side_by_side, check_table, check_words};

/// A kernel on the limbs of one number.
#[derive(Clone, Copy, Debug)]
pub enum LimbKernel {
    /// Exponentiates in lane blocks if a layout has the size of the modulus. All other work is on
    /// limbs.
    Blocks(BlockKernel),
    /// `amm64_mulx`, `ams64_mulx`: MULX, ADCX, ADOX.
    Mulx(HaveAdxBmi2),
    /// `amm64_portable`: runs on any processor. Tests compare other kernels with it.
    Portable,
}

/// A kernel on one or two numbers in lane blocks: see [`Blocks`].
#[derive(Clone, Copy, Debug)]
pub enum BlockKernel {
    /// `amm52_blocks_ifma`: AVX-512 IFMA. Work that remains on limbs uses MULX, ADCX, ADOX.
    Ifma(HaveIfma, HaveAdxBmi2),
    /// `amm52_blocks_portable`: runs on any processor. Tests compare other kernels with it.
    Portable,
}

/// A kernel on the digits of eight numbers.
#[derive(Clone, Copy, Debug)]
pub enum LaneKernel {
    /// `amm52_mb8_ifma`, `ams52_mb8_ifma`: AVX-512 IFMA.
    Ifma(HaveIfma),
    /// `amm52_mb8_avxifma`, `ams52_mb8_avxifma`: AVX-IFMA, VPMADD52 on 256 bits.
    AvxIfma(HaveAvxIfma),
    /// `amm52_mb8_avx512`, `ams52_mb8_avx512`: AVX-512F without IFMA.
    Avx512(HaveAvx512),
    /// `amm52_mb8_avx2`, `ams52_mb8_avx2`: AVX2.
    Avx2(HaveAvx2),
    /// `amm52_mb8_portable`: runs on any processor. Tests compare other kernels with it.
    Portable,
}

impl LimbKernel {
    /// Returns the kernels that this processor can run and the veto allows, the best first.
    pub fn all() -> Vec<Self> {
        let ifma = BlockKernel::ifma().map(Self::Blocks);
        let mulx = HaveAdxBmi2::check().map(Self::Mulx);
        let models = [Self::Portable, Self::Blocks(BlockKernel::Portable)];
        ifma.into_iter().chain(mulx).chain(models).collect()
    }

    /// Returns the best of [`all`](Self::all).
    pub fn best() -> Self {
        Self::all()[0]
    }

    /// Returns the kernel for products of limbs. It does not use lane blocks, which are for
    /// exponentiations.
    #[must_use]
    pub fn on_limbs(self) -> Self {
        match self {
            Self::Blocks(BlockKernel::Ifma(_, proof)) => Self::Mulx(proof),
            Self::Blocks(BlockKernel::Portable) => Self::Portable,
            limbs => limbs,
        }
    }
}

impl BlockKernel {
    /// Returns the kernels that this processor can run and the veto allows, the best first.
    pub fn all() -> Vec<Self> {
        Self::ifma().into_iter().chain([Self::Portable]).collect()
    }

    fn ifma() -> Option<Self> {
        Some(Self::Ifma(HaveIfma::check()?, HaveAdxBmi2::check()?))
    }
}

impl LaneKernel {
    /// Returns the kernels that this processor can run and the veto allows, the best first.
    pub fn all() -> Vec<Self> {
        let ifma = HaveIfma::check().map(Self::Ifma);
        let avxifma = HaveAvxIfma::check().map(Self::AvxIfma);
        let avx512 = HaveAvx512::check().map(Self::Avx512);
        let avx2 = HaveAvx2::check().map(Self::Avx2);
        ifma.into_iter().chain(avxifma).chain(avx512).chain(avx2).chain([Self::Portable]).collect()
    }

    /// Returns the best of [`all`](Self::all).
    pub fn best() -> Self {
        Self::all()[0]
    }
}

impl Kernel for LimbKernel {
    type Word = u64;

    fn name(self) -> &'static str {
        match self {
            Self::Blocks(kernel) => kernel.name(),
            Self::Mulx(_) => "amm64_mulx",
            Self::Portable => "amm64_portable",
        }
    }

    fn square_name(self) -> &'static str {
        match self {
            Self::Blocks(kernel) => kernel.square_name(),
            Self::Mulx(_) => "ams64_mulx",
            Self::Portable => "amm64_portable",
        }
    }

    fn amm(self, z: &mut [u64], x: &[u64], y: &[u64], m: &Modulus<u64>, t: &mut [u64]) {
        check(m.shape(), z.len(), x.len(), y.len(), t);
        match self.on_limbs() {
            #[cfg(target_arch = "x86_64")]
            Self::Mulx(proof) => mulx::amm(z, x, y, m, t, proof),
            _ => amm64_portable(z, x, y, m.m(), m.k0(), t),
        }
    }

    fn ams(self, z: &mut [u64], x: &[u64], m: &Modulus<u64>, t: &mut [u64]) {
        check(m.shape(), z.len(), x.len(), x.len(), t);
        match self.on_limbs() {
            #[cfg(target_arch = "x86_64")]
            Self::Mulx(proof) => mulx::ams(z, x, m, t, proof),
            _ => amm64_portable(z, x, x, m.m(), m.k0(), t),
        }
    }

    fn select(self, z: &mut [u64], table: &[u64], index: u64) {
        check_table(z, table);
        match self.on_limbs() {
            #[cfg(target_arch = "x86_64")]
            Self::Mulx(_) if z.len().is_multiple_of(4) => {
                use crate::kernels::select64_sse2::select64_sse2;
                // SAFETY: every x86-64 processor has sse2.
                unsafe { select64_sse2(z, table, index) }
            }
            _ => select_portable(z, table, index),
        }
    }
}

impl Exponentiate for LimbKernel {
    fn exp_words(self, shape: Shape, bits: usize) -> usize {
        let limbs = 2 * exp::scratch_words::<u64>(shape, bits);
        match (self, Blocks::of_limbs(shape)) {
            // one row more, to align the rows to 64 bytes
            (Self::Blocks(_), Some(blocks)) => {
                let rows = blocks::exp::exp_rows(blocks, bits, 2 / blocks.numbers());
                limbs.max((rows + 1) * LANES)
            }
            _ => limbs,
        }
    }

    fn exp(
        self,
        m: &Modulus<u64>,
        bits: usize,
        x: &[u64],
        e: &[u64],
        z: &mut [u64],
        t: &mut [u64],
    ) {
        match (self, m.blocks()) {
            (Self::Blocks(kernel), Some(_)) => {
                check_exp(m.shape(), bits, e, z);
                blocks::exp::one(kernel, m, bits, x, e, z, rows(t));
            }
            _ => exp::plain(self, [m], bits, x, [e], [z], t),
        }
    }

    fn exp_pair(
        self,
        pair: &Pair<u64>,
        bits: usize,
        x: &[u64],
        e: [&[u64]; 2],
        z: [&mut [u64]; 2],
        t: &mut [u64],
    ) {
        match self {
            Self::Blocks(kernel) if pair.p().blocks().is_some() => {
                for (e, z) in e.iter().zip(&z) {
                    check_exp(pair.p().shape(), bits, e, z);
                }
                blocks::exp::pair(kernel, pair, bits, x, e, z, rows(t));
            }
            _ => exp::plain(self, [pair.p(), pair.q()], bits, x, e, z, t),
        }
    }

    fn exp_vartime(self, m: &Modulus<u64>, x: &[u64], e: &[u64], z: &mut [u64], t: &mut [u64]) {
        match (self, m.blocks()) {
            (Self::Blocks(kernel), Some(_)) => {
                assert!(x.len() == m.k() && z.len() == m.k(), "x and z have K limbs");
                blocks::exp::exp_vartime(kernel, m, x, e, z, rows(t));
            }
            _ => exp::plain_vartime(self, m, x, e, z, t),
        }
    }
}

/// Returns the whole rows in scratch memory.
fn rows(words: &mut [u64]) -> &mut [Row] {
    // SAFETY: a row is eight words, and any bits are a value of it.
    unsafe { words.align_to_mut().1 }
}

impl Kernel for BlockKernel {
    type Word = Row;

    fn name(self) -> &'static str {
        match self {
            Self::Ifma(..) => "amm52_blocks_ifma",
            Self::Portable => "amm52_blocks_portable",
        }
    }

    fn square_name(self) -> &'static str {
        self.name()
    }

    fn amm(self, z: &mut [Row], x: &[Row], y: &[Row], m: &Modulus<Row>, _t: &mut [Row]) {
        check_words(m.shape(), z.len(), x.len(), y.len());
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof, _) => ifma::amm_blocks(z, x, y, m, proof),
            _ => amm52_blocks_portable(z, x, y, m.m(), m.k0(), Blocks::of_shape(m.shape())),
        }
    }

    fn ams(self, z: &mut [Row], x: &[Row], m: &Modulus<Row>, t: &mut [Row]) {
        self.amm(z, x, x, m, t);
    }

    #[inline(always)]
    fn with_target_features<R>(self, f: impl FnOnce() -> R) -> R {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof, _) => ifma::with_target_features(f, proof),
            _ => f(),
        }
    }

    fn select(self, z: &mut [Row], table: &[Row], index: Row) {
        check_table(z, table);
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof, _) => ifma::select_blocks(z, table, &index, proof),
            _ => select_portable(z, table, index),
        }
    }
}

impl WindowKernel for BlockKernel {
    fn window(self, set: &mut Set<'_>, squares: usize, index: &Row) {
        check_table(set.z, set.table);
        check_words(set.m.shape(), set.z.len(), set.next.len(), set.y.len());
        match self {
            // only numbers in four lanes stay in registers
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof, _) if set.m.shape().tile() <= LANES / 2 && squares > 0 => {
                ifma::window_blocks(set.z, squares, set.table, index, set.m, proof);
            }
            _ => blocks::exp::windows(
                self,
                core::slice::from_mut(set),
                squares,
                core::slice::from_ref(index),
            ),
        }
    }
}

impl Kernel for LaneKernel {
    type Word = Row;

    fn name(self) -> &'static str {
        match self {
            Self::Ifma(_) => "amm52_mb8_ifma",
            Self::AvxIfma(_) => "amm52_mb8_avxifma",
            Self::Avx512(_) => "amm52_mb8_avx512",
            Self::Avx2(_) => "amm52_mb8_avx2",
            Self::Portable => "amm52_mb8_portable",
        }
    }

    fn square_name(self) -> &'static str {
        match self {
            Self::Ifma(_) => "ams52_mb8_ifma",
            Self::AvxIfma(_) => "ams52_mb8_avxifma",
            Self::Avx512(_) => "ams52_mb8_avx512",
            Self::Avx2(_) => "ams52_mb8_avx2",
            Self::Portable => "amm52_mb8_portable",
        }
    }

    fn amm(self, z: &mut [Row], x: &[Row], y: &[Row], m: &Modulus<Row>, t: &mut [Row]) {
        check(m.shape(), z.len(), x.len(), y.len(), t);
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof) => ifma::amm(z, x, y, m, t, proof),
            #[cfg(target_arch = "x86_64")]
            Self::AvxIfma(proof) => avxifma::amm(z, x, y, m, t, proof),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(proof) => avx512::amm(z, x, y, m, t, proof),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(proof) => avx2::amm(z, x, y, m, t, proof),
            _ => amm52_mb8_portable(z, x, y, m.m(), m.k0(), t),
        }
    }

    fn ams(self, z: &mut [Row], x: &[Row], m: &Modulus<Row>, t: &mut [Row]) {
        check(m.shape(), z.len(), x.len(), x.len(), t);
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof) => ifma::ams(z, x, m, t, proof),
            #[cfg(target_arch = "x86_64")]
            Self::AvxIfma(proof) => avxifma::ams(z, x, m, t, proof),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(proof) => avx512::ams(z, x, m, t, proof),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(proof) => avx2::ams(z, x, m, t, proof),
            _ => amm52_mb8_portable(z, x, x, m.m(), m.k0(), t),
        }
    }

    #[inline(always)]
    fn with_target_features<R>(self, f: impl FnOnce() -> R) -> R {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof) => ifma::with_target_features(f, proof),
            _ => f(),
        }
    }

    fn select(self, z: &mut [Row], table: &[Row], index: Row) {
        check_table(z, table);
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof) => ifma::select(z, table, index, proof),
            #[cfg(target_arch = "x86_64")]
            Self::AvxIfma(proof) => avxifma::select(z, table, index, proof),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(proof) => avx512::select(z, table, index, proof),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(proof) => avx2::select(z, table, index, proof),
            _ => select_portable(z, table, index),
        }
    }
}

impl LaneKernel {
    /// Returns whether two exponentiations in step are slower here than one after the other. Both
    /// primes' numbers and scratch, 50 kB with 40 digits, do not fit in the 48 kB of the
    /// first-level cache. Zen 5: 4 % with 40 digits.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(unused_variables, reason = "only kernels for x86-64 ask for the shape")
    )]
    fn fills_the_cache(self, shape: Shape) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof) => !proof.shares_vector_ports() && shape.k() >= 30,
            _ => false,
        }
    }
}

#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(unused_variables, reason = "only kernels for x86-64 ask for the shape")
)]
impl Exponentiate for LaneKernel {
    fn table<const S: usize>(self, streams: &mut [Windows<'_, Row>; S]) {
        let shape = check_side_by_side(streams);
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof) if shape.k() == shape.tile() => ifma::table(streams, proof),
            _ => window::table(self, streams),
        }
    }

    fn windows<const S: usize>(self, top: usize, w: usize, streams: &mut [Windows<'_, Row>; S]) {
        let shape = check_side_by_side(streams);
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof) if ifma::reads_in_parts(streams[0].table.len() / shape.k(), w) => {
                ifma::windows(self, top, w, streams, proof);
            }
            _ => window::plain(self, top, w, streams),
        }
    }

    // Not a provided method of the trait: its generic code would be compiled with the calling
    // crate. Here the kernels are compiled with this crate.
    #[inline(never)]
    fn exp(
        self,
        m: &Modulus<Row>,
        bits: usize,
        x: &[Row],
        e: &[Row],
        z: &mut [Row],
        t: &mut [Row],
    ) {
        exp::plain(self, [m], bits, x, [e], [z], t);
    }

    #[inline(never)]
    fn exp_pair(
        self,
        pair: &Pair<Row>,
        bits: usize,
        x: &[Row],
        e: [&[Row]; 2],
        z: [&mut [Row]; 2],
        t: &mut [Row],
    ) {
        let (m, [zp, zq]) = ([pair.p(), pair.q()], z);
        if self.fills_the_cache(pair.p().shape()) {
            exp::plain(self, [m[0]], bits, x, [e[0]], [zp], t);
            return exp::plain(self, [m[1]], bits, x, [e[1]], [zq], t);
        }
        exp::plain(self, m, bits, x, e, [zp, zq], t);
    }
}
