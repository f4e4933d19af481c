//! Calls of the MULX kernels.

use tollgate_cpu::HaveAdxBmi2;

use crate::kernels::amm64_mulx::amm64_mulx;
use crate::kernels::ams64_mulx::ams64_mulx;
use crate::modulus::Modulus;

pub(super) fn amm(
    z: &mut [u64],
    x: &[u64],
    y: &[u64],
    m: &Modulus<u64>,
    t: &mut [u64],
    proof: HaveAdxBmi2,
) {
    match m.shape().tile() {
        8 => amm64_mulx::<8>(z, x, y, m.m(), m.k0(), t, proof),
        _ => amm64_mulx::<4>(z, x, y, m.m(), m.k0(), t, proof),
    }
}

pub(super) fn ams(z: &mut [u64], x: &[u64], m: &Modulus<u64>, t: &mut [u64], proof: HaveAdxBmi2) {
    match m.shape().tile() {
        8 => ams64_mulx::<8>(z, x, m.m(), m.k0(), t, proof),
        _ => ams64_mulx::<4>(z, x, m.m(), m.k0(), t, proof),
    }
}
