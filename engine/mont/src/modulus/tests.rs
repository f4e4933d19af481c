use num_bigint::BigUint;

use super::*;

fn number<S: Scalar>(x: &[S]) -> BigUint {
    x.iter().rev().fold(BigUint::ZERO, |a, x| (a << S::BITS) + x.bits())
}

fn constants<S: Scalar>(m: &[u64], shape: Shape) {
    let modulus = Modulus::<S>::new(m, shape).expect("m is odd");
    let m = number(m);
    let r = BigUint::from(1u8) << (S::BITS * shape.k());
    assert_eq!(number(modulus.m()), m);
    assert_eq!(number(modulus.one()), &r % &m);
    assert_eq!(number(modulus.rr()), &r * &r % &m);
    assert_eq!(number(modulus.upper()), &r * &r * &r % &m);
    let x: Vec<u64> = (&m / 3u8).to_u64_digits();
    assert_eq!(number(&modulus.enter(&x)), &m / 3u8 * &r % &m);
    let radix = BigUint::from(1u8) << S::BITS;
    assert_eq!((BigUint::from(modulus.k0().bits()) * &m + 1u8) % &radix, BigUint::ZERO);
    if S::BITS == 52 {
        let b1 = number(&modulus.fold()[..shape.k()]);
        assert!(b1 < m && b1 * radix % &m == BigUint::from(1u8));
    }
}

/// Returns three odd numbers of `bits` bits.
fn moduli(rng: &mut fastrand::Rng, bits: usize) -> [Vec<u64>; 3] {
    [0, 1, 2].map(|pattern| {
        let mut m: Vec<u64> = (0..bits.div_ceil(64))
            .map(|_| if pattern == 0 { u64::MAX } else { rng.u64(..) })
            .collect();
        if pattern == 2 {
            m.fill(0); // 2^(bits-1) + 1: nearly all doublings stay below m
        }
        let top = (bits - 1) % 64;
        let last = m.last_mut().expect("at least a limb");
        *last = (*last & (u64::MAX >> (63 - top))) | 1 << top;
        m[0] |= 1;
        m
    })
}

#[test]
fn constants_are_what_they_say() {
    let mut rng = fastrand::Rng::with_seed(2);
    for bits in [2usize, 3, 63, 64, 65, 128, 511, 512, 513, 1024, 2047] {
        for m in moduli(&mut rng, bits) {
            constants::<u64>(&m, Shape::limbs(bits));
            constants::<Digit>(&m, Shape::digits(bits));
        }
    }
}

#[test]
fn a_public_modulus_has_the_same_constants_for_public_exponents() {
    let mut rng = fastrand::Rng::with_seed(6);
    let sizes = [64usize, 65, 93, 94, 95, 96, 97, 128, 512, 1023, 1024, 1100, 2048, 3072, 4096];
    for bits in sizes.into_iter().chain([4097, 8192]).chain(128..160) {
        for m in moduli(&mut rng, bits) {
            let shape = Shape::limbs(bits);
            let full = Modulus::<u64>::new(&m, shape).expect("odd");
            let public = Modulus::new_vartime(&m, shape).expect("odd");
            assert_eq!((public.m(), public.k0()), (full.m(), full.k0()), "{bits} bits");
            assert_eq!(public.rr(), full.rr(), "{bits} bits");
            assert_eq!(public.blocks().is_some(), full.blocks().is_some());
            for (public, full) in public.blocks().into_iter().zip(full.blocks()) {
                let same = [public.m() == full.m(), public.fold() == full.fold()];
                assert_eq!(same, [true, true], "{bits} bits");
                assert!(public.rr() == full.rr() && public.k0() == full.k0(), "{bits} bits");
            }
        }
    }
}

#[test]
#[should_panic(expected = "too short")]
fn a_public_modulus_has_64_bits() {
    let _ = Modulus::new_vartime(&[u64::MAX >> 1], Shape::limbs(63));
}

#[test]
#[should_panic(expected = "shorter modulus")]
fn a_modulus_without_slack_is_refused() {
    let mut m = vec![u64::MAX; 8]; // 520 bits fill 10 digits: operands up to 8m do not fit
    m.push(0xff);
    let _ = Modulus::<Digit>::new(&m, Shape::digits(506));
}

#[test]
#[should_panic(expected = "another radix")]
fn a_shape_of_another_radix_is_refused() {
    let _ = Modulus::<u64>::new(&[5], Shape::digits(512));
}

#[test]
fn a_wiped_modulus_can_be_loaded_again() {
    let shape = Shape::digits(512);
    let one = Modulus::<Digit>::new(&[u64::MAX; 8], shape).expect("odd");
    let mut lanes = Modulus::lanes(shape);
    lanes.load(Place::Lane(3), &one);
    lanes.wipe();
    assert!(lanes.rows().into_iter().flatten().all(|row| *row == Row::default()));
    lanes.reshape(shape);
    lanes.load(Place::Lane(3), &one);
    assert!(lanes.plain_one()[0] == Row::splat(1) && lanes.m()[0].lane(3) == one.m()[0].0);
}

#[test]
fn nothing_is_left_of_what_was_zeroized() {
    let load = |m| Modulus::<u64>::new(&[m], Shape::limbs(64)).expect("odd");
    let mut pair = Pair::new(load(101), load(103));
    assert!(pair.blocks().is_some() && pair.p().blocks().is_some());
    pair.zeroize();
    assert!(pair.blocks().is_none());
    for m in [pair.p(), pair.q()] {
        assert!(m.blocks().is_none() && m.k0() == 0);
        let left = [&m.m, &m.one, &m.rr, &m.upper, &m.fold, &m.plain_one];
        assert!(left.iter().all(|words| words.is_empty()));
    }
}

#[test]
fn even_moduli_and_one_are_refused() {
    for m in [&[4u64, 1][..], &[1, 0], &[0], &[]] {
        assert_eq!(Modulus::<u64>::new(m, Shape::limbs(128)).err(), Some(NotOdd));
    }
}
