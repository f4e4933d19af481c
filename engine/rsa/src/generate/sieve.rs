//! Trial division by small primes, several at once.

use core::ops::Range;

use tollgate_cpu::memcheck;

/// The odd primes below a limit.
pub(super) struct Sieve {
    divisors: Vec<Divisor>,
    products: Vec<Product>,
}

/// An odd prime p. A word x is a multiple of p if x / p mod 2^64 is at most the largest quotient.
/// The multiples of p take each value up to the largest quotient once, so no other word has such a
/// value.
struct Divisor {
    inverse: u64,
    largest_quotient: u64,
}

/// A product of small primes that fits 63 bits.
struct Product {
    m: u64,
    inverse: u64,
    divisors: Range<usize>,
}

impl Sieve {
    /// Creates a sieve of the odd primes below `limit`.
    pub(super) fn new(limit: u32) -> Self {
        let mut sieve = Self { divisors: Vec::new(), products: Vec::new() };
        let (mut m, mut first) = (1u64, 0);
        for p in odd_primes(limit).into_iter().map(u64::from) {
            let at = sieve.divisors.len();
            match m.checked_mul(p).filter(|product| product >> 63 == 0) {
                Some(product) => m = product,
                None => {
                    sieve.products.push(Product { m, inverse: inverse(m), divisors: first..at });
                    (m, first) = (p, at);
                }
            }
            sieve.divisors.push(Divisor { inverse: inverse(p), largest_quotient: u64::MAX / p });
        }
        let divisors = first..sieve.divisors.len();
        sieve.products.push(Product { m, inverse: inverse(m), divisors });
        sieve
    }

    /// Returns `true` if no prime below the limit divides x, which must be larger than all of them.
    /// The time depends on the length of x and on the smallest prime that divides it.
    pub(super) fn passes(&self, x: &[u64]) -> bool {
        self.products.iter().all(|product| {
            let r = remainder(x, product);
            let divides = |d: &Divisor| r.wrapping_mul(d.inverse) <= d.largest_quotient;
            let divisors = &self.divisors[product.divisors.clone()];
            let any = divisors.iter().fold(0, |any, d| any | u64::from(divides(d)));
            memcheck::declassified(any) == 0
        })
    }

    /// Returns the fraction of odd numbers that pass: the product of 1 - 1/p, about 1.12 /
    /// ln(limit).
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn part_that_passes(&self) -> f64 {
        let one_in = |d: &Divisor| u64::MAX as f64 / d.largest_quotient as f64;
        self.divisors.iter().map(|d| 1.0 - 1.0 / one_in(d)).product()
    }
}

/// Returns the word -x / 2^{64 len} mod m, which has the same common divisors with m as x.
///
/// With q m = `x_i` - c (mod 2^64), the high word of q m is the carry into the next step. This
/// takes two multiplications per word; a division would take ten times as long.
fn remainder(x: &[u64], product: &Product) -> u64 {
    let mut c = 0;
    for &limb in x {
        let (difference, borrow) = limb.overflowing_sub(c);
        let q = difference.wrapping_mul(product.inverse);
        let above = (u128::from(q) * u128::from(product.m)) >> 64;
        c = u64::try_from(above).expect("64 bits") + u64::from(borrow); // at most m < 2^63
    }
    c
}

/// Returns 1/x mod 2^64, for odd x. Newton's iteration doubles the correct bits: 5, 10, 20, 40, 80.
fn inverse(x: u64) -> u64 {
    let start = x.wrapping_mul(3) ^ 2;
    (0..4).fold(start, |y, _| y.wrapping_mul(2u64.wrapping_sub(x.wrapping_mul(y))))
}

fn odd_primes(limit: u32) -> Vec<u32> {
    let mut composite = vec![false; limit as usize];
    let mut primes = Vec::new();
    for p in (3..limit).step_by(2) {
        if !composite[p as usize] {
            primes.push(p);
            (p..limit).step_by(p as usize).for_each(|x| composite[x as usize] = true);
        }
    }
    primes
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    #[test]
    fn no_odd_prime_is_missing() {
        let slow: Vec<u32> = (3..3000).filter(|n| (2..*n).all(|d| *n % d != 0)).collect();
        assert_eq!(odd_primes(3000), slow);
    }

    /// Tests small limits, the limits in use, and a limit whose last product is a single prime.
    #[test]
    fn numbers_that_pass_have_no_small_factor() {
        let mut rng = fastrand::Rng::with_seed(8);
        for (limit, length, tries) in [(4, 1, 50), (100, 2, 500), (2048, 4, 500), (8192, 16, 500)] {
            let (sieve, primes) = (Sieve::new(limit), odd_primes(limit));
            let mut passed = 0;
            for i in 0..tries {
                let mut x: Vec<u64> = (0..length).map(|_| rng.u64(..)).collect();
                if i % 4 == 0 {
                    x.fill(u64::MAX); // every step borrows
                }
                *x.last_mut().expect("a limb") |= 1 << 63;
                x[0] = x[0].wrapping_sub(i);
                let bytes: Vec<u8> = x.iter().flat_map(|limb| limb.to_le_bytes()).collect();
                let number = BigUint::from_bytes_le(&bytes);
                let right = primes.iter().all(|p| &number % p != BigUint::ZERO);
                assert_eq!(sieve.passes(&x), right, "{limit}: {number}");
                passed += u64::from(right);
            }
            assert!(passed > 0 && passed < tries, "both happen");
        }
    }

    /// Tests each prime with a multiple that no smaller prime divides.
    #[test]
    fn each_prime_is_divided_by() {
        let (sieve, primes) = (Sieve::new(4096), odd_primes(4096));
        let large: BigUint = (BigUint::from(1u8) << 521) - 1u8; // a Mersenne prime
        assert!(sieve.passes(&large.to_u64_digits()));
        for p in primes {
            assert!(!sieve.passes(&(&large * p).to_u64_digits()), "{p}");
        }
    }

    #[test]
    fn the_fraction_that_passes_follows_mertens() {
        let part = Sieve::new(8192).part_that_passes();
        assert!((part * 8192f64.ln() - 1.1229).abs() < 0.01, "{part}");
    }
}
