//! Compares every kernel with `num-bigint`: products, squares, selects and exponentiations, of
//! random and of patterned numbers, each lane by itself.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use num_bigint::BigUint;
use tollgate_judge::contract::{
    Layout, exponentiation, lane, limbs, modulus, number, operand, products, rounds, selects_of,
    spread,
};
use tollgate_mont::{
    BlockKernel, Blocks, Exponentiate, Kernel, LANES, LaneKernel, LimbKernel, Pair, Row, Shape,
    Windows, Word,
};

/// Sizes of a modulus in bits. They cover each tile width, with one tile and with several, full and
/// nearly empty.
const SIZES: [usize; 17] = [
    128, // the smallest supported
    255, // nearly RSA-512's primes
    256, 306,  // 6 digits with exactly the slack
    512,  // 10 digits, 8 limbs: RSA-1024's primes
    521,  // two tiles of 6 digits
    600,  // three tiles of 4 limbs
    774,  // 15 digits with exactly the slack
    1024, // 20 digits in one window
    1030, // too many bits for 20 digits
    1536, // 2 x 15 digits, 3 x 8 limbs
    2047, 2048, // 2 x 20 digits
    3072, 4096, // 4 x 20 digits
    6000, 8192, // the largest supported
];

#[test]
fn products_and_squares_are_right() {
    let mut judged = 0;
    for bits in SIZES {
        // the portable kernels and the checks are slow at the largest sizes
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
fn lanes_are_independent() {
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
                let m = Row::load(shape, &at(&moduli));
                let mut clean = fastrand::Rng::with_seed(0);
                let xs = spread::<Row>(&mut clean, k, &at(&x));
                let ys = spread::<Row>(&mut clean, k, &at(&y));
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

fn selects<K: Kernel>(kernel: K) {
    selects_of(kernel, &[(2, 3), (16, 10), (32, 20), (5, 1), (35, 4)]);
}

/// Selects numbers of every length, from tables of even and of odd size.
fn selects_in_blocks(kernel: BlockKernel) {
    selects_of(kernel, &[(16, 3), (32, 4), (5, 5), (4, 8), (1, 8), (35, 10)]);
}

#[test]
fn selects_are_right() {
    LimbKernel::all().into_iter().for_each(selects);
    LaneKernel::all().into_iter().for_each(selects);
    BlockKernel::all().into_iter().for_each(selects_in_blocks);
}

/// Sets spare bits, as sums and results do, without changing the numbers: subtracts 1 from a block
/// and adds 2^51 to the last digit of the next lower block.
fn borrow_spare_bits(rng: &mut fastrand::Rng, blocks: Blocks, rows: &mut [Row]) {
    for lane in 1..LANES {
        if lane % blocks.lanes() != 0 && rows[0].0[lane] != 0 && rng.bool() {
            rows[0].0[lane] -= 1;
            rows[blocks.k() - 1].0[lane - 1] += 1 << 51;
        }
    }
}

/// Returns the bounds of x and y for the modulus m and R = 2^`r_bits`.
type Bounds = fn(m: &BigUint, r: &BigUint) -> [BigUint; 2];

/// Checks products of numbers in lane blocks of this layout; returns the number of products.
fn block_products(
    kernel: BlockKernel,
    blocks: Blocks,
    bits: usize,
    rounds: usize,
    seed: u64,
    bounds: Bounds,
) -> usize {
    let mut rng = fastrand::Rng::with_seed(seed ^ bits as u64);
    let (k, r) = (blocks.k(), BigUint::from(1u8) << blocks.r_bits());
    let (mut z, mut t, mut judged) = (vec![Row::splat(rng.u64(..)); k], vec![], 0);
    for round in 0..rounds {
        // numbers of different sizes in one call
        let size = |i: usize| if i == 1 && round % 3 == 0 { bits / 2 } else { bits };
        let p = [0, 1].map(|i| modulus(&mut rng, size(i), (round + i) % 7));
        let [first, second] =
            p.each_ref().map(|m| u64::load(Shape::limbs(bits), core::slice::from_ref(m)));
        let pair = Pair::new(first, second);
        let set = pair.blocks().or(pair.p().blocks()).unwrap();
        let p = &p[..blocks.numbers()];
        t.resize(set.scratch_words(), Row::splat(rng.u64(..)));
        for pair in 0..10 {
            let mut draw = |salt: usize, which: usize| -> (Vec<BigUint>, Vec<Row>) {
                let mut rows = vec![Row::splat(rng.u64(..)); k];
                let x: Vec<_> = p
                    .iter()
                    .enumerate()
                    .map(|(i, m)| operand(&mut rng, m, &bounds(m, &r)[which], pair + i + salt))
                    .collect();
                for (i, x) in x.iter().enumerate() {
                    blocks.pack(&mut rows, i, &x.to_u64_digits());
                }
                borrow_spare_bits(&mut rng, blocks, &mut rows);
                for row in &mut rows {
                    row.0.iter_mut().for_each(|digit| *digit |= rng.u64(..) << 52);
                }
                (x, rows)
            };
            let ((x, xs), (y, ys)) = (draw(round, 0), draw(round / 2, 1));
            for square in [false, true] {
                let y = if square { &x } else { &y };
                if square && p.iter().any(|m| bounds(m, &r)[0] != bounds(m, &r)[1]) {
                    continue; // x^2 is above its bound
                }
                if square {
                    kernel.ams(&mut z, &xs, set, &mut t);
                } else {
                    kernel.amm(&mut z, &xs, &ys, set, &mut t);
                }
                for (i, m) in p.iter().enumerate() {
                    let mut limbs = vec![0; 66];
                    blocks.unpack(&mut limbs, &z, i);
                    let z: BigUint = number(&limbs);
                    let name = kernel.name();
                    assert!(z < m * 7u8, "{name} {bits} bits: number {i} is too large");
                    assert_eq!(&z * &r % m, &x[i] * &y[i] % m, "{name} {bits} bits: number {i}");
                    judged += 1;
                }
            }
        }
    }
    judged
}

#[test]
fn products_in_blocks_are_right() {
    let mut judged = 0;
    for bits in [256, 511, 512, 513, 1024, 1100, 1536, 1537, 2047, 2048, 2049, 3072, 4000, 4096] {
        for kernel in BlockKernel::all() {
            if let Some(blocks) = Blocks::of_bits(bits) {
                let mut judge = |count, seed, bounds| {
                    judged += block_products(kernel, blocks, bits, rounds(count), seed, bounds);
                };
                judge(200, 4, (|m, _| [m * 8u8, m * 8u8]) as Bounds);
                // the operands of the first product of an exponentiation; then, if they fit, sums
                // of two results
                judge(40, 5, |m, r| [r.clone(), m.clone()]);
                if blocks.takes_sums() {
                    judge(40, 6, |m, _| [m * 14u8, m * 14u8]);
                }
            }
        }
    }
    println!("products in blocks judged: {judged}");
    assert!(judged >= 40_000, "only {judged} products were judged");
}

#[test]
fn exponentiations_are_right() {
    // the sizes of modulus and exponent are independent
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

/// Checks primes of different sizes, in both orders, with x as large as the contract allows.
fn exponentiation_of_unlike_moduli(kernel: LimbKernel, p_bits: usize, q_bits: usize) {
    let mut rng = fastrand::Rng::with_seed((p_bits * 8191 + q_bits) as u64);
    let shape = Shape::limbs(p_bits.max(q_bits));
    let (k, e_bits, name) = (shape.k(), 9, kernel.name());
    let mut t = vec![5; kernel.exp_words(shape, e_bits)];
    for kind in [1, 3, 4, 5] {
        let (p, q) = (modulus(&mut rng, p_bits, kind), modulus(&mut rng, q_bits, kind));
        let load = |m: &BigUint| u64::load(shape, core::slice::from_ref(m));
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
            let x = x % &r; // below R, not only below the modulus
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

/// Any number of leading zero words is accepted.
#[test]
fn x_may_have_any_number_of_words() {
    let mut rng = fastrand::Rng::with_seed(12);
    for kernel in LimbKernel::all() {
        for bits in [128, 512, 1024, 4096] {
            let (m, shape) = (modulus(&mut rng, bits, 5), Shape::limbs(bits));
            let modulus = u64::load(shape, core::slice::from_ref(&m));
            let (x, mut z) = (&m * &m - 1u8, vec![6; shape.k()]);
            let mut t = vec![5; kernel.exp_words(shape, 5)];
            for words in [2 * shape.k(), 150, 400] {
                kernel.exp(&modulus, 5, &limbs(&x, words), &[19], &mut z, &mut t);
                let name = kernel.name();
                assert_eq!(number(&z), x.modpow(&19u8.into(), &m), "{name}: {bits}, {words}");
            }
        }
    }
}

/// Exponentiates with these lengths. A kernel must check them even if it exponentiates in blocks
/// and does not read all words.
fn exp_with(kernel: LimbKernel, z: usize, e: usize, t: usize) {
    let shape = Shape::limbs(512);
    let m = u64::load(shape, &[modulus(&mut fastrand::Rng::with_seed(1), 512, 5)]);
    let (mut z, mut t) = (vec![0; z], vec![0; kernel.exp_words(shape, 512) - t]);
    kernel.exp(&m, 512, &[3; 8], &vec![1; e], &mut z, &mut t);
}

#[test]
fn wrong_lengths_are_refused_by_every_kernel() {
    for kernel in LimbKernel::all() {
        exp_with(kernel, 8, 8, 0);
        for (what, z, e) in [("z", 7, 8), ("z", 9, 8), ("e", 8, 7)] {
            let refused = std::panic::catch_unwind(|| exp_with(kernel, z, e, 0));
            assert!(refused.is_err(), "{}: {what} of a wrong length was accepted", kernel.name());
        }
        let vartime = |x: usize, z: usize| {
            let m = u64::load(Shape::limbs(512), &[BigUint::from(65_537u32)]);
            let mut t = vec![0; kernel.exp_words(m.shape(), 1)];
            kernel.exp_vartime(&m, &vec![1; x], &[3], &mut vec![0; z], &mut t);
        };
        vartime(8, 8);
        for (x, z) in [(7, 8), (9, 8), (8, 7), (8, 9)] {
            let refused = std::panic::catch_unwind(|| vartime(x, z));
            assert!(refused.is_err(), "{}: x of {x} limbs, z of {z}", kernel.name());
        }
    }
}

#[test]
fn moduli_in_lane_blocks_are_refused_by_kernels_on_lanes() {
    let pair = [65_537u32, 257].map(|m| u64::load(Shape::limbs(512), &[m.into()]));
    let [p, q] = pair;
    let pair = Pair::new(p, q);
    let set = pair.blocks().unwrap();
    for kernel in LaneKernel::all() {
        let (x, e) = (vec![Row::splat(3); set.k()], [Row::splat(3)]);
        let run = |vartime: bool| {
            let mut z = x.clone();
            let mut t = vec![Row::default(); kernel.exp_words(set.shape(), 2)];
            if vartime {
                kernel.exp_vartime(set, &x, &e, &mut z, &mut t);
            } else {
                kernel.exp(set, 2, &x, &e, &mut z, &mut t);
            }
        };
        for vartime in [false, true] {
            assert!(std::panic::catch_unwind(|| run(vartime)).is_err(), "a wrong power");
        }
    }
}

/// Tables and windows of two streams. Operands and table entries go up to their bounds.
#[test]
fn tables_and_windows_take_every_operand() {
    for bits in [306, 512, 774, 1024, 1536, 2048] {
        LimbKernel::all()
            .into_iter()
            .for_each(|kernel| tables_and_windows(kernel.on_limbs(), bits));
        LaneKernel::all().into_iter().for_each(|kernel| tables_and_windows(kernel, bits));
    }
}

fn tables_and_windows<K: Exponentiate<Word: Layout>>(kernel: K, bits: usize) {
    const W: usize = 5;
    let mut rng = fastrand::Rng::with_seed(31);
    let (lanes, shape) = (K::Word::LANES, K::Word::shape(bits));
    let (k, r) = (shape.k(), BigUint::from(1u8) << shape.r_bits());
    let zeros = || vec![K::Word::default(); k];
    for kind in [1, 5, 9] {
        let moduli = [(); 2].map(|()| {
            (0..lanes).map(|_| modulus(&mut rng, bits, if kind == 1 { 1 } else { 5 })).collect()
        });
        let moduli: [Vec<BigUint>; 2] = moduli;
        let m = moduli.each_ref().map(|moduli| K::Word::load(shape, moduli));
        let mut draw = |s: usize| -> (Vec<BigUint>, Vec<K::Word>) {
            let of = |m: &BigUint, rng: &mut fastrand::Rng| {
                operand(rng, m, &K::Word::operand_bound(m, k), kind)
            };
            let x: Vec<_> = moduli[s].iter().map(|m| of(m, &mut rng)).collect();
            let words = spread(&mut rng, k, &x);
            (x, words)
        };
        let z = [draw(0), draw(1)];
        let entries = [0, 1].map(|s| (0..1 << W).map(|_| draw(s)).collect::<Vec<_>>());
        let mut e = [(); 2].map(|()| vec![K::Word::default()]);
        (0..lanes)
            .for_each(|l| e.iter_mut().for_each(|e| e[0].set_lane(l, rng.u64(..1 << (2 * W)))));
        let mut places = [0, 1].map(|s| {
            let table: Vec<_> = entries[s].iter().flat_map(|(_, words)| words.clone()).collect();
            (
                z[s].1.clone(),
                zeros(),
                zeros(),
                table,
                vec![K::Word::default(); shape.scratch_words()],
            )
        });
        let mut s = 0;
        let mut streams = places.each_mut().map(|(z, next, entry, table, t)| {
            let stream =
                Windows { z, next, entry, table, e: &e[s], index: K::Word::default(), m: &m[s], t };
            s += 1;
            stream
        });
        kernel.windows(2 * W, W, &mut streams);
        let results = streams.each_ref().map(|s| s.z.to_vec());
        kernel.table(&mut streams);
        for s in 0..2 {
            for l in 0..lanes {
                let (m, x) = (&moduli[s][l], &entries[s][1].0[l]);
                let by_r = r.modinv(m).unwrap();
                let product = |x: &BigUint, y: &BigUint| x * y * &by_r % m;
                let what = format!("{} {bits} bits, stream {s}, lane {l}", kernel.name());
                let mut want = z[s].0[l].clone();
                for at in [W, 0] {
                    (0..W).for_each(|_| want = product(&want, &want));
                    let index = usize::try_from(e[s][0].lane(l) >> at).unwrap() % (1 << W);
                    want = product(&want, &entries[s][index].0[l]);
                }
                let result = lane(&results[s], l);
                assert_eq!(&result % m, want, "{what}");
                assert!(K::Word::LANES == 1 || result < m * 3u8, "{what}");
                let table = &places[s].3;
                let mut want = x.clone();
                for (i, entry) in table.chunks_exact(k).enumerate().skip(2) {
                    want = product(&want, x);
                    assert_eq!(lane(entry, l) % m, want, "{what}, entry {i}");
                }
            }
        }
    }
}
