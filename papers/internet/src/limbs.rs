//! Building blocks of the methods: rows of products of limbs.
//!
//! The body of the innermost loop does [`UNROLL`] products; a second loop does the remaining
//! products one at a time.

/// The number of products in the body of an innermost loop.
const UNROLL: usize = 4;

/// Returns x * y.
#[inline(always)]
pub(crate) fn wide(x: u64, y: u64) -> u128 {
    u128::from(x).wrapping_mul(u128::from(y))
}

/// Returns x * y mod 2^64.
#[inline(always)]
pub(crate) fn low(x: u64, y: u64) -> u64 {
    x.wrapping_mul(y)
}

/// Returns (low, high) of t + x * y + carry, which is at most 2^128 - 1. The carry is added last,
/// because the next product waits for it.
#[inline(always)]
pub(crate) fn mac(t: u64, x: u64, y: u64, carry: u64) -> (u64, u64) {
    let product = wide(x, y);
    let (low, over) = add_with_carry(low_half(product), t, 0);
    let (high, _) = add_with_carry(high_half(product), 0, over);
    let (low, over) = add_with_carry(low, carry, 0);
    let (high, _) = add_with_carry(high, 0, over);
    (low, high)
}

/// t := t + x * y, for x as long as t; returns the carry into the limb above.
#[inline(always)]
pub(crate) fn add_row(t: &mut [u64], x: &[u64], y: u64) -> u64 {
    let mut carry = 0;
    let (ts, t_rest) = t.as_chunks_mut::<UNROLL>();
    let (xs, x_rest) = x.as_chunks::<UNROLL>();
    for (t, x) in ts.iter_mut().zip(xs) {
        for j in 0..UNROLL {
            (t[j], carry) = mac(t[j], x[j], y, carry);
        }
    }
    for (t, &x) in t_rest.iter_mut().zip(x_rest) {
        (*t, carry) = mac(*t, x, y, carry);
    }
    carry
}

/// t := (t + x * y) / 2^64, one limb down. `s` has t from its second limb on. The first limb of `s`
/// receives the limb that is shifted out. Returns the carry into the limb above.
#[inline(always)]
pub(crate) fn add_row_shifting(s: &mut [u64], x: &[u64], y: u64) -> u64 {
    let mut carry = 0;
    let (xs, x_rest) = x.as_chunks::<UNROLL>();
    for (i, x) in xs.iter().enumerate() {
        let s = &mut s[i * UNROLL..][..=UNROLL];
        for j in 0..UNROLL {
            (s[j], carry) = mac(s[j + 1], x[j], y, carry);
        }
    }
    let s = &mut s[x.len() - x_rest.len()..];
    for (j, &x) in x_rest.iter().enumerate() {
        (s[j], carry) = mac(s[j + 1], x, y, carry);
    }
    carry
}

/// t := t + x + carry, for x as long as t; returns the carry out, 0 or 1.
#[inline(always)]
pub(crate) fn add(t: &mut [u64], x: &[u64], carry: u64) -> u64 {
    let mut carry = bit(carry);
    for (t, &x) in t.iter_mut().zip(x) {
        (*t, carry) = add_with_carry(*t, x, carry);
    }
    u64::from(carry)
}

/// t := t - (x if the mask is all ones, 0 if it is 0), as long as t; returns the borrow.
#[inline(always)]
pub(crate) fn subtract(t: &mut [u64], x: &[u64], mask: u64) -> u64 {
    let mut no_borrow = 1; // t - x = t + (not x) + 1 - R
    for (t, &x) in t.iter_mut().zip(x) {
        (*t, no_borrow) = add_with_carry(*t, !(x & mask), no_borrow);
    }
    u64::from(no_borrow ^ 1)
}

/// t := t + x + carry, for a carry of 0 or 1; returns the carry out.
#[inline(always)]
pub(crate) fn add_carry(t: &mut u64, x: u64, carry: u64) -> u64 {
    let (sum, over) = add_with_carry(*t, x, bit(carry));
    *t = sum;
    u64::from(over)
}

/// Returns a carry of 0 or 1.
#[inline(always)]
fn bit(carry: u64) -> u8 {
    carry.to_le_bytes()[0]
}

/// Returns x + y + carry, for a carry of 0 or 1, and the carry out. The intrinsic makes each sum an
/// ADC: the compiler would regroup sums of carries that are written as additions.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn add_with_carry(x: u64, y: u64, carry: u8) -> (u64, u8) {
    let mut sum = 0;
    let over = core::arch::x86_64::_addcarry_u64(carry, x, y, &mut sum);
    (sum, over)
}

/// Returns x + y + carry, for a carry of 0 or 1, and the carry out.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn add_with_carry(x: u64, y: u64, carry: u8) -> (u64, u8) {
    let (sum, a) = x.overflowing_add(y);
    let (sum, b) = sum.overflowing_add(u64::from(carry));
    (sum, u8::from(a | b))
}

/// Returns the low limb.
#[inline(always)]
pub(crate) fn low_half(x: u128) -> u64 {
    #[allow(clippy::cast_possible_truncation, reason = "takes the low half")]
    {
        x as u64
    }
}

/// Returns the high limb.
#[inline(always)]
pub(crate) fn high_half(x: u128) -> u64 {
    low_half(x >> 64)
}
