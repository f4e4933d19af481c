//! Calls of the MULX kernels.

use tollgate_cpu::HaveAdxBmi2;

use super::LimbKernel;
use super::lengths::check;
use crate::contract::Kernel;
use crate::kernels::amm64_mulx::{amm64_mulx, amm64_mulx_tile};
use crate::kernels::ams64_mulx::{ams64_mulx, ams64_mulx_tile};
use crate::kernels::tiles64::{array, array_mut};
use crate::kernels::window64_mulx::{Stream, window64_mulx};
use crate::modulus::Modulus;
use crate::window::{self, Windows};

pub(super) fn amm(
    z: &mut [u64],
    x: &[u64],
    y: &[u64],
    m: &Modulus<u64>,
    t: &mut [u64],
    proof: HaveAdxBmi2,
) {
    match m.shape().tile() {
        8 if z.len() == 8 => {
            amm64_mulx_tile(array_mut(z), array(x), array(y), array(m.m()), m.k0(), proof);
        }
        8 => amm64_mulx::<8>(z, x, y, m.m(), m.k0(), t, proof),
        _ => amm64_mulx::<4>(z, x, y, m.m(), m.k0(), t, proof),
    }
}

pub(super) fn ams(z: &mut [u64], x: &[u64], m: &Modulus<u64>, t: &mut [u64], proof: HaveAdxBmi2) {
    match m.shape().tile() {
        8 if z.len() == 8 => {
            ams64_mulx_tile(array_mut(z), array(x), array(m.m()), m.k0(), array_mut(t), proof);
        }
        8 => ams64_mulx::<8>(z, x, m.m(), m.k0(), t, proof),
        _ => ams64_mulx::<4>(z, x, m.m(), m.k0(), t, proof),
    }
}

/// Windows of numbers of 8 limbs.
pub(super) fn windows<const S: usize>(
    kernel: LimbKernel,
    top: usize,
    w: usize,
    streams: &mut [Windows<'_, u64>; S],
    proof: HaveAdxBmi2,
) {
    for s in &*streams {
        check(s.m.shape(), s.z.len(), s.next.len(), s.entry.len(), s.t);
    }
    for at in window::below(top, w) {
        for s in &mut *streams {
            s.look_up(kernel, at, w);
            kernel.select(s.entry, s.table, s.index);
        }
        let mut tiles = streams.each_mut().map(|s| Stream {
            z: array_mut(s.z),
            y: array(s.entry),
            m: array(s.m.m()),
            k0: &s.m.k0_in_place()[0],
            t: array_mut(s.t),
        });
        window64_mulx(&mut tiles, w, proof);
    }
}
