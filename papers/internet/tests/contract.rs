//! Every variant passes the checks of the engine's kernels, and so do exponentiations with every
//! window.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use num_bigint::BigUint;
use tollgate_judge::contract::{
    exponentiation, limbs, modulus, number, pattern, products, rounds, selects_of,
};
use tollgate_mont::{Exponentiate, Kernel, LimbKernel, Modulus, Shape};
use tollgate_variants::{
    Method, Numbers, PublicExponent, Unroll, Variant, WIDTH_MAX, fixed_window, scratch_words,
    sliding_window_vartime,
};

/// A variant that computes its constants in each call, since the checks use their own moduli.
#[derive(Clone, Copy, Debug)]
struct Tested(Variant);

impl Exponentiate for Tested {}

impl Kernel for Tested {
    type Word = u64;

    fn name(self) -> &'static str {
        self.0.method.name()
    }
    fn square_name(self) -> &'static str {
        self.0.method.square_name()
    }
    fn amm(self, z: &mut [u64], x: &[u64], y: &[u64], m: &Modulus<u64>, t: &mut [u64]) {
        self.0.kernel(&Numbers::of(m)).amm(z, x, y, m, t);
    }
    fn ams(self, z: &mut [u64], x: &[u64], m: &Modulus<u64>, t: &mut [u64]) {
        self.0.kernel(&Numbers::of(m)).ams(z, x, m, t);
    }
    fn select(self, z: &mut [u64], table: &[u64], index: u64) {
        let m = Modulus::<u64>::new(&[5], Shape::limbs(128)).unwrap();
        self.0.kernel(&Numbers::of(&m)).select(z, table, index);
    }
}

fn all() -> impl Iterator<Item = Tested> {
    let unrolled =
        |method| Unroll::ALL.into_iter().map(move |unroll| Tested(Variant { method, unroll }));
    Method::ALL.into_iter().flat_map(unrolled)
}

#[test]
fn products_and_squares_are_right() {
    let mut checked = 0;
    for variant in all() {
        // 8, 12, 16 and more limbs: loops with and without a remainder; Karatsuba with halves of
        // odd length
        for (bits, n) in
            [(128, 60), (255, 60), (512, 60), (600, 60), (768, 20), (1024, 20), (2048, 4)]
        {
            checked += products(variant, bits, rounds(n), 5);
        }
    }
    println!("products checked: {checked}");
    assert!(checked >= 100_000, "only {checked} products were checked");
}

#[test]
fn every_size_of_the_study_is_right() {
    for method in Method::ALL {
        for bits in [1536, 3072, 4096, 8192] {
            products(Tested(Variant { method, unroll: Unroll::Four }), bits, rounds(1), 6);
        }
    }
}

#[test]
fn selects_and_the_engines_exponentiations_are_right() {
    for method in Method::ALL {
        let variant = Tested(Variant { method, unroll: Unroll::Two });
        selects_of(variant, &[(16, 8), (5, 1)]);
        exponentiation(variant, 256, 70);
    }
}

/// Checks x^e mod m by both windows, for exponents and bases of all patterns.
fn windows<K: Exponentiate<Word = u64>>(
    kernel: K,
    width: usize,
    m: (&Modulus<u64>, &BigUint),
    e_bits: usize,
) {
    let (m, modulus) = m;
    let (k, mut rng) = (m.k(), fastrand::Rng::with_seed(e_bits as u64));
    let mut t = vec![u64::MAX; scratch_words(k, width, m.scratch_words())]; // garbage
    for kind in 0..9 {
        let e = pattern(&mut rng, e_bits, kind);
        let x = pattern(&mut rng, 64 * k, (kind + 5) % 9); // any number of K limbs
        let (want, mut z) = (x.modpow(&e, modulus), vec![7; k]);
        let (x, e) = (limbs(&x, k), limbs(&e, e_bits.div_ceil(64)));
        fixed_window(kernel, width, m, e_bits, &x, &e, &mut z, &mut t);
        assert_eq!(number(&z), want, "{} fixed {width}, {e_bits} bits", kernel.name());
        let public = PublicExponent::declassify(&e);
        z.fill(8);
        sliding_window_vartime(kernel, width, m, &x, &public, &mut z, &mut t);
        assert_eq!(number(&z), want, "{} sliding {width}, {e_bits} bits", kernel.name());
    }
}

#[test]
fn exponentiations_by_every_window_are_right() {
    let mut rng = fastrand::Rng::with_seed(9);
    for bits in [128, 500] {
        let big = modulus(&mut rng, bits, 5);
        let m = Modulus::<u64>::new(&big.to_u64_digits(), Shape::limbs(bits)).unwrap();
        let numbers = Numbers::of(&m);
        for width in 1..=WIDTH_MAX {
            for e_bits in [1, 7, 64, 130, 500] {
                windows(LimbKernel::best().on_limbs(), width, (&m, &big), e_bits);
                let variant = Variant { method: Method::Fips, unroll: Unroll::Four };
                windows(variant.kernel(&numbers), width, (&m, &big), e_bits);
            }
        }
    }
}

#[test]
fn constants_of_another_modulus_are_refused() {
    let [a, b] = [3, 5].map(|m| Modulus::<u64>::new(&[m], Shape::limbs(128)).unwrap());
    let numbers = Numbers::of(&a);
    let kernel = Variant { method: Method::Sos, unroll: Unroll::One }.kernel(&numbers);
    let run = |m: &Modulus<u64>, z: usize| {
        let mut t = vec![0; m.scratch_words()];
        kernel.amm(&mut vec![0; z], &[1; 4], &[1; 4], m, &mut t);
    };
    run(&a, 4);
    for (m, z) in [(&b, 4), (&a, 3), (&a, 5)] {
        assert!(std::panic::catch_unwind(|| run(m, z)).is_err(), "{z} limbs were accepted");
    }
}
