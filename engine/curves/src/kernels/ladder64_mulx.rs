// The x-coordinate of k P on the curve of X25519 (RFC 7748, section 5), as a quotient x / z.
// Inputs k, a clamped scalar; u < 2^255, the x-coordinate of P. Outputs x, z < 2^256.
//
// Bit 254 of k is 1 and bits 0 to 2 are 0, so the first step is a doubling of P, and the last three
// are doublings. Exchanged points would exchange D A with C B, whose sum and the square of whose
// difference stay the same. So only the factors of the doubling are exchanged.
//
// Counts    251 steps of 5 products, 4 squares, 1 small factor; 4 doublings.
// Time      constant: the only branches are the loops'; bits of k choose by CMOV.
// Model     ladder51_portable.
//! `ladder64_mulx`: the Montgomery ladder on limbs with MULX.
#![forbid(unsafe_code)]

use tollgate_cpu::HaveAdxBmi2;

use super::field64_mulx::{Number, Numbers};

// places
const U: usize = 0;
const X2: usize = 1;
const Z2: usize = 2;
const X3: usize = 3;
const Z3: usize = 4;
// the letters of the RFC
const A: usize = 5;
const B: usize = 6;
const C: usize = 7;
const D: usize = 8;
const AA: usize = 9;
const BB: usize = 10;
const E: usize = 11;
const DA: usize = 12;
const CB: usize = 13;
/// BB + 121666 E, which is AA + 121665 E.
const F: usize = 14;
const PLACES: usize = 15;

/// (x2, z2) := 2 (x2, z2).
#[inline(always)]
fn double(n: &mut Numbers<PLACES>) {
    n.add::<A, X2, Z2>();
    n.sub::<B, X2, Z2>();
    n.square::<AA, A>();
    n.square::<BB, B>();
    n.sub::<E, AA, BB>();
    n.small::<F, BB, E, 121_666>();
    n.mul::<X2, AA, BB>();
    n.mul::<Z2, E, F>();
}

#[inline(never)]
pub(crate) fn ladder64_mulx(k: &[u8; 32], u: &Number, proof: HaveAdxBmi2) -> [Number; 2] {
    let mut n = Numbers::new(proof);
    n.set::<U>(*u);
    n.set::<X2>(*u);
    n.set::<Z2>([1, 0, 0, 0]);
    n.set::<X3>(*u);
    n.set::<Z3>([1, 0, 0, 0]);
    double(&mut n);
    let mut last = 1;
    for t in (3..254).rev() {
        let bit = u64::from(k[t / 8] >> (t % 8) & 1);
        let exchange = bit ^ last;
        last = bit;
        // in an order that leaves some operations between each operation and its operands
        n.add::<C, X3, Z3>();
        n.sub::<D, X3, Z3>();
        n.add::<A, X2, Z2>();
        n.sub::<B, X2, Z2>();
        n.mul::<DA, D, A>();
        n.mul::<CB, C, B>();
        n.select::<A, A, C>(exchange);
        n.select::<B, B, D>(exchange);
        n.square::<AA, A>();
        n.add::<X3, DA, CB>();
        n.sub::<Z3, DA, CB>();
        n.square::<BB, B>();
        n.square::<Z3, Z3>();
        n.sub::<E, AA, BB>();
        n.square::<X3, X3>();
        n.small::<F, BB, E, 121_666>();
        n.mul::<X2, AA, BB>();
        n.mul::<Z3, U, Z3>();
        n.mul::<Z2, E, F>();
    }
    n.select::<X2, X2, X3>(last);
    n.select::<Z2, Z2, Z3>(last);
    for _ in 0..3 {
        double(&mut n);
    }
    [n.get::<X2>(), n.get::<Z2>()]
}
