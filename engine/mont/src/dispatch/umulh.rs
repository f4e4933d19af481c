//! Calls of the UMULH kernels.

use tollgate_cpu::HaveUmulh;

use crate::kernels::amm64_umulh::amm64_umulh;
use crate::kernels::ams64_umulh::ams64_umulh;
use crate::modulus::Modulus;

pub(super) fn amm(
    z: &mut [u64],
    x: &[u64],
    y: &[u64],
    m: &Modulus<u64>,
    t: &mut [u64],
    proof: HaveUmulh,
) {
    match m.shape().tile() {
        8 => amm64_umulh::<8>(z, x, y, m.m(), m.k0(), t, proof),
        _ => amm64_umulh::<4>(z, x, y, m.m(), m.k0(), t, proof),
    }
}

pub(super) fn ams(z: &mut [u64], x: &[u64], m: &Modulus<u64>, t: &mut [u64], proof: HaveUmulh) {
    match m.shape().tile() {
        8 => ams64_umulh::<8>(z, x, m.m(), m.k0(), t, proof),
        _ => ams64_umulh::<4>(z, x, m.m(), m.k0(), t, proof),
    }
}
