//! Scalars as signed digits.
//!
//! The digits of `bits` bits are between -2^{bits-1} and 2^{bits-1} - 1, and their sum with the
//! weights 2^{bits w} is the scalar. With [`offset`] added to the scalar, its windows are the
//! digits, each plus 2^{bits-1}. The top window has no offset: it is the digit.
#![allow(clippy::cast_possible_truncation, reason = "parts of words")]

/// Returns 2^{bits-1} in each of `windows` windows but the top one.
pub(crate) const fn offset(bits: usize, windows: usize) -> [u64; 4] {
    let (mut offset, mut window) = ([0; 4], 0);
    while window < windows - 1 {
        let bit = bits * window + bits - 1;
        offset[bit / 64] |= 1 << (bit % 64);
        window += 1;
    }
    offset
}

/// x + y mod 2^256.
pub(crate) fn added(x: &[u64; 4], y: &[u64; 4]) -> [u64; 4] {
    let mut carry = 0;
    core::array::from_fn(|i| {
        let sum = u128::from(x[i]) + u128::from(y[i]) + carry;
        carry = sum >> 64;
        sum as u64
    })
}
