//! Arithmetic modulo m, which computes the constants of a modulus in any radix.

use zeroize::Zeroizing;

use crate::carry;
use crate::kernels::amm64_portable::amm64_portable;
use crate::word::Word;

/// x := 2x mod m, for x < m.
fn double(x: &mut [u64], m: &[u64]) {
    let mut out = 0; // the bit shifted out
    for x in &mut *x {
        (*x, out) = (*x << 1 | out, *x >> 63);
    }
    // 2x >= m if a bit was shifted out, or if the subtraction of m does not borrow
    let mut borrow = 0;
    for (x, m) in x.iter().zip(m) {
        x.sub_borrow(*m, &mut borrow);
    }
    let take = (out | (borrow ^ 1)).mask();
    let mut borrow = 0;
    for (x, m) in x.iter_mut().zip(m) {
        *x = x.sub_borrow(m & take, &mut borrow);
    }
}

/// Arithmetic mod m in limbs and Montgomery form (R64 = 2^{64 len}), on the portable kernel. It
/// computes the constants of a modulus in any radix. All values are below m and wiped when dropped.
pub(super) struct Field<'a> {
    m: &'a [u64],
    pub(super) bits: usize,
    pub(super) k0: u64,
    t: Zeroizing<Vec<u64>>,
}

pub(super) type Value = Zeroizing<Vec<u64>>;

impl<'a> Field<'a> {
    /// Creates the field of an odd m of `bits` bits, in as few limbs as possible.
    pub(super) fn new(m: &'a [u64], bits: usize) -> Self {
        Self { m, bits, k0: negative_inverse(m[0]), t: Zeroizing::new(vec![0; m.len() + 1]) }
    }

    /// Returns R mod m, R^2 mod m and R^2 H mod m, for R = 2^`r_bits` and H = 2^`h_bits`.
    pub(super) fn constants(&mut self, r_bits: usize, h_bits: usize) -> [Value; 3] {
        let r = self.power_of_two(r_bits);
        let rr = self.product(&r, &r);
        let h = if h_bits == r_bits { r.clone() } else { self.power_of_two(h_bits) };
        let upper = self.product(&rr, &h);
        [r, rr, upper].map(|x| self.leave(&x))
    }

    /// Returns x * 2^-bits mod m, for x < m and `bits` <= 64. Computes (x + q * m) / 2^bits with
    /// q = x * k0 mod 2^bits. The result is below m, since q < 2^bits.
    pub(super) fn fold(&self, x: &[u64], bits: usize) -> Value {
        let q = x[0].wrapping_mul(self.k0) & (u64::MAX >> (64 - bits));
        let mut z = Zeroizing::new(vec![0; self.m.len() + 1]);
        let mut carry = 0u128;
        for (j, z) in z.iter_mut().enumerate() {
            let at = |x: &[u64]| u128::from(x.get(j).copied().unwrap_or(0));
            carry = carry.wrapping_add(at(self.m).wrapping_mul(u128::from(q)));
            carry = carry.wrapping_add(at(x));
            (*z, carry) = (low(carry), carry >> 64);
        }
        for i in 0..self.m.len() {
            let words = u128::from(z[i + 1]) << 64 | u128::from(z[i]);
            z[i] = low(words >> bits);
        }
        z.truncate(self.m.len());
        z
    }

    /// Returns x * y / R64 mod m.
    pub(super) fn product(&mut self, x: &[u64], y: &[u64]) -> Value {
        let mut z = Zeroizing::new(vec![0; self.m.len()]);
        amm64_portable(&mut z, x, y, self.m, self.k0, &mut self.t);
        carry::reduce(&mut z, self.m);
        z
    }

    /// Returns 2^e in Montgomery form. Squares and doubles by the bits of e, which is public.
    pub(super) fn power_of_two(&mut self, e: usize) -> Value {
        let mut x = Zeroizing::new(vec![0; self.m.len()]);
        // start from the highest bit of m: it is below m, since bit 0 of m is set too
        x[(self.bits - 1) / 64] = 1 << ((self.bits - 1) % 64);
        (self.bits - 1..64 * self.m.len()).for_each(|_| double(&mut x, self.m)); // R64 mod m
        for i in (0..usize::BITS - e.leading_zeros()).rev() {
            x = self.product(&x, &x);
            if e >> i & 1 == 1 {
                double(&mut x, self.m);
            }
        }
        x
    }

    /// Converts x from Montgomery form.
    fn leave(&mut self, x: &[u64]) -> Value {
        let mut one = vec![0; self.m.len()];
        one[0] = 1;
        self.product(x, &one)
    }
}

/// Returns -1/m mod 2^64, for odd m. Each step of Newton's iteration doubles the correct low bits:
/// 5, 10, 20, 40, 80.
fn negative_inverse(m: u64) -> u64 {
    let mut x = m.wrapping_mul(3) ^ 2; // correct in 5 bits
    for _ in 0..4 {
        x = x.wrapping_mul(2u64.wrapping_sub(m.wrapping_mul(x)));
    }
    x.wrapping_neg()
}

/// Returns the low half of x.
fn low(x: u128) -> u64 {
    #[allow(clippy::cast_possible_truncation, reason = "the low half is meant")]
    {
        x as u64
    }
}
