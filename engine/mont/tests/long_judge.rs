//! Checks ten million products of each size on every kernel of this machine, random and patterned,
//! if `TOLLGATE_TEST_LONG` is set in a release build. Otherwise checks only enough products to test
//! the checker.
//!
//! The checker is as fast as the kernels, since it checks many products of one modulus together.
//! After the products `z_i :== x_i * y_i / R` (mod m), it chooses random coefficients `c_i`. The
//! sums of `c_i * x_i * y_i` and of `R * c_i * z_i` must be congruent mod m. A batch with a wrong
//! `z_i` passes with a probability of about `2^-64`, or `1/f` if the error is nonzero only modulo a
//! factor `f` of m. This file computes sums and products by schoolbook arithmetic on limbs. The one
//! division per batch, and every product of a failed batch, use `num-bigint`. The slower test
//! `contract.rs` checks each product by itself.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::time::Instant;

use num_bigint::BigUint;
use tollgate_mont::{
    BlockKernel, Blocks, Digit, Kernel, LANES, LaneKernel, LimbKernel, Modulus, Pair, Place, Row,
    Scalar, Shape, Word,
};

/// The number of calls for each modulus or set of moduli, alternately products and squares.
const CALLS: usize = 512;

type Limbs = Vec<u64>;

/// z := x * y, or x^2 if there is no y, for one or several numbers in one call.
type Multiply<'a> = Box<dyn FnMut(&mut [Limbs], &[Limbs], Option<&[Limbs]>) + 'a>;

/// A kernel with its moduli.
struct Subject<'a> {
    name: &'static str,
    r_bits: usize,
    /// True if operands are below 8m; false if they are below R.
    below_8m: bool,
    /// Results are below `z_max` * m, or below R if `z_max` is 0.
    z_max: u64,
    multiply: Multiply<'a>,
}

fn number(x: &[u64]) -> BigUint {
    BigUint::new(x.iter().flat_map(|&x| [low(x), low(x >> 32)]).collect())
}

#[allow(clippy::cast_possible_truncation, reason = "takes the low half")]
fn low(x: u64) -> u32 {
    x as u32
}

fn limbs(x: &BigUint, n: usize) -> Limbs {
    let mut v = x.to_u64_digits();
    assert!(v.len() <= n, "{} limbs, not {n}", v.len());
    v.resize(n, 0);
    v
}

/// acc += x * c
fn add_product(acc: &mut [u64], x: &[u64], c: u64) {
    let mut carry = 0u128;
    let (low, high) = acc.split_at_mut(x.len());
    for (acc, x) in low.iter_mut().zip(x) {
        carry += u128::from(*x) * u128::from(c) + u128::from(*acc);
        *acc = lower(carry);
        carry >>= 64;
    }
    for acc in high {
        carry += u128::from(*acc);
        *acc = lower(carry);
        carry >>= 64;
    }
    assert!(carry == 0, "the sum is long enough");
}

#[allow(clippy::cast_possible_truncation, reason = "takes the low half")]
fn lower(x: u128) -> u64 {
    x as u64
}

fn is_less(x: &[u64], y: &[u64]) -> bool {
    for at in (0..x.len().max(y.len())).rev() {
        let [x, y] = [x, y].map(|x| x.get(at).copied().unwrap_or(0));
        if x != y {
            return x < y;
        }
    }
    false
}

/// The sums of one modulus.
struct Referee {
    m: BigUint,
    z_max: Option<Limbs>,
    xy: Limbs,
    z: Limbs,
    /// `x_i * y_i`
    product: Limbs,
}

impl Referee {
    fn new(m: &BigUint, n: usize, z_max: u64) -> Self {
        Self {
            m: m.clone(),
            z_max: (z_max > 0).then(|| limbs(&(m * z_max), n + 1)),
            xy: vec![0; 2 * n + 2],
            z: vec![0; n + 2],
            product: vec![0; 2 * n],
        }
    }

    fn hear(&mut self, z: &[u64], x: &[u64], y: &[u64], c: u64) -> bool {
        self.product.fill(0);
        for (at, y) in y.iter().enumerate() {
            add_product(&mut self.product[at..=at + x.len()], x, *y);
        }
        add_product(&mut self.xy, &self.product, c);
        add_product(&mut self.z, z, c);
        self.z_max.as_ref().is_none_or(|most| is_less(z, most))
    }

    fn agrees(&self, r_bits: usize) -> bool {
        (number(&self.z) << r_bits) % &self.m == number(&self.xy) % &self.m
    }
}

/// Returns an odd modulus of exactly `bits` bits: random, all ones, or with long runs of zeros.
fn modulus(rng: &mut fastrand::Rng, bits: usize) -> BigUint {
    let kind = rng.u32(..8);
    let mut m: Limbs = (0..bits / 64)
        .map(|_| match kind {
            0 => u64::MAX, // every column carries
            1 => 0,        // only the top bit and bit 0 are set
            2 => u64::from(rng.bool()).wrapping_neg(),
            _ => rng.u64(..),
        })
        .collect();
    m[0] |= 1;
    m[bits / 64 - 1] |= 1 << 63;
    number(&m)
}

/// Operands at the bounds for one modulus.
struct Edges(Vec<Limbs>);

impl Edges {
    fn new(m: &BigUint, n: usize, below_8m: bool, r_bits: usize) -> Self {
        let one = BigUint::from(1u8);
        let most = if below_8m { m * 8u8 - 1u8 } else { (&one << r_bits) - 1u8 };
        // a number of this many bits is always below 8m
        let ones = (&one << (m.bits() + 2).min(r_bits as u64)) - 1u8;
        let edges = [BigUint::ZERO, one, m - 1u8, m.clone(), m * 2u8 - 1u8, ones, most.clone()];
        Self(edges.iter().filter(|x| **x <= most).map(|x| limbs(x, n)).collect())
    }

    /// Writes an operand to `x`. One in four is at a bound, or has words of zeros and ones.
    fn operand(&self, rng: &mut fastrand::Rng, x: &mut [u64], bits: usize) {
        let kind = rng.usize(..64);
        if let Some(edge) = self.0.get(kind) {
            return x.copy_from_slice(edge);
        }
        let words = (8..16).contains(&kind);
        for (at, limb) in x.iter_mut().enumerate() {
            let drawn = rng.u64(..);
            let drawn = if words { (drawn & 1).wrapping_neg() } else { drawn };
            let left = bits.saturating_sub(64 * at).min(64);
            *limb = if left == 0 { 0 } else { drawn >> (64 - left) };
        }
    }
}

/// Runs [`CALLS`] calls and corrupts the products of one of them. `Err` names the wrong product.
fn batch(
    engine: &mut Subject<'_>,
    moduli: &[BigUint],
    rng: &mut fastrand::Rng,
    spoil: Option<usize>,
) -> Result<usize, String> {
    let mut again = rng.clone();
    if hearing(engine, moduli, rng, spoil, false) {
        return Ok(CALLS * moduli.len());
    }
    // repeat the batch and check each product
    hearing(engine, moduli, &mut again, spoil, true);
    Err(format!("{}: a batch is wrong, but none of its products", engine.name))
}

/// Returns `true` if all products are right. With `alone`, checks each product by itself.
fn hearing(
    engine: &mut Subject<'_>,
    moduli: &[BigUint],
    rng: &mut fastrand::Rng,
    spoil: Option<usize>,
    alone: bool,
) -> bool {
    let bits = usize::try_from(moduli[0].bits()).unwrap();
    let n = engine.r_bits.div_ceil(64);
    let (count, z_max) = (moduli.len(), engine.z_max);
    let edges: Vec<_> =
        moduli.iter().map(|m| Edges::new(m, n, engine.below_8m, engine.r_bits)).collect();
    let operand_bits = if engine.below_8m { bits + 2 } else { engine.r_bits };
    let fresh = || moduli.iter().map(|m| Referee::new(m, n, z_max)).collect::<Vec<_>>();
    let mut referees = fresh();
    let [mut x, mut y, mut z] = [(); 3].map(|()| vec![vec![0; n]; count]);
    let mut right = true;
    for call in 0..CALLS {
        for (at, edges) in edges.iter().enumerate() {
            edges.operand(rng, &mut x[at], operand_bits);
            edges.operand(rng, &mut y[at], operand_bits);
        }
        let square = call % 2 == 1;
        (engine.multiply)(&mut z, &x, (!square).then_some(&y[..]));
        if spoil == Some(call) {
            z[call % count][call % n] ^= 1 << (call % 64);
        }
        for at in 0..count {
            let y = if square { &x[at] } else { &y[at] };
            right &= referees[at].hear(&z[at], &x[at], y, rng.u64(..));
            if alone {
                assert!(
                    right && referees[at].agrees(engine.r_bits),
                    "{} {bits} bits: number {at} of call {call} is wrong: square {square}, m {:x}, \
                     x {:x}, y {:x}, z {:x}",
                    engine.name,
                    moduli[at],
                    number(&x[at]),
                    number(y),
                    number(&z[at]),
                );
            }
        }
        if alone {
            referees = fresh();
        }
    }
    right && referees.iter().all(|referee| referee.agrees(engine.r_bits))
}

fn limb_engine(kernel: LimbKernel, bits: usize, m: &[BigUint]) -> Subject<'static> {
    let m = Modulus::<u64>::new(&m[0].to_u64_digits(), Shape::limbs(bits)).unwrap();
    let mut t = vec![5; m.scratch_words()];
    Subject {
        name: kernel.name(),
        r_bits: 64 * m.k(),
        below_8m: false,
        z_max: 0,
        multiply: Box::new(move |z, x, y| match y {
            Some(y) => kernel.amm(&mut z[0], &x[0], &y[0], &m, &mut t),
            None => kernel.ams(&mut z[0], &x[0], &m, &mut t),
        }),
    }
}

fn lane_engine(kernel: LaneKernel, bits: usize, moduli: &[BigUint]) -> Subject<'static> {
    let shape = Shape::digits(bits);
    let mut m = Modulus::<Row>::lanes(shape);
    for (lane, one) in moduli.iter().enumerate() {
        m.load(Place::Lane(lane), &Modulus::<Digit>::new(&one.to_u64_digits(), shape).unwrap());
    }
    let k = shape.k();
    let mut t = vec![Row::splat(5); shape.scratch_words()];
    let [mut xs, mut ys, mut zs] = [(); 3].map(|()| vec![Row::default(); k]);
    let mut digits = vec![Digit::default(); k];
    let mut rng = fastrand::Rng::with_seed(31);
    Subject {
        name: kernel.name(),
        r_bits: 52 * k,
        below_8m: true,
        z_max: 3,
        multiply: Box::new(move |z, x, y| {
            let dirt = rng.u64(..) << 52;
            let mut spread = |rows: &mut [Row], x: &[Limbs]| {
                for (lane, x) in x.iter().enumerate() {
                    Scalar::pack(&mut digits, x);
                    let digits = rows.iter_mut().zip(&digits);
                    digits.for_each(|(row, digit)| row.set_lane(lane, digit.bits() | dirt));
                }
            };
            spread(&mut xs, x);
            match y {
                Some(y) => {
                    spread(&mut ys, y);
                    kernel.amm(&mut zs, &xs, &ys, &m, &mut t);
                }
                None => kernel.ams(&mut zs, &xs, &m, &mut t),
            }
            for (lane, z) in z.iter_mut().enumerate() {
                let lanes = digits.iter_mut().zip(&zs);
                lanes.for_each(|(digit, row)| *digit = Digit::from_bits(row.lane(lane)));
                Scalar::unpack(z, &digits);
            }
        }),
    }
}

fn block_engine(
    kernel: BlockKernel,
    blocks: Blocks,
    bits: usize,
    moduli: &[BigUint],
) -> Subject<'static> {
    let load = |m: &BigUint| Modulus::<u64>::new(&m.to_u64_digits(), Shape::limbs(bits)).unwrap();
    // one or two moduli; a missing one is replaced by a duplicate
    let of = |i: usize| load(&moduli[i % moduli.len()]);
    let pair = Pair::new(of(0), of(1));
    let k = blocks.k();
    let [mut xs, mut ys, mut zs] = [(); 3].map(|()| vec![Row::default(); k]);
    let mut rng = fastrand::Rng::with_seed(32);
    let mut t = vec![];
    Subject {
        name: kernel.name(),
        r_bits: blocks.r_bits(),
        below_8m: true,
        z_max: 7,
        multiply: Box::new(move |z, x, y| {
            let m = pair.blocks().or(pair.p().blocks()).unwrap();
            t.resize(m.scratch_words(), Row::splat(5));
            let dirt = rng.u64(..) << 52;
            let spread = |rows: &mut [Row], x: &[Limbs]| {
                x.iter().enumerate().for_each(|(at, x)| blocks.pack(rows, at, x));
                rows.iter_mut().flat_map(|row| &mut row.0).for_each(|digit| *digit |= dirt);
            };
            spread(&mut xs, x);
            match y {
                Some(y) => {
                    spread(&mut ys, y);
                    kernel.amm(&mut zs, &xs, &ys, m, &mut t);
                }
                None => kernel.ams(&mut zs, &xs, m, &mut t),
            }
            z.iter_mut().enumerate().for_each(|(at, z)| blocks.unpack(z, &zs, at));
        }),
    }
}

/// Checks at least this many products of one kernel. Returns the number of products.
fn products(
    engine: &dyn Fn(&[BigUint]) -> Subject<'static>,
    numbers: usize,
    bits: usize,
    least: usize,
) -> usize {
    let mut rng = fastrand::Rng::with_seed((bits * 64 + numbers) as u64);
    let (started, mut judged, mut name) = (Instant::now(), 0, "");
    while judged < least {
        let moduli: Vec<_> = (0..numbers).map(|_| modulus(&mut rng, bits)).collect();
        let mut engine = engine(&moduli);
        name = engine.name;
        judged += batch(&mut engine, &moduli, &mut rng, None).unwrap();
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("{bits} bits, {name}, {numbers} at a time: {judged} products in {seconds:.1} s");
    judged
}

/// Checks products of one size on all kernels; portable kernels get a hundredth of them.
fn size(bits: usize) {
    let long = std::env::var_os("TOLLGATE_TEST_LONG").is_some();
    let total: usize = match (long, cfg!(debug_assertions)) {
        (true, false) => 10_000_000,
        (true, true) => 200_000,
        (false, _) => 4_000,
    };
    let (limbs, lanes, blocks) = (LimbKernel::all(), LaneKernel::all(), BlockKernel::all());
    let portable = |name: &str| name.ends_with("portable");
    let names = limbs.iter().map(|k| k.name()).chain(lanes.iter().map(|k| k.name()));
    let names = names.chain(blocks.iter().map(|k| k.name()));
    let fast = names.filter(|name| !portable(name)).count();
    let share = |name: &str| {
        if portable(name) { total / 100 } else { total.div_ceil(fast) }
    };
    let mut judged = 0;
    for kernel in limbs {
        let engine = |m: &[BigUint]| limb_engine(kernel, bits, m);
        judged += products(&engine, 1, bits, share(kernel.name()));
    }
    for kernel in lanes {
        let engine = |m: &[BigUint]| lane_engine(kernel, bits, m);
        judged += products(&engine, LANES, bits, share(kernel.name()));
    }
    for kernel in blocks {
        if let Some(layout) = Blocks::of_bits(bits) {
            let engine = |m: &[BigUint]| block_engine(kernel, layout, bits, m);
            judged += products(&engine, layout.numbers(), bits, share(kernel.name()));
        }
    }
    println!("{bits} bits: {judged} products checked, none wrong");
    assert!(fast == 0 || judged >= total, "only {judged} products were judged");
}

#[test]
fn products_of_512_bits() {
    size(512);
}

#[test]
fn products_of_1024_bits() {
    size(1024);
}

#[test]
fn products_of_1536_bits() {
    size(1536);
}

#[test]
fn products_of_2048_bits() {
    size(2048);
}

#[test]
fn products_of_3072_bits() {
    size(3072);
}

#[test]
fn products_of_4096_bits() {
    size(4096);
}

/// The checker finds a wrong bit in any product of a batch.
#[test]
fn a_corrupted_product_is_found() {
    let mut rng = fastrand::Rng::with_seed(33);
    let m = [modulus(&mut rng, 512)];
    for call in [0, 1, 77, CALLS - 1] {
        let spoiled = || {
            let mut engine = limb_engine(LimbKernel::best(), 512, &m);
            batch(&mut engine, &m, &mut fastrand::Rng::with_seed(34), Some(call))
        };
        let panic = std::panic::catch_unwind(spoiled).expect_err("a wrong product");
        let said = panic.downcast::<String>().unwrap();
        assert!(said.contains(&format!("number 0 of call {call} is wrong")), "{said}");
    }
}

#[test]
fn a_result_beyond_its_bound_is_found() {
    let m = BigUint::from(101u8);
    let mut referee = Referee::new(&m, 1, 3);
    assert!(referee.hear(&[302], &[1], &[1], 7));
    assert!(!referee.hear(&[303], &[1], &[1], 7));
}
