//! Products and the entry into Montgomery form, with operands that reach every bound.

use num_bigint::BigUint;

use crate::library::EmulatedDriver;
use crate::{limbs, random, rounds};

/// Lanes and words of all groups: those of primes, and those of moduli.
const LAYOUTS: [(u32, u32); 7] = [(4, 4), (8, 4), (4, 8), (8, 8), (4, 12), (8, 12), (16, 8)];

pub(crate) fn power(exponent: usize) -> BigUint {
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

/// A number of twice the prime's length enters Montgomery form as a sum of two terms below R. If
/// both are near R, as for primes near 0.75 R, the sum may be above R even after one subtraction of
/// the prime, unless one term is at most the prime.
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
