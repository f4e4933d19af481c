//! Products and the entry into Montgomery form, with operands that reach every bound.

use num_bigint::BigUint;

use crate::library::EmulatedDriver;
use crate::{limbs, random, rounds};

/// Lanes and words of all groups: those of primes, and those of moduli.
const LAYOUTS: [(u32, u32); 7] = [(4, 4), (8, 4), (4, 8), (8, 8), (4, 12), (8, 12), (16, 8)];

fn power(exponent: usize) -> BigUint {
    BigUint::from(1u32) << exponent
}

/// Returns -1/m mod 2^32.
fn k0(m: &BigUint) -> u32 {
    let word = power(32);
    let inverse = m.modinv(&word).expect("m is odd");
    limbs(&((&word - inverse) % &word), 1)[0]
}

/// Returns x / 2^bits mod m.
fn shifted(x: &BigUint, bits: usize, m: &BigUint) -> BigUint {
    x * power(bits).modinv(m).expect("m is odd") % m
}

struct Layout {
    driver: EmulatedDriver,
    lanes: u32,
    words: u32,
}

impl Layout {
    fn all() -> impl Iterator<Item = Self> {
        LAYOUTS.into_iter().map(|(lanes, words)| Self {
            driver: EmulatedDriver::new(),
            lanes,
            words,
        })
    }

    fn limbs(&self) -> usize {
        (self.lanes * self.words) as usize
    }

    fn bits(&self) -> usize {
        32 * self.limbs()
    }

    fn amm(&self, x: &BigUint, y: &BigUint, m: &BigUint) -> BigUint {
        let [x, y, m_limbs] = &[x, y, m].map(|number| limbs(number, self.limbs()));
        let layout = (self.lanes, self.words);
        BigUint::new(self.driver.arithmetic(false, layout, [x, y, m_limbs], k0(m)))
    }

    fn fold(&self, c: &BigUint, m: &BigUint) -> BigUint {
        let n = self.limbs();
        let (c, rrr) = (limbs(c, 2 * n), limbs(&(power(3 * self.bits()) % m), n));
        let layout = (self.lanes, self.words);
        BigUint::new(self.driver.arithmetic(true, layout, [&c, &rrr, &limbs(m, n)], k0(m)))
    }

    /// Returns numbers below R whose carries are extreme.
    fn operands(&self, rng: &mut fastrand::Rng) -> Vec<BigUint> {
        let (r, one) = (power(self.bits()), BigUint::from(1u32));
        let lane = 32 * self.words as usize;
        let mut all = vec![BigUint::ZERO, one.clone(), &r - &one, &r - 2u32];
        all.push(power(self.bits() - 1));
        all.push(power(self.bits() / 2) - &one); // the lower lanes are all ones
        all.push(&r - power(self.bits() / 2)); // the upper lanes are
        all.push((power(lane) - &one) << lane); // lane 1 is
        all.push(power(lane)); // the lowest bit of lane 1
        all.push(power(32 * 3)); // an odd word
        all.extend((0..2).map(|_| random(rng, self.bits())));
        all
    }

    /// Returns odd moduli below R, among them the least and the greatest.
    fn moduli(&self, rng: &mut fastrand::Rng) -> Vec<BigUint> {
        let (r, one) = (power(self.bits()), BigUint::from(1u32));
        let mut all =
            vec![BigUint::from(3u32), &r - &one, &r - 3u32, power(self.bits() - 1) + &one];
        all.push((power(607) - &one) >> (607 - self.bits().min(607))); // all ones, or a prime
        all.push(random(rng, self.bits() / 2 + 7) | &one);
        all.push(random(rng, self.bits()) | power(self.bits() - 1) | &one);
        all.retain(|m| *m > one);
        all
    }
}

#[test]
fn products_of_extreme_operands_are_right_and_below_r() {
    let mut rng = fastrand::Rng::with_seed(28);
    for layout in Layout::all() {
        let (operands, r) = (layout.operands(&mut rng), power(layout.bits()));
        for m in layout.moduli(&mut rng) {
            let factor = power(layout.bits()).modinv(&m).expect("m is odd");
            for (i, x) in operands.iter().enumerate() {
                for y in &operands[i..] {
                    let z = layout.amm(x, y, &m);
                    assert!(z < r && &z % &m == x * y * &factor % &m, "{x} * {y} mod {m}");
                    assert!(x * y >= r || z <= m, "{x} * {y} mod {m}: above the bound");
                }
            }
        }
    }
}

#[test]
fn random_products_are_right() {
    let mut rng = fastrand::Rng::with_seed(29);
    for layout in Layout::all() {
        for _ in 0..rounds(200, 20_000) {
            let m = random(&mut rng, layout.bits()) | BigUint::from(1u32);
            let [x, y] = [(); 2].map(|()| random(&mut rng, layout.bits()));
            let z = layout.amm(&x, &y, &m);
            assert!(z.bits() <= layout.bits() as u64);
            assert_eq!(&z % &m, shifted(&(&x * &y), layout.bits(), &m), "{x} * {y} mod {m}");
        }
    }
}

/// A number of twice the prime's length enters Montgomery form as a sum of two terms below R. If both
/// are near R, as for primes near 0.75 R, the sum may be above R even after one subtraction of the
/// prime, unless one term is at most the prime.
#[test]
fn numbers_of_twice_the_length_enter_montgomery_form() {
    let mut rng = fastrand::Rng::with_seed(30);
    for layout in Layout::all() {
        let bits = layout.bits();
        let (r, one) = (power(bits), BigUint::from(1u32));
        let mut primes = vec![BigUint::from(3u32), &r - 1u32, random(&mut rng, bits - 9) | &one];
        for hundredths in [50u32, 71, 75, 80, 99] {
            primes.push((&r * hundredths / 100u32) | &one);
        }
        for p in primes {
            let is_large = p > &r * 7u32 / 10u32;
            let check = |c: &BigUint| {
                let x = layout.fold(c, &p);
                assert!(x < r, "{c} mod {p}");
                assert_eq!(&x % &p, c * &r % &p, "{c} mod {p}");
            };
            let square = power(2 * bits);
            for c in [
                BigUint::ZERO,
                one.clone(),
                &p * (&r - &one) - &one, // N - 1 for a prime q near R
                p.clone(),
                &p * &p,
                &p * (&r - &one), // the greatest multiple
                &square - &one,   // both halves are R - 1
                &r - &one,
                (&r - &one) * &r, // c1 = R - 1, c0 = 0
                (&r - &p) * &r,   // the sum is near R
                (&r - &p) * &r + &p,
                (&r - &p + &one) * &r - &one,
            ] {
                if c < square {
                    check(&c);
                }
            }
            for _ in 0..rounds(if is_large { 600 } else { 50 }, 20_000) {
                check(&random(&mut rng, 2 * bits));
            }
        }
    }
}

/// The first design of the entry, c1 R^3 / R + c0 R^2 / R with one subtraction, is wrong for primes
/// near 0.75 R: these operands must be able to find that.
#[test]
fn the_operands_find_a_sum_of_two_terms_near_r() {
    let mut rng = fastrand::Rng::with_seed(31);
    let bits = 512;
    let r = power(bits);
    let p = (&r * 75u32 / 100u32) | BigUint::from(1u32);
    // Terms as `amm` returns them: below R, with R + m at most before its subtraction.
    let term = |x: &BigUint, y: &BigUint| {
        let q = (x * y * (&r - p.modinv(&r).unwrap())) % &r;
        let z = (x * y + q * &p) >> bits;
        if z >= r { z - &p } else { z }
    };
    let [rr, rrr] = [2, 3].map(|power_of_r| power(power_of_r * bits) % &p);
    let wrong = (0..2000).filter(|_| {
        let [c0, c1] = [(); 2].map(|()| random(&mut rng, bits));
        let sum = term(&c1, &rrr) + term(&c0, &rr);
        let sum = if sum >= r { sum - &p } else { sum };
        sum >= r
    });
    assert!(wrong.count() > 0);
}

/// A number in limbs of 52 bits, as doubles.
#[allow(clippy::cast_precision_loss, reason = "52 bits")]
fn doubles(limbs: &[i64]) -> Vec<f64> {
    limbs.iter().map(|limb| *limb as f64).collect()
}

/// Returns the number with these limbs, and an offset that makes it positive: 2^51 R.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "magnitudes of 52 bits")]
fn of_doubles(limbs: &[f64]) -> BigUint {
    let offset = power(51 + 52 * limbs.len());
    limbs.iter().enumerate().fold(offset, |sum, (j, limb)| {
        let magnitude = BigUint::from(limb.abs() as u64) << (52 * j);
        if *limb < 0.0 { sum - magnitude } else { sum + magnitude }
    })
}

/// Limbs at the bounds of the contract, and random ones. The last limb is small: |x| < 2 m.
fn extreme_doubles(n: usize, top: i64, rng: &mut fastrand::Rng) -> Vec<Vec<f64>> {
    let most = (1 << 51) + (1 << 7);
    let mut all: Vec<Vec<i64>> = [0, 1, -1, most, -most].map(|limb| vec![limb; n]).to_vec();
    all.push((0..n).map(|j| if j % 2 == 0 { most } else { -most }).collect());
    all.push((0..n).map(|j| if j % 2 == 0 { -(1 << 51) } else { (1 << 51) - 1 }).collect());
    for _ in 0..rounds(6, 500) {
        all.push((0..n).map(|_| rng.i64(-most..=most)).collect());
    }
    for limbs in &mut all {
        limbs[n - 1] = limbs[n - 1].clamp(-top, top);
    }
    all.iter().map(|limbs| doubles(limbs)).collect()
}

#[test]
fn products_of_doubles_keep_their_bounds_and_residues() {
    let (driver, mut rng) = (EmulatedDriver::new(), fastrand::Rng::with_seed(37));
    for (n, bits) in [(10, 512), (20, 1024), (30, 1536)] {
        let top = 1i64 << (bits - 52 * (n - 1));
        let r = power(52 * n);
        let mut moduli = vec![power(bits) - 1u32, power(bits - 1) + 1u32];
        moduli.extend(
            (0..rounds(2, 20)).map(|_| random(&mut rng, bits - 1) | power(bits - 1) | power(0)),
        );
        for m in moduli {
            let word = power(52);
            let inverse = m.modinv(&word).expect("m is odd");
            let k0 = (&word - inverse) % &word;
            let k0 = k0.iter_u64_digits().next().unwrap_or(0);
            let (mut carry, mut digits) = (0, Vec::new());
            for j in 0..n {
                let digit = (&m >> (52 * j)) % &word;
                let digit = digit.iter_u64_digits().next().unwrap_or(0).cast_signed() + carry;
                carry = i64::from(j + 1 < n && digit >= 1 << 51);
                digits.push(digit - (carry << 52));
            }
            let modulus = doubles(&digits);
            let operands = extreme_doubles(n, top, &mut rng);
            for x in &operands {
                let y = &operands[rng.usize(..operands.len())];
                let z = driver.doubles([x, y, &modulus], k0);
                assert!(z.iter().all(|limb| limb.abs() <= 2f64.powi(51) + 128.0), "{n} limbs");
                let offset = power(51 + 52 * n);
                let value = of_doubles(&z);
                assert!(value < &offset + &m && value > &offset - &m, "{n} limbs: |z| < m");
                // (z + offset) R = x y + offset R modulo m; with offsets of x and y.
                let [x, y] = [of_doubles(x), of_doubles(y)];
                let left = value * &r + (&x + &y) * &offset;
                let right = x * y + &offset * &r + &offset * &offset;
                assert_eq!(left % &m, right % &m, "{n} limbs");
            }
        }
    }
}
