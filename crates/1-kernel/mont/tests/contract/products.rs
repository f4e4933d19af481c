//! Products and squares, on limbs and in lanes.

use num_bigint::BigUint;
use tollgate_mont::{Kernel as _, LANES, LaneKernel, LimbKernel, Row, Shape, Word};

use crate::family::{Family, spread};
use crate::operands::{lane, modulus, operand};
use crate::rounds;

/// Sizes of a modulus in bits: each block width, alone and in rows of blocks, full and nearly
/// empty.
const SIZES: [usize; 17] = [
    128, // the smallest promised
    255, // RSA-512's primes, nearly
    256, 306,  // 6 digits with exactly the slack
    512,  // 10 digits, 8 limbs: RSA-1024's primes
    521,  // two blocks of 6 digits
    600,  // three blocks of 4 limbs
    774,  // 15 digits with exactly the slack
    1024, // 20 digits in one window
    1030, // one block more than 20 digits can hold
    1536, // 2 x 15 digits, 3 x 8 limbs
    2047, 2048, // 2 x 20 digits
    3072, 4096, // 4 x 20 digits
    6000, 8192, // the largest promised
];

/// Products and squares of one size; returns how many were judged.
fn products<K: Family>(kernel: K, bits: usize, rounds: usize, seed: u64) -> usize {
    let mut rng = fastrand::Rng::with_seed(seed ^ bits as u64);
    let (lanes, shape) = (K::Word::LANES, K::shape(bits));
    let (k, r) = (shape.k(), BigUint::from(1u8) << (K::RADIX_BITS * shape.k()));
    let mut t = vec![K::Word::splat(rng.u64(..)); shape.scratch_words()]; // garbage must not matter
    let (mut z, mut judged) = (vec![K::Word::splat(rng.u64(..)); k], 0);
    for round in 0..rounds {
        // neighbours have different sizes too: a lane's modulus may be far shorter than the shape
        let moduli: Vec<_> = (0..lanes)
            .map(|l| if l == 5 && bits > 400 { bits / 2 } else { bits })
            .map(|bits| modulus(&mut rng, bits, round % 7))
            .collect();
        let m = K::load(shape, &moduli);
        for pair in 0..10 {
            let mut draw = |salt: usize| -> Vec<BigUint> {
                let kind = |l: usize| {
                    if pair < 5 { (pair + l + salt) % 10 } else { 5 + 5 * (l % 2) }
                };
                let bound = |l: usize| K::operand_bound(&moduli[l], k);
                (0..lanes).map(|l| operand(&mut rng, &moduli[l], &bound(l), kind(l))).collect()
            };
            let (x, y) = (draw(round), draw(round / 2));
            let (xs, ys) = (spread::<K>(&mut rng, k, &x), spread::<K>(&mut rng, k, &y));
            for square in [false, true] {
                let y = if square { &x } else { &y };
                if square {
                    kernel.ams(&mut z, &xs, &m, &mut t);
                } else {
                    kernel.amm(&mut z, &xs, &ys, &m, &mut t);
                }
                for l in 0..lanes {
                    let (z, m, xy) = (lane(&z, l), &moduli[l], &x[l] * &y[l]);
                    let name = if square { kernel.square_name() } else { kernel.name() };
                    assert_eq!(&z * &r % m, &xy % m, "{name} {bits} bits: lane {l} is wrong");
                    assert!(
                        xy > &r * m || z < m * 3u8,
                        "{name} {bits} bits: lane {l} is too large"
                    );
                    judged += 1;
                }
            }
        }
    }
    judged
}

#[test]
fn products_and_squares_are_right() {
    let mut judged = 0;
    for bits in SIZES {
        // the portable kernels are slow at the largest sizes, and the judge too
        let n = rounds(if bits > 2048 { 6 } else { 100 });
        for kernel in LimbKernel::all() {
            judged += products(kernel, bits, n * 4, 1);
        }
        for kernel in LaneKernel::all() {
            judged += products(kernel, bits, n, 2);
        }
    }
    println!("products judged: {judged}");
    assert!(judged >= 100_000, "only {judged} products were judged");
}

#[test]
fn a_lane_does_not_depend_on_its_neighbours() {
    let mut rng = fastrand::Rng::with_seed(3);
    for kernel in LaneKernel::all() {
        for bits in [306, 512, 1024, 1536, 2048, 3072] {
            let shape = Shape::digits(bits);
            let k = shape.k();
            let moduli: Vec<_> = (0..LANES).map(|l| modulus(&mut rng, bits, l)).collect();
            let x: Vec<_> = moduli.iter().map(|m| operand(&mut rng, m, m, 5)).collect();
            let y: Vec<_> = moduli.iter().map(|m| operand(&mut rng, m, m, 5)).collect();
            let run = |order: &[usize; LANES], z: &mut [Row]| {
                let at = |v: &[BigUint]| order.iter().map(|&l| v[l].clone()).collect::<Vec<_>>();
                let m = LaneKernel::load(shape, &at(&moduli));
                let mut clean = fastrand::Rng::with_seed(0);
                let xs = spread::<LaneKernel>(&mut clean, k, &at(&x));
                let ys = spread::<LaneKernel>(&mut clean, k, &at(&y));
                let mut t = vec![Row::default(); shape.scratch_words()];
                kernel.amm(z, &xs, &ys, &m, &mut t);
            };
            let (mut z, mut p) = (vec![Row::default(); k], vec![Row::default(); k]);
            let mut order = [0, 1, 2, 3, 4, 5, 6, 7];
            run(&order, &mut z);
            for _ in 0..10 {
                rng.shuffle(&mut order);
                run(&order, &mut p);
                for (at, &l) in order.iter().enumerate() {
                    assert_eq!(lane(&p, at), lane(&z, l), "{} {bits} bits", kernel.name());
                }
            }
        }
    }
}
