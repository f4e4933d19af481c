//! The expected result of an exponentiation, by the portable kernel of `mont`, bit by bit.

use tollgate_mont::{Kernel as _, LimbKernel, Modulus, Shape, carry};
use tollgate_simulator::routines::Number;

/// base^exponent mod p.
pub(super) fn power([base, exponent, p]: [&Number; 3]) -> Number {
    let limbs = |number: &Number| -> Vec<u64> {
        let pair =
            |pair: &[u32]| pair.iter().rev().fold(0, |limb, &word| limb << 32 | u64::from(word));
        number.words().chunks(2).map(pair).collect()
    };
    let kernel = LimbKernel::Portable;
    let m = Modulus::<u64>::new(&limbs(p), Shape::limbs(p.bits() as usize))
        .expect("the study's moduli are odd");
    let (mut t, mut x) = (vec![0; m.scratch_words()], vec![0; m.k()]);
    let (mut z, mut next) = (m.one().to_vec(), vec![0; m.k()]);
    let mut plain = limbs(base);
    plain.resize(m.k(), 0);
    kernel.amm(&mut x, &plain, m.rr(), &m, &mut t);
    for bit in (0..exponent.bits()).rev() {
        kernel.ams(&mut next, &z, &m, &mut t);
        if exponent.bit(bit) {
            kernel.amm(&mut z, &next, &x, &m, &mut t);
        } else {
            z.copy_from_slice(&next);
        }
    }
    kernel.amm(&mut next, &z, m.plain_one(), &m, &mut t);
    carry::reduce(&mut next, m.m());
    let words = next.iter().flat_map(|limb| [limb & 0xffff_ffff, limb >> 32]);
    let words = words.take(p.words().len());
    Number::new(words.map(|word| u32::try_from(word).expect("half a limb fits a word")).collect())
}
