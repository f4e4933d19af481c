//! Numbers in limbs of 52 bits, as doubles: the primitives of the GPU, products, and the entry into
//! Montgomery form.

use num_bigint::BigUint;

use crate::arithmetic::power;
use crate::library::EmulatedDriver;
use crate::{limbs, random, rounds};

/// Limbs of a prime, and its bits.
const SIZES: [(usize, usize); 3] = [(10, 512), (20, 1024), (30, 1536)];

/// Returns limbs as doubles.
#[allow(clippy::cast_precision_loss, reason = "53 bits")]
fn doubles(limbs: &[i64]) -> Vec<f64> {
    limbs.iter().map(|limb| *limb as f64).collect()
}

/// Returns a number plus 2^53 R, so that it is positive.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "53 bits")]
fn shifted(limbs: &[f64]) -> BigUint {
    limbs.iter().enumerate().fold(offset(limbs.len()), |sum, (j, limb)| {
        let magnitude = BigUint::from(limb.abs() as u64) << (52 * j);
        if *limb < 0.0 { sum - magnitude } else { sum + magnitude }
    })
}

fn offset(n: usize) -> BigUint {
    power(53 + 52 * n)
}

/// Returns the limbs of a number, from 0 to 2^52 - 1.
fn unsigned(x: &BigUint, n: usize) -> Vec<i64> {
    let limb = |j: usize| ((x >> (52 * j)) % power(52)).iter_u64_digits().next().unwrap_or(0);
    (0..n).map(|j| limb(j).cast_signed()).collect()
}

/// Returns the limbs of a number, from -2^51 to 2^51 - 1 but for the last one.
fn signed(x: &BigUint, n: usize) -> Vec<f64> {
    let (mut carry, mut limbs) = (0, unsigned(x, n));
    for (j, limb) in limbs.iter_mut().enumerate() {
        *limb += carry;
        carry = i64::from(j + 1 < n && *limb >= 1 << 51);
        *limb -= carry << 52;
    }
    doubles(&limbs)
}

/// Limbs at the bounds of the contract, and random ones. The last limb is small: |x| < 2 m.
fn extremes(n: usize, top: i64, rng: &mut fastrand::Rng) -> Vec<Vec<f64>> {
    let most = (1 << 51) + (1 << 7);
    let mut all: Vec<Vec<i64>> = [0, 1, -1, most, -most].map(|limb| vec![limb; n]).to_vec();
    all.push((0..n).map(|j| if j % 2 == 0 { most } else { -most }).collect());
    all.push((0..n).map(|j| if j % 2 == 0 { -(1 << 51) } else { (1 << 51) - 1 }).collect());
    all.extend((0..3).map(|_| (0..n).map(|_| rng.i64(-most..=most)).collect()));
    for limbs in &mut all {
        limbs[n - 1] = limbs[n - 1].clamp(-top, top);
    }
    all.iter().map(|limbs| doubles(limbs)).collect()
}

/// A modulus in its two forms, and -1/m mod 2^52.
struct Prime {
    m: BigUint,
    limbs: Vec<f64>,
    k0: u64,
}

impl Prime {
    /// Returns odd moduli of a length, among them the least and the greatest.
    fn all(n: usize, bits: usize, rng: &mut fastrand::Rng) -> Vec<Self> {
        let mut moduli = vec![power(bits) - 1u32, power(bits - 1) + 1u32];
        let random = |_| random(rng, bits - 1) | power(bits - 1) | power(0);
        moduli.extend((0..rounds(1, 20)).map(random));
        let with_k0 = |m: BigUint| {
            let k0 = power(52) - m.modinv(&power(52)).expect("m is odd");
            let k0 = k0.iter_u64_digits().next().unwrap_or(0);
            Self { limbs: signed(&m, n), m, k0 }
        };
        moduli.into_iter().map(with_k0).collect()
    }

    /// Asserts that z is congruent to x, and that |z| is at most `most` times m.
    fn check(&self, z: &[f64], x: &BigUint, most: u32) {
        let n = self.limbs.len();
        assert!(z.iter().all(|limb| limb.abs() <= 2f64.powi(51) + 128.0), "{n} limbs");
        let (value, offset) = (shifted(z), offset(n));
        let bound = &self.m * most;
        assert!(value < &offset + &bound && value > &offset - &bound, "{n} limbs: the bound of z");
        assert_eq!(value % &self.m, (x + offset) % &self.m, "{n} limbs");
    }
}

/// Limbs and columns at the bounds of each primitive, and next to them.
#[test]
fn the_primitives_of_the_gpu_are_those_of_the_emulation() {
    let (driver, mut rng) = (EmulatedDriver::new(), fastrand::Rng::with_seed(38));
    let near = |at: i64| (-260..=260).map(move |d| at + d);
    let limbs: Vec<i64> = [0, 1 << 51, -(1 << 51)].into_iter().flat_map(near).collect();
    for limb in near(1 << 52).chain(near(-(1 << 52))).chain(limbs.iter().copied()) {
        let as_double = doubles(&[limb])[0];
        assert_eq!(driver.column(as_double), limb);
        assert!(driver.has_equal_primitives(as_double, 1.0, 0, true), "the column of {limb}");
    }
    let columns = (0..60).flat_map(|bit| near(1 << bit).chain(near(-(1 << bit))));
    let columns = columns.filter(|s: &i64| s.unsigned_abs() < 1 << 59);
    let mut columns: Vec<i64> = columns.collect();
    columns.extend((0..rounds(1000, 1_000_000)).map(|_| rng.i64(-(1 << 58)..1 << 58)));
    for s in columns {
        let is_whole = (-(1i64 << 51)..1 << 51).contains(&s);
        let pick = |rng: &mut fastrand::Rng| {
            let most = (1i64 << 51) + (1 << 7);
            if rng.bool() {
                limbs[rng.usize(..limbs.len())].clamp(-most, most)
            } else {
                rng.i64(-most..most)
            }
        };
        let (x, y) = (pick(&mut rng), pick(&mut rng));
        let [x, y] = [doubles(&[x])[0], doubles(&[y])[0]];
        assert!(driver.has_equal_primitives(x, y, s, is_whole), "{x} {y} {s}");
    }
    // The products nearest to 2^103 and -2^103.
    for (x, y) in [(1i64 << 52, -(1i64 << 51)), ((1 << 52) - 1, (1 << 51) - 1)] {
        let [x, y] = [doubles(&[x])[0], doubles(&[y])[0]];
        assert!(driver.has_equal_primitives(x, y, 0, true), "{x} {y}");
    }
}

#[test]
fn products_of_doubles_keep_their_bounds_and_residues() {
    let (driver, mut rng) = (EmulatedDriver::new(), fastrand::Rng::with_seed(37));
    for (n, bits) in SIZES {
        let (r, offset) = (power(52 * n), offset(n));
        for prime in Prime::all(n, bits, &mut rng) {
            let inverse = r.modinv(&prime.m).expect("m is odd");
            // x y / R from the shifted numbers. Modulo m, a factor of m - 1 is one of -1.
            let right = |x: &[f64], y: &[f64]| {
                let [x, y] = [shifted(x), shifted(y)];
                let product = &x * &y + &offset * &offset + (&prime.m - 1u32) * &offset * (x + y);
                product % &prime.m * &inverse % &prime.m
            };
            let operands = extremes(n, 1 << (bits - 52 * (n - 1)), &mut rng);
            for x in &operands {
                for y in &operands {
                    let z = driver.doubles([x, y, &prime.limbs], prime.k0);
                    prime.check(&z, &right(x, y), 1);
                }
            }
            // As at the entry: x below R, y below m.
            let most = doubles(&unsigned(&(&r - 1u32), n));
            for y in [&prime.m - 1u32, random(&mut rng, bits) % &prime.m] {
                let y = signed(&y, n);
                let z = driver.doubles([&most, &y, &prime.limbs], prime.k0);
                prime.check(&z, &right(&most, &y), 2);
            }
        }
    }
}

#[test]
fn bases_of_any_value_enter_montgomery_form() {
    let (driver, mut rng) = (EmulatedDriver::new(), fastrand::Rng::with_seed(39));
    for (n, bits) in SIZES {
        let r = power(52 * n);
        for prime in Prime::all(n, bits, &mut rng) {
            let constant = |exponent: usize| signed(&(power(exponent * 52 * n) % &prime.m), n);
            let (rr, rrr) = (constant(2), constant(3));
            let mut bases =
                vec![BigUint::ZERO, power(0), &r - 1u32, r.clone(), power(2 * bits) - 1u32];
            bases.extend([1u32, 2, 3].map(|times| &prime.m * BigUint::from(times)));
            bases.push(&prime.m * &prime.m - 1u32);
            bases.extend((0..rounds(10, 1000)).map(|_| random(&mut rng, 2 * bits)));
            for base in bases {
                let words = limbs(&base, bits / 16);
                let x = driver.fold52(&words, [&rr, &rrr, &prime.limbs], prime.k0);
                prime.check(&x, &(base * &r), 3);
            }
        }
    }
}
