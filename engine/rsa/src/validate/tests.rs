//! Valid keys, and each reason to refuse one.

use num_bigint::BigUint;

use super::*;
use crate::parse;
use crate::test_keys::file;

fn parts() -> KeyParts {
    parse::private(&file("rsa-512")).unwrap()
}

fn rejected(parts: &KeyParts) -> Rejected {
    match private(parts).map(|_| ()).unwrap_err() {
        Error::Rejected(rejected) => {
            let text = rejected.to_string();
            assert!(!text.contains('\n'), "one line: {text}");
            rejected
        }
        other => panic!("{other:?}"),
    }
}

fn be(limbs: &[u64]) -> Vec<u8> {
    let bytes: Vec<u8> = limbs.iter().rev().flat_map(|limb| limb.to_be_bytes()).collect();
    trim(&bytes).to_vec()
}

fn uint(bytes: &[u8]) -> BigUint {
    BigUint::from_bytes_be(bytes)
}

fn secret(x: &BigUint) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(x.to_bytes_be())
}

/// Computes a key with these primes and this exponent.
fn key_of(p: &BigUint, q: &BigUint, e: &BigUint) -> KeyParts {
    let (p_1, q_1) = (p - 1u8, q - 1u8);
    let inverse = |x: &BigUint, m: &BigUint| secret(&x.modinv(m).unwrap());
    KeyParts {
        d: inverse(e, &(&p_1 * &q_1)),
        d_p: inverse(e, &p_1),
        d_q: inverse(e, &q_1),
        q_inv: inverse(q, p),
        n: (p * q).to_bytes_be(),
        e: e.to_bytes_be(),
        p: secret(p),
        q: secret(q),
    }
}

#[test]
fn valid_keys_give_their_numbers_as_limbs() {
    for (bits, name) in [
        (512, "rsa-512"),
        (1024, "rsa-1024"),
        (2047, "rsa-2047"),
        (2048, "rsa-2048-e3"),
        (3072, "rsa-3072"),
        (8192, "rsa-8192"),
    ] {
        let parts = parse::private(&file(name)).unwrap();
        let key = private(&parts).unwrap();
        for (limbs, bytes) in [
            (&key.d, &parts.d),
            (&key.p, &parts.p),
            (&key.q, &parts.q),
            (&key.d_p, &parts.d_p),
            (&key.d_q, &parts.d_q),
            (&key.q_inv, &parts.q_inv),
        ] {
            assert_eq!(be(limbs), trim(bytes), "{bits} bits");
        }
        let CheckedPublic { n, e, bits: found } = key.public;
        assert_eq!((be(&n), be(&e), found), (parts.n, parts.e, bits));
        assert_eq!([n.len(), key.d.len()], [bits.div_ceil(64); 2]);
        assert_eq!((key.d_p.len(), key.q_inv.len()), (key.p.len(), key.p.len()));
        assert_eq!((key.d_q.len(), e.len()), (key.q.len(), 1));
    }
}

#[test]
fn leading_zeros_do_not_matter() {
    let mut parts = parts();
    let key = private(&parts).unwrap();
    let pad = |bytes: &mut Vec<u8>| bytes.splice(0..0, [0; 700]).for_each(drop);
    pad(&mut parts.n);
    pad(&mut parts.e);
    for secret in
        [&mut parts.d, &mut parts.p, &mut parts.q, &mut parts.d_p, &mut parts.d_q, &mut parts.q_inv]
    {
        pad(secret);
    }
    let padded = private(&parts).unwrap();
    assert_eq!((key.public, key.d, key.q_inv), (padded.public, padded.d, padded.q_inv));
}

#[test]
fn sizes_are_512_to_8192_bits() {
    let of_bits = |bits: usize| {
        let mut n = vec![0; bits.div_ceil(8)];
        n[0] = 1 << ((bits - 1) % 8);
        *n.last_mut().unwrap() |= 1;
        public(&n, &[3])
    };
    for bits in [512, 513, 2047, 8191, 8192] {
        assert_eq!(of_bits(bits).unwrap().bits, bits);
    }
    for bits in [1, 511, 8193, 9000] {
        assert_eq!(of_bits(bits), Err(Rejected::Size { bits }.into()));
    }
    assert_eq!(public(&[], &[3]), Err(Rejected::Size { bits: 0 }.into()));
}

#[test]
fn exponents_are_odd_and_from_3_to_2_to_the_256() {
    let with = |e: &[u8]| {
        let mut parts = parts();
        parts.e = e.to_vec();
        let public = public(&parts.n, e);
        // the private key is refused for the same reason, before its other numbers are checked
        if let Err(Error::Rejected(reason)) = &public {
            assert_eq!(rejected(&parts), *reason);
        }
        public.map(|key| be(&key.e))
    };
    for e in [&[3][..], &[1, 0, 1], &[0xff; 32]] {
        assert_eq!(with(e), Ok(e.to_vec()));
    }
    for e in [&[2][..], &[1, 0, 0], &[&[1][..], &[0; 32]].concat()] {
        assert_eq!(with(e), Err(Rejected::ExponentEven.into()));
    }
    for e in [&[][..], &[0], &[0, 1]] {
        assert_eq!(with(e), Err(Rejected::ExponentSmall.into()), "zero is even, but too small");
    }
    let above = [&[1][..], &[0; 31], &[1]].concat(); // 2^256 + 1
    assert_eq!(with(&above), Err(Rejected::ExponentLarge { bits: 257 }.into()));
}

#[test]
fn an_exponent_of_256_bits_is_accepted() {
    let parts = parts();
    let (p, q) = (uint(&parts.p), uint(&parts.q));
    // 2^256 - 189 is prime, so it has an inverse modulo all numbers that it does not divide
    let mut e = [0xff; 32];
    e[31] = 67;
    let key = private(&key_of(&p, &q, &uint(&e))).unwrap();
    assert_eq!(key.public.e.len(), 4);
}

#[test]
fn the_modulus_is_odd() {
    let mut parts = parts();
    *parts.n.last_mut().unwrap() ^= 1;
    assert_eq!(rejected(&parts), Rejected::ModulusEven);
}

#[test]
fn primes_are_odd_distinct_and_make_the_modulus() {
    for (bytes, prime, expected) in [
        (&[][..], Prime::P, Rejected::PrimeZero(Prime::P)),
        (&[0, 0], Prime::Q, Rejected::PrimeZero(Prime::Q)),
        (&[2], Prime::Q, Rejected::PrimeEven(Prime::Q)),
    ] {
        let mut parts = parts();
        *(if prime == Prime::P { &mut parts.p } else { &mut parts.q }) =
            Zeroizing::new(bytes.to_vec());
        assert_eq!(rejected(&parts), expected);
    }
    // 1 * n = n: the product is right
    let mut one = parts();
    one.p = Zeroizing::new(one.n.clone());
    one.q = Zeroizing::new(vec![0, 1]);
    assert_eq!(rejected(&one), Rejected::PrimeOne(Prime::Q));
    one.q = core::mem::replace(&mut one.p, one.q.clone());
    assert_eq!(rejected(&one), Rejected::PrimeOne(Prime::P));
    // p^2 = n
    let mut square = parts();
    square.n = uint(&square.p).pow(2).to_bytes_be();
    square.q = square.p.clone();
    assert_eq!(rejected(&square), Rejected::EqualPrimes);
    // n plus or minus 2, and a "prime" longer than n
    let mut product = parts();
    *product.n.last_mut().unwrap() ^= 2;
    assert_eq!(rejected(&product), Rejected::Product);
    let mut long = parts();
    long.q = Zeroizing::new(vec![0xff; 60_000]);
    assert_eq!(rejected(&long), Rejected::Product);
}

#[test]
fn swapped_primes_need_their_own_numbers() {
    let mut swapped = parts();
    core::mem::swap(&mut swapped.p, &mut swapped.q);
    assert!(matches!(rejected(&swapped), Rejected::DP), "d_p belongs to the other prime");
    core::mem::swap(&mut swapped.d_p, &mut swapped.d_q);
    assert_eq!(rejected(&swapped), Rejected::QInv);
    let whole = key_of(&uint(&swapped.p), &uint(&swapped.q), &uint(&swapped.e));
    assert!(private(&whole).is_ok(), "p < q is as good as p > q");
}

/// Returns 2^bits - 1
fn mersenne(bits: u32) -> BigUint {
    (BigUint::from(1u8) << bits) - 1u8
}

#[test]
fn a_prime_has_a_quarter_of_the_bits() {
    // Mersenne primes: p has 127, q has 521 bits; n has 648, of which a quarter is 162.
    let e = BigUint::from(65_537_u32);
    let (p, q) = (mersenne(127), mersenne(521));
    assert_eq!(rejected(&key_of(&p, &q, &e)), Rejected::PrimeSmall(Prime::P));
    assert_eq!(rejected(&key_of(&q, &p, &e)), Rejected::PrimeSmall(Prime::Q));
    // 521 and 1279 bits; n has 1800, of which a quarter is 450
    let (p, q) = (mersenne(521), mersenne(1279));
    for (p, q) in [(&p, &q), (&q, &p)] {
        let key = private(&key_of(p, q, &e)).unwrap();
        assert_eq!(key.public.bits, 1800);
        let limbs = |x: &BigUint| x.to_u64_digits().len();
        assert_eq!([key.p.len(), key.d_p.len(), key.q_inv.len()], [limbs(p); 3]);
        assert_eq!([key.q.len(), key.d_q.len()], [limbs(q); 2]);
    }
}

type Change = fn(&mut KeyParts) -> &mut Zeroizing<Vec<u8>>;

const CRT: [(Change, Rejected); 4] = [
    (|parts| &mut parts.d, Rejected::D),
    (|parts| &mut parts.d_p, Rejected::DP),
    (|parts| &mut parts.d_q, Rejected::DQ),
    (|parts| &mut parts.q_inv, Rejected::QInv),
];

#[test]
fn each_inconsistent_number_has_its_own_error() {
    for (change, expected) in CRT {
        for bit in [0, 1, 7, 100, 200] {
            let mut parts = parts();
            let number = change(&mut parts);
            let last = number.len() - 1;
            number[last - bit / 8] ^= 1 << (bit % 8);
            assert_eq!(rejected(&parts), expected, "bit {bit}");
        }
        for other in [vec![], vec![1], vec![0xff; 32], vec![0xff; 1000]] {
            let mut parts = parts();
            *change(&mut parts) = Zeroizing::new(other);
            assert_eq!(rejected(&parts), expected);
        }
    }
}

#[test]
fn numbers_are_below_their_moduli() {
    // Each number is congruent to the right one and too large, but has the same length in bytes.
    // The Mersenne primes of 607 and 1279 bits have a product of 1886 bits, which leaves bits of
    // its first byte free.
    let (p, q) = (mersenne(607), mersenne(1279));
    let good = key_of(&p, &q, &BigUint::from(65_537_u32));
    assert!(private(&good).is_ok());
    let (p_1, q_1) = (&p - 1u8, &q - 1u8);
    let phi = &p_1 * &q_1;
    for ((change, expected), step) in CRT.into_iter().zip([&phi, &p_1, &q_1, &p]) {
        let mut parts = good.clone();
        let number = change(&mut parts);
        *number = secret(&(uint(number) + step));
        assert_eq!(number.len(), step.to_bytes_be().len(), "as long as its modulus");
        assert_eq!(rejected(&parts), expected);
    }
}

#[test]
fn d_is_right_for_both_primes() {
    let good = parts();
    for prime in [&good.p, &good.q] {
        // congruent to the right d modulo this prime minus one, but not modulo the other prime
        // minus one
        let d = uint(&good.d) + uint(prime) - 1u8;
        let parts = KeyParts { d: secret(&d), ..good.clone() };
        assert_eq!(rejected(&parts), Rejected::D);
    }
}

#[test]
fn d_modulo_the_least_common_multiple_is_accepted() {
    let mut parts = parts();
    // p-1 and q-1 are even. Half of their product is therefore a common multiple.
    let half = (uint(&parts.p) - 1u8) * (uint(&parts.q) - 1u8) / 2u8;
    let smaller = uint(&parts.d) % &half;
    for d in [&smaller, &(&smaller + &half)] {
        parts.d = secret(d);
        assert!(private(&parts).is_ok());
    }
}
