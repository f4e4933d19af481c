//! Products of numbers in lane blocks.

use num_bigint::BigUint;
use tollgate_mont::{BlockKernel, Blocks, Kernel, LANES, LimbKernel, Pair, Row, Shape, Word};

use crate::family::Family;
use crate::operands::{modulus, number, operand};
use crate::rounds;

/// The same numbers with spare bits in use, as sums and results have them: one less in a block is
/// 2^51 more in the last digit of the block below.
fn borrow_spare_bits(rng: &mut fastrand::Rng, blocks: Blocks, rows: &mut [Row]) {
    for lane in 1..LANES {
        if lane % blocks.lanes() != 0 && rows[0].0[lane] != 0 && rng.bool() {
            rows[0].0[lane] -= 1;
            rows[blocks.k() - 1].0[lane - 1] += 1 << 51;
        }
    }
}

/// Products of numbers in lane blocks; returns how many were judged.
fn block_products(kernel: BlockKernel, bits: usize, rounds: usize, seed: u64) -> usize {
    let mut rng = fastrand::Rng::with_seed(seed ^ bits as u64);
    let blocks = Blocks::of_bits(bits).unwrap();
    let (k, r) = (blocks.k(), BigUint::from(1u8) << blocks.r_bits());
    let (mut z, mut t, mut judged) = (vec![Row::splat(rng.u64(..)); k], vec![], 0);
    for round in 0..rounds {
        // side by side: of different sizes too
        let size = |i: usize| if i == 1 && round % 3 == 0 { bits / 2 } else { bits };
        let p: Vec<_> = (0..2).map(|i| modulus(&mut rng, size(i), (round + i) % 7)).collect();
        let load = |m: &BigUint| LimbKernel::load(Shape::limbs(bits), core::slice::from_ref(m));
        let pair = Pair::new(load(&p[0]), load(&p[1]));
        let (set, p) = match pair.blocks() {
            Some(both) => (both, &p[..]),
            None => (pair.p().blocks().unwrap(), &p[..1]),
        };
        t.resize(set.scratch_words(), Row::splat(rng.u64(..)));
        for pair in 0..10 {
            let mut draw = |salt: usize| -> (Vec<BigUint>, Vec<Row>) {
                let mut rows = vec![Row::splat(rng.u64(..)); k];
                let x: Vec<_> = p
                    .iter()
                    .enumerate()
                    .map(|(i, m)| operand(&mut rng, m, &(m * 8u8), pair + i + salt))
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
            let ((x, xs), (y, ys)) = (draw(round), draw(round / 2));
            for square in [false, true] {
                let y = if square { &x } else { &y };
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
            judged += block_products(kernel, bits, rounds(200), 4);
        }
    }
    println!("products in blocks judged: {judged}");
    assert!(judged >= 40_000, "only {judged} products were judged");
}
