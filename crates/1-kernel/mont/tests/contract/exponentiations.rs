//! Exponentiations: secret and public exponents, one modulus and two, of any sizes.

use num_bigint::BigUint;
use tollgate_mont::{Kernel, LaneKernel, LimbKernel, Pair, Shape, Word};

use crate::family::{Family, spread};
use crate::operands::{lane, limbs, modulus, number, pattern};

/// x^e with e of `e_bits` bits, secret and public, one modulus and two; each lane with its own e.
fn exponentiation<K: Family>(kernel: K, bits: usize, e_bits: usize) {
    let mut rng = fastrand::Rng::with_seed((bits * 7919 + e_bits) as u64);
    let (lanes, shape, name) = (K::Word::LANES, K::shape(bits), kernel.name());
    let k = shape.k();
    let p: Vec<_> = (0..lanes).map(|_| modulus(&mut rng, bits, 5)).collect();
    let q: Vec<_> = (0..lanes).map(|l| modulus(&mut rng, bits - l % 2, 5)).collect();
    let pair = K::load_pair(shape, &p, &q);
    let mut t = vec![K::Word::splat(5); kernel.exp_words(shape, e_bits)]; // garbage
    let words = e_bits.div_ceil(64);
    let mut e_rng = rng.fork();
    let mut exponents = |salt: usize| -> (Vec<BigUint>, Vec<K::Word>) {
        // 0, 1, all ones and random
        let kind = |l: usize| [5, 0, 2, 1, 5, 5, 5, 5][(l + salt) % 8];
        let e: Vec<_> = (0..lanes).map(|l| pattern(&mut e_rng, e_bits, kind(l))).collect();
        let mut z = vec![K::Word::default(); words];
        for l in 0..lanes {
            z.iter_mut().zip(&limbs(&e[l], words)).for_each(|(z, &e)| z.set_lane(l, e));
        }
        (e, z)
    };
    for salt in 0..4 {
        let ((e_p, es_p), (e_q, es_q)) = (exponents(salt), exponents(salt + 2));
        // below p * q, and twice as long as a modulus; at its edges and random
        let x: Vec<_> = (0..lanes)
            .map(|l| match (l + salt) % 4 {
                0 => &p[l] * &q[l] - 1u8,
                1 => &p[l] * 3u8, // a multiple of p
                _ => (&p[l] * &q[l]) >> (l + 1),
            })
            .collect();
        let xs = spread::<K>(&mut rng, 2 * k, &x);
        let (mut z_p, mut z_q) = (vec![K::Word::splat(6); k], vec![K::Word::splat(6); k]);
        let judge = |z: &[K::Word], e: &[BigUint], m: &[BigUint], what: &str| {
            for l in 0..lanes {
                let want = x[l].modpow(&e[l], &m[l]);
                assert_eq!(lane(z, l), want, "{name} {bits} bits {what}: lane {l}");
            }
        };
        kernel.exp(pair.p(), e_bits, &xs, &es_p, &mut z_p, &mut t);
        judge(&z_p, &e_p, &p, "secret exponent");
        z_p.fill(K::Word::splat(7));
        kernel.exp_pair(&pair, e_bits, &xs, [&es_p, &es_q], [&mut z_p, &mut z_q], &mut t);
        judge(&z_p, &e_p, &p, "modulo p");
        judge(&z_q, &e_q, &q, "modulo q");
        let x: Vec<_> = x.iter().zip(&p).map(|(x, p)| x % p).collect();
        let odd: Vec<_> = es_p.iter().map(|e| e.zip(*e, |e, _| e | 1)).collect();
        let odd = if words == 1 { odd } else { [&odd[..1], &es_p[1..]].concat() };
        let e: Vec<_> = e_p.iter().map(|e| e | BigUint::from(1u8)).collect();
        kernel.exp_vartime(pair.p(), &spread::<K>(&mut rng, k, &x), &odd, &mut z_p, &mut t);
        for l in 0..lanes {
            let want = x[l].modpow(&e[l], &p[l]);
            assert_eq!(lane(&z_p, l), want, "{name} {bits} bits public exponent: lane {l}");
        }
    }
}

#[test]
fn exponentiations_are_right() {
    // the modulus' and the exponent's sizes are independent
    let sizes = [
        (128, 3),
        (256, 256),
        (512, 517),
        (521, 64),
        (1024, 64),
        (1024, 1024),
        (1536, 100),
        (2000, 70),
        (2048, 64),
        (2100, 20),
    ];
    for (bits, e_bits) in sizes {
        LimbKernel::all().into_iter().for_each(|k| exponentiation(k, bits, e_bits));
        LaneKernel::all().into_iter().for_each(|k| exponentiation(k, bits, e_bits));
    }
}

/// Primes of different sizes, either one the longer; x as large as the contract allows.
fn exponentiation_of_unlike_moduli(kernel: LimbKernel, p_bits: usize, q_bits: usize) {
    let mut rng = fastrand::Rng::with_seed((p_bits * 8191 + q_bits) as u64);
    let shape = Shape::limbs(p_bits.max(q_bits));
    let (k, e_bits, name) = (shape.k(), 9, kernel.name());
    let mut t = vec![5; kernel.exp_words(shape, e_bits)];
    for kind in [1, 3, 4, 5] {
        let (p, q) = (modulus(&mut rng, p_bits, kind), modulus(&mut rng, q_bits, kind));
        let load = |m: &BigUint| LimbKernel::load(shape, core::slice::from_ref(m));
        let pair = Pair::new(load(&p), load(&q));
        let r = BigUint::from(1u8) << (64 * k);
        let e = [rng.u64(..) >> (64 - e_bits), rng.u64(..) >> (64 - e_bits)];
        for x in [&r * &r - 1u8, (&r * &r - 1u8) / &p * &p, &q - 1u8, &p * &q - 1u8] {
            let (mut z_p, mut z_q) = (vec![6; k], vec![6; k]);
            let (xs, es) = (limbs(&x, 2 * k), e.map(|e| [e]));
            kernel.exp_pair(&pair, e_bits, &xs, [&es[0], &es[1]], [&mut z_p, &mut z_q], &mut t);
            for (z, e, m) in [(&z_p, e[0], &p), (&z_q, e[1], &q)] {
                assert_eq!(number(z), x.modpow(&e.into(), m), "{name}: {p_bits}, {q_bits} bits");
            }
            let x = x % &r; // any number of limbs, not only one below the modulus
            kernel.exp_vartime(pair.q(), &limbs(&x, k), &[65_537], &mut z_q, &mut t);
            assert_eq!(number(&z_q), x.modpow(&65_537u32.into(), &q), "{name}: {q_bits} bits");
        }
    }
}

#[test]
fn moduli_of_a_pair_may_differ_in_size() {
    for (long, short) in [
        (256, 255),
        (512, 2), // a modulus of 3
        (512, 40),
        (521, 512),
        (1024, 513),
        (1040, 520),
        (1537, 1000),
        (2048, 32),
        (2049, 2047),
        (3072, 1536),
        (4096, 33),
        (4096, 4095),
    ] {
        for kernel in LimbKernel::all() {
            exponentiation_of_unlike_moduli(kernel, long, short);
            exponentiation_of_unlike_moduli(kernel, short, long);
        }
    }
}
