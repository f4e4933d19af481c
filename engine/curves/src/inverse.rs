//! Inverses modulo a fixed odd number of at most 256 bits, in constant time.
//!
//! The method is Bernstein and Yang's, "Fast constant-time gcd computation and modular inversion"
//! (2019), with delta starting at 1/2. Then 590 division steps are enough for 256 bits (Pieter
//! Wuille's proof, 2021). Ten batches of 59 steps each work on the low 64 bits only, and collect
//! the steps in a matrix; the matrix is then applied to the whole numbers.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "parts of words")]

use crate::mask::hidden;

/// Bits of a digit. Digits are signed, and all but the top one are not negative.
const BITS: u32 = 62;
const MASK: i64 = (1 << BITS) - 1;
const BATCHES: usize = 10;

/// Five signed digits of 62 bits.
type Signed = [i64; 5];

/// The sum of digits times 2^{62 i}, for a number in four limbs.
const fn signed(x: &[u64; 4]) -> Signed {
    [
        (x[0] & MASK as u64) as i64,
        ((x[0] >> 62 | x[1] << 2) & MASK as u64) as i64,
        ((x[1] >> 60 | x[2] << 4) & MASK as u64) as i64,
        ((x[2] >> 58 | x[3] << 6) & MASK as u64) as i64,
        (x[3] >> 56) as i64,
    ]
}

/// The limbs of a number whose digits are not negative and below 2^62.
const fn limbs(x: &Signed) -> [u64; 4] {
    let d = [x[0] as u64, x[1] as u64, x[2] as u64, x[3] as u64, x[4] as u64];
    [d[0] | d[1] << 62, d[1] >> 2 | d[2] << 60, d[2] >> 4 | d[3] << 58, d[3] >> 6 | d[4] << 56]
}

/// An odd modulus m, with 2^254 < m < 2^256.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modulus {
    m: Signed,
    /// 1/m mod 2^62.
    inverse: i64,
}

/// The steps of a batch: 2^59 (f, g) becomes (u f + v g, q f + r g). Entries are scaled by 2^3, so
/// that the shift is one digit. Absolute values are at most 2^62.
struct Matrix {
    u: i64,
    v: i64,
    q: i64,
    r: i64,
}

impl Modulus {
    /// m is odd, and 2^254 < m < 2^256.
    pub(crate) const fn new(m: &[u64; 4]) -> Self {
        assert!(m[0] & 1 == 1 && m[3] >> 62 > 0, "an odd modulus of 255 or 256 bits");
        // Newton's iteration: each step doubles the number of correct bits, from 3
        let mut inverse = m[0];
        let mut step = 0;
        while step < 5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(m[0].wrapping_mul(inverse)));
            step += 1;
        }
        Self { m: signed(m), inverse: inverse as i64 & MASK }
    }

    /// Returns 1/x mod m in limbs, or 0 if x is a multiple of m. x < m: the proof of the number of
    /// steps needs that. 0 <= result < m.
    pub(crate) fn invert(&self, x: &[u64; 4]) -> [u64; 4] {
        let [inverse] = invert_in_step([(self, x)]);
        inverse
    }

    /// Applies a batch to d and e: both become t (d, e) / 2^62 mod m, between -2m and m.
    fn apply_modulo(&self, t: &Matrix, d: &Signed, e: &Signed) -> (Signed, Signed) {
        let (sd, se) = (negative(d), negative(e));
        // multiples of m: first those that make negative d and e positive, then those that clear
        // the low digit
        let mut md = (t.u & sd) + (t.v & se);
        let mut me = (t.q & sd) + (t.r & se);
        let mut cd = wide(t.u, d[0]) + wide(t.v, e[0]);
        let mut ce = wide(t.q, d[0]) + wide(t.r, e[0]);
        md -= self.inverse.wrapping_mul(cd as i64).wrapping_add(md) & MASK;
        me -= self.inverse.wrapping_mul(ce as i64).wrapping_add(me) & MASK;
        cd += wide(self.m[0], md);
        ce += wide(self.m[0], me);
        let (mut nd, mut ne) = ([0; 5], [0; 5]);
        for i in 1..5 {
            cd = (cd >> BITS) + wide(t.u, d[i]) + wide(t.v, e[i]) + wide(self.m[i], md);
            ce = (ce >> BITS) + wide(t.q, d[i]) + wide(t.r, e[i]) + wide(self.m[i], me);
            (nd[i - 1], ne[i - 1]) = (cd as i64 & MASK, ce as i64 & MASK);
        }
        (nd[4], ne[4]) = ((cd >> BITS) as i64, (ce >> BITS) as i64);
        (nd, ne)
    }

    /// Returns d, negated if `sign` is -1, as the least residue. -2m < d < m.
    fn least(&self, d: &Signed, sign: i64) -> Signed {
        let mut r = *d;
        let below = negative(&r);
        for (r, m) in r.iter_mut().zip(self.m) {
            *r += m & below;
            *r = (*r ^ sign) - sign;
        }
        ripple(&mut r);
        let below = negative(&r);
        for (r, m) in r.iter_mut().zip(self.m) {
            *r += m & below;
        }
        ripple(&mut r);
        r
    }
}

/// Returns the inverses of numbers x < m, each modulo its own m, in step: a step of one number
/// waits for its last one, and the steps of the others fill this time.
pub(crate) fn invert_in_step<const N: usize>(numbers: [(&Modulus, &[u64; 4]); N]) -> [[u64; 4]; N] {
    // g ends as 0 and f as the gcd, 1 or -1; f = d x and g = e x (mod m)
    let mut f = numbers.map(|(modulus, _)| modulus.m);
    let mut g = numbers.map(|(_, x)| signed(x));
    let (mut d, mut e): ([Signed; N], [Signed; N]) = ([[0; 5]; N], [[1, 0, 0, 0, 0]; N]);
    let mut zeta = [-1; N];
    for _ in 0..BATCHES {
        let low = |x: &Signed| x[0] as u64 | (x[1] as u64) << BITS;
        let t = steps(&mut zeta, f.each_ref().map(low), g.each_ref().map(low));
        for i in 0..N {
            (d[i], e[i]) = numbers[i].0.apply_modulo(&t[i], &d[i], &e[i]);
            (f[i], g[i]) = apply(&t[i], &f[i], &g[i]);
        }
    }
    core::array::from_fn(|i| limbs(&numbers[i].0.least(&d[i], negative(&f[i]))))
}

/// -1 if the number is negative, else 0.
fn negative(x: &Signed) -> i64 {
    hidden((x[4] >> 63) as u64) as i64
}

/// Carries, so that all digits but the top one are between 0 and 2^62.
fn ripple(r: &mut Signed) {
    for i in 0..4 {
        r[i + 1] += r[i] >> BITS;
        r[i] &= MASK;
    }
}

fn wide(x: i64, y: i64) -> i128 {
    i128::from(x) * i128::from(y)
}

/// Applies a batch to f and g. The division by 2^62 is exact.
fn apply(t: &Matrix, f: &Signed, g: &Signed) -> (Signed, Signed) {
    let mut cf = wide(t.u, f[0]) + wide(t.v, g[0]);
    let mut cg = wide(t.q, f[0]) + wide(t.r, g[0]);
    let (mut nf, mut ng) = ([0; 5], [0; 5]);
    for i in 1..5 {
        cf = (cf >> BITS) + wide(t.u, f[i]) + wide(t.v, g[i]);
        cg = (cg >> BITS) + wide(t.q, f[i]) + wide(t.r, g[i]);
        (nf[i - 1], ng[i - 1]) = (cf as i64 & MASK, cg as i64 & MASK);
    }
    (nf[4], ng[4]) = ((cf >> BITS) as i64, (cg >> BITS) as i64);
    (nf, ng)
}

/// Runs a batch of division steps on the low bits of all f and g. zeta = -(delta + 1/2).
fn steps<const N: usize>(zeta: &mut [i64; N], f: [u64; N], g: [u64; N]) -> [Matrix; N] {
    let first = few_steps(zeta, 20, &f, &g);
    let (f, g) = applied(&first, &f, &g);
    let second = few_steps(zeta, 20, &f, &g);
    let (f, g) = applied(&second, &f, &g);
    let third = few_steps(zeta, 19, &f, &g);
    core::array::from_fn(|i| {
        let Few { u, v, q, r } = third[i].after(&second[i]).after(&first[i]);
        // three factors of -2^20, for 59 steps; the result is scaled by 2^62
        Matrix { u: -4 * u, v: -4 * v, q: -4 * q, r: -4 * r }
    })
}

/// Returns all f and g after these 20 steps; 44 bits stay right.
fn applied<const N: usize>(few: &[Few; N], f: &[u64; N], g: &[u64; N]) -> ([u64; N], [u64; N]) {
    let row = |i: usize, x: i64, y: i64| {
        let (x, y) = ((x as u64).wrapping_mul(f[i]), (y as u64).wrapping_mul(g[i]));
        (x.wrapping_add(y).wrapping_neg() as i64 >> 20) as u64
    };
    let next_f = core::array::from_fn(|i| row(i, few[i].u, few[i].v));
    (next_f, core::array::from_fn(|i| row(i, few[i].q, few[i].r)))
}

/// The steps of a part of a batch. Entries are scaled by -2^20 for each part.
struct Few {
    u: i64,
    v: i64,
    q: i64,
    r: i64,
}

impl Few {
    /// Returns the steps `first`, then these.
    fn after(&self, first: &Self) -> Self {
        Self {
            u: self.u * first.u + self.v * first.q,
            v: self.u * first.v + self.v * first.r,
            q: self.q * first.u + self.r * first.q,
            r: self.q * first.v + self.r * first.r,
        }
    }
}

/// Runs at most 20 division steps. f and the matrix row (u, v) are parts of one word, and so are g
/// and (q, r): the parts are linear in each other, and so a step treats them alike.
///
/// A step: if delta > 0 and g is odd, (delta, f, g) becomes (1 - delta, g, (g - f) / 2), else
/// (1 + delta, f, (g + (g mod 2) f) / 2).
#[inline(always)]
fn few_steps<const N: usize>(
    zeta: &mut [i64; N],
    steps: u32,
    f: &[u64; N],
    g: &[u64; N],
) -> [Few; N] {
    // 20 bits of f and g; u and q from bit 21; v and r from bit 42. u = r = -2^20: each halving of
    // 20 is exact, and no entry becomes 2^20, which does not fit.
    let low = |x: u64| x as i64 & 0xf_ffff;
    let mut f = f.map(|f| low(f) - (1 << 41));
    let mut g = g.map(|g| low(g) - (1 << 62));
    for _ in 0..steps {
        for i in 0..N {
            let positive = hidden((zeta[i] >> 63) as u64) as i64;
            let odd = hidden((g[i] & 1).wrapping_neg() as u64) as i64;
            let exchanged = positive & odd;
            let before = g[i];
            g[i] = g[i].wrapping_add(((f[i] ^ positive) - positive) & odd) >> 1;
            f[i] ^= (f[i] ^ before) & exchanged;
            zeta[i] = (zeta[i] ^ exchanged) - 1;
        }
    }
    // the nearest multiples: lower parts may be negative
    let second = |x: i64| (x + (1 << 20)) << 22 >> 43;
    let third = |x: i64| (x + (1 << 20) + (1 << 41)) >> 42;
    core::array::from_fn(|i| Few {
        u: second(f[i]),
        v: third(f[i]),
        q: second(g[i]),
        r: third(g[i]),
    })
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    /// The primes of X25519 and P-256, the order of P-256, and limits of the contract.
    const MODULI: [[u64; 4]; 5] = [
        [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1],
        [u64::MAX, u64::MAX >> 32, 0, 0xffff_ffff_0000_0001],
        [0xf3b9_cac2_fc63_2551, 0xbce6_faad_a717_9e84, u64::MAX, 0xffff_ffff_0000_0000],
        [1, 0, 0, 1 << 62],
        [u64::MAX; 4],
    ];

    fn big(x: &[u64; 4]) -> BigUint {
        x.iter().rev().fold(BigUint::ZERO, |sum, &word| (sum << 64) + word)
    }

    #[test]
    fn an_inverse_times_its_number_is_one() {
        let mut rng = fastrand::Rng::with_seed(1);
        for m in MODULI {
            let modulus = Modulus::new(&m);
            for round in 0..4_000 {
                let mut x: [u64; 4] = core::array::from_fn(|_| match round % 3 {
                    0 => rng.u64(..) >> rng.u32(0..64),               // few bits
                    1 => [0, u64::MAX, rng.u64(..)][rng.usize(0..3)], // long runs
                    _ => rng.u64(..),
                });
                match round {
                    0 => x = [0; 4],
                    1 => x = [1, 0, 0, 0],
                    2 => x = [m[0] - 1, m[1], m[2], m[3]],
                    _ => {}
                }
                if big(&x) >= big(&m) {
                    x[3] >>= 2;
                }
                let inverse = big(&modulus.invert(&x));
                let expected = big(&x).modinv(&big(&m)).unwrap_or_default();
                if expected > BigUint::ZERO || x == [0; 4] {
                    assert_eq!(inverse, expected, "{x:x?} mod {m:x?}");
                }
                // beside another number and another modulus
                let (other, y) = (Modulus::new(&MODULI[round % 5]), [round as u64 + 1, 0, 0, 0]);
                let both = invert_in_step([(&modulus, &x), (&other, &y)]);
                assert_eq!(both, [modulus.invert(&x), other.invert(&y)], "{x:x?} and {y:x?}");
            }
        }
    }
}
