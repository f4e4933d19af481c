//! Checks the rules of the search, and its primes by OpenSSL.

use num_bigint::BigUint;
use openssl::bn::{BigNum, BigNumContext};
use openssl::pkey::PKey;
use pkcs8::EncodePrivateKey as _;
use tollgate_mont::{LaneKernel, LimbKernel};

use super::search::are_apart;
use super::*;
use crate::error::{Prime, Rejected};
use crate::parts::KeyParts;
use crate::test_keys;

fn of(bytes: &[u8]) -> BigUint {
    BigUint::from_bytes_be(bytes)
}

fn bits_of(x: &BigUint) -> usize {
    usize::try_from(x.bits()).unwrap()
}

fn power_of_two(exponent: usize) -> BigUint {
    BigUint::from(1u8) << exponent
}

fn is_prime(bytes: &[u8]) -> bool {
    let (w, mut context) = (BigNum::from_slice(bytes).unwrap(), BigNumContext::new().unwrap());
    w.is_prime(32, &mut context).unwrap()
}

/// Returns a seeded source.
fn seeded(seed: u64) -> impl FnMut(&mut [u8]) -> Result<(), Error> {
    let mut rng = fastrand::Rng::with_seed(seed);
    move |bytes| {
        rng.fill(bytes);
        Ok(())
    }
}

/// Checks a key against FIPS 186-5, A.1.1 and A.1.3, and against OpenSSL.
fn check(key: &PrivateKey, bits: usize) {
    let KeyParts { n, e, d, p, q, d_p, d_q, q_inv } = key.to_parts();
    let [n, e, d, p, q] = [&n, &e, &*d, &*p, &*q].map(|x| of(x));
    let one = BigUint::from(1u8);
    assert_eq!((bits_of(&n), key.bits()), (bits, bits));
    assert_eq!(&p * &q, n);
    for prime in [&p, &q] {
        assert!(prime * prime >= power_of_two(bits - 1) && bits_of(prime) == bits / 2);
    }
    let apart = if p > q { &p - &q } else { &q - &p };
    assert!(apart > power_of_two(bits / 2 - 100));
    let (p_1, q_1) = (&p - 1u8, &q - 1u8);
    let lcm = {
        let (mut a, mut b) = (p_1.clone(), q_1.clone());
        while b != BigUint::ZERO {
            (a, b) = (b.clone(), a % b);
        }
        &p_1 * &q_1 / a
    };
    assert!(d < lcm && d > power_of_two(bits / 2) && &d * &e % &lcm == one);
    assert_eq!((of(&d_p), of(&d_q)), (&d % &p_1, &d % &q_1));
    assert!(of(&q_inv) * &q % &p == one && of(&q_inv) < p);

    // also that p and q are prime
    let theirs = PKey::private_key_from_der(key.to_pkcs8_der().unwrap().as_bytes()).unwrap();
    assert!(theirs.rsa().unwrap().check_key().unwrap());
}

#[test]
fn small_keys_of_every_kernel_are_valid() {
    for kernel in LimbKernel::all() {
        let mut ws = Workspace::with_kernels(kernel, LaneKernel::best());
        // whole limbs, and 1 and 63 bits above them
        for bits in [512, 514, 766, 1024] {
            let key = Generation::insecure(bits).run(&mut ws).unwrap();
            check(&key, bits);
        }
    }
}

#[test]
fn large_and_many_keys_are_valid() {
    let long = std::env::var_os("TOLLGATE_TEST_LONG").is_some();
    let (sizes, many): (&[usize], _) =
        if long { (&[2048, 2050, 3072, 4096, 6000, 8192], 300) } else { (&[2048, 2050], 3) };
    let mut ws = Workspace::new().unwrap();
    for bits in sizes {
        let key = PrivateKey::generate(*bits).unwrap();
        assert!(!key.is_insecure() && key.public().exponent() == [1, 0, 1]);
        check(&key, *bits);
    }
    for _ in 0..many {
        check(&Generation::insecure(1024).run(&mut ws).unwrap(), 1024);
    }
}

/// Tests the check of untrusted primes. The composite replaces a prime and is consistent with all
/// other numbers of the key.
#[test]
fn primes_of_keys_are_checked() {
    assert_eq!(test_keys::key("rsa-1024").check_primes(), Ok(()));
    let prime: BigUint = power_of_two(256) - 189u8;
    let composite: BigUint = 3u8 * (power_of_two(254) + 79u8);
    for (p, q, which) in [(&prime, &composite, Prime::Q), (&composite, &prime, Prime::P)] {
        let e = derive::Exponent::new(&[1, 0, 1]);
        let [p_limbs, q_limbs] = [p, q].map(BigUint::to_u64_digits);
        let parts = derive::key_parts(LimbKernel::Portable, &p_limbs, &q_limbs, &e, 512);
        let mut parts = parts.unwrap();
        parts.q_inv = Zeroizing::new(q.modinv(p).unwrap().to_bytes_be());
        let key = PrivateKey::from_parts(&parts).unwrap();
        assert_eq!(key.check_primes(), Err(Rejected::PrimeComposite(which).into()));
    }
}

#[test]
fn unusual_exponents_have_keys() {
    let mut ws = Workspace::new().unwrap();
    let long = [0xff; 32]; // 2^256 - 1 = 3 * 5 * 17 * ...: few primes are coprime
    for e in [&[3][..], &[1, 0, 3], &[105], &long, &[0, 0, 1, 0, 1]] {
        let key = Generation::insecure(512).exponent(e).run(&mut ws).unwrap();
        assert_eq!(of(&key.public().exponent()), of(e));
        check(&key, 512);
    }
}

#[test]
fn invalid_parameters_are_refused() {
    let mut ws = Workspace::new().unwrap();
    let mut refused = |generation: Generation<'_>| generation.run(&mut ws).map(|_| ()).unwrap_err();
    for (bits, least_bits) in [(0, 2048), (512, 2048), (2046, 2048), (2049, 2048), (8194, 2048)] {
        let expected = Misuse::NewKeyBits { bits, least_bits }.into();
        assert_eq!(refused(Generation::new(bits)), expected);
    }
    for bits in [510, 513, usize::MAX] {
        let expected = Misuse::NewKeyBits { bits, least_bits: 512 }.into();
        assert_eq!(refused(Generation::insecure(bits)), expected);
    }
    let above = [&[1][..], &[0; 32]].concat();
    for e in [&[][..], &[0], &[1], &[3], &[0xff, 0xff], &[1, 0, 0], &above] {
        assert_eq!(refused(Generation::new(2048).exponent(e)), Misuse::NewKeyExponent.into());
    }
    for e in [&[][..], &[1], &[2], &above] {
        assert_eq!(refused(Generation::insecure(512).exponent(e)), Misuse::NewKeyExponent.into());
    }
}

#[test]
fn the_first_two_primes_are_taken_in_order() {
    let mut ws = Workspace::new().unwrap();
    for seed in 0..3 {
        let (mut random, mut drawn) = (seeded(seed), Vec::new());
        let key = Generation::insecure(1024)
            .run_with(&mut ws, &mut |bytes| {
                random(bytes)?;
                drawn.push(bytes.to_vec());
                Ok(())
            })
            .unwrap();
        let mut primes = drawn.into_iter().filter_map(|mut bytes| {
            bytes[0] |= 0x80;
            bytes[63] |= 1;
            let w = of(&bytes);
            let wanted = &w * &w >= power_of_two(1023) && (&w - 1u8) % 65537u32 != BigUint::ZERO;
            (wanted && is_prime(&bytes)).then_some(w)
        });
        let parts = key.to_parts();
        assert_eq!(of(&parts.p), primes.next().unwrap());
        assert_eq!(of(&parts.q), primes.next().unwrap());
    }
}

#[test]
fn a_broken_source_ends_the_search() {
    let mut ws = Workspace::new().unwrap();
    let mut run = |random: Random<'_>| {
        Generation::insecure(512).run_with(&mut ws, random).map(|_| ()).unwrap_err()
    };
    let ended = Error::from(Unavailable::Primes { tried: 20 * 512 });
    // 0: no candidate is in range; 0xff: every candidate is divisible by 3
    for byte in [0, 0xff] {
        let mut source = |bytes: &mut [u8]| {
            bytes.fill(byte);
            Ok(())
        };
        assert_eq!(run(&mut source), ended);
    }
    // every candidate is the same prime
    let prime = (power_of_two(256) - 189u8).to_bytes_be();
    let mut source = |bytes: &mut [u8]| {
        bytes.copy_from_slice(&prime);
        Ok(())
    };
    assert_eq!(run(&mut source), ended);
    let none = Error::from(Unavailable::Random);
    assert_eq!(run(&mut |_| Err(Unavailable::Random.into())), none);
}

#[test]
fn the_distance_of_primes_is_exact() {
    let bits = 256;
    let p = power_of_two(255) + 12345u32;
    for (distance, apart) in [
        (BigUint::ZERO, false),
        (power_of_two(156) - 2u8, false),
        (power_of_two(156), false),
        (power_of_two(156) + 2u8, true),
        (power_of_two(254), true),
    ] {
        let q = &p + &distance;
        let (p, q) = (p.to_u64_digits(), q.to_u64_digits());
        assert_eq!((are_apart(&p, &q, bits), are_apart(&q, &p, bits)), (apart, apart));
    }
}

#[test]
fn progress_is_reported() {
    let mut told = Vec::new();
    let mut ws = Workspace::new().unwrap();
    let mut watch = |progress| told.push(progress);
    Generation::insecure(512).watched(&mut watch).run(&mut ws).unwrap();
    assert!(told.windows(2).all(|two| two[0].tested + 1 == two[1].tested));
    assert!(told.iter().all(|progress| progress.expected > 0));
    assert_eq!(told.last().unwrap().primes, 2);
}

#[test]
fn nothing_secret_is_left_in_the_workspace() {
    let mut ws = Workspace::new().unwrap();
    Generation::insecure(512).run(&mut ws).unwrap();
    assert!(ws.lanes.is_wiped() && ws.limbs.is_wiped());
}
