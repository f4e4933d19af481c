//! FIPS, finely integrated product scanning [KAK96]: the method works column by column, and adds
//! product and reduction in one sum of three limbs.
//!
//! Counts: 2K^2 + K products; of a square K(K+1)/2 + K^2 + K.

use super::settle;
use crate::limbs::{Column, low};
use crate::numbers::Numbers;

#[inline(never)]
pub(crate) fn amm<const U: usize, const SQUARE: bool>(
    z: &mut [u64],
    [x, y]: [&[u64]; 2],
    m: &Numbers,
    t: &mut [u64],
) {
    let (k, m, k0) = (m.k(), &m.m[..], m.k0);
    let q = &mut t[..k];
    let mut column = Column::default();
    for i in 0..k {
        add_column::<U, SQUARE>(&mut column, &x[..=i], &y[..=i]);
        column.add_products::<U>(&q[..i], &m[1..=i]);
        q[i] = low(column.lowest(), k0);
        column.add(q[i], m[0]);
        column.shift(); // 0
    }
    for i in 0..k - 1 {
        add_column::<U, SQUARE>(&mut column, &x[i + 1..], &y[i + 1..]);
        column.add_products::<U>(&q[i + 1..], &m[i + 1..]);
        z[i] = column.shift();
    }
    z[k - 1] = column.shift();
    settle(z, m, column.lowest()); // below R + m, as in SOS
}

/// Adds the products of a column.
#[inline(always)]
fn add_column<const U: usize, const SQUARE: bool>(column: &mut Column, x: &[u64], y: &[u64]) {
    if SQUARE {
        // adds each product of two different limbs twice, and the square of the middle limb once
        let pairs = x.len() / 2;
        let (lower, upper) = x.split_at(x.len() - pairs);
        let mut half = Column::default();
        half.add_products::<U>(&lower[..pairs], upper);
        column.add_twice(half);
        if let [.., middle] = lower[pairs..] {
            column.add(middle, middle);
        }
    } else {
        column.add_products::<U>(x, y);
    }
}
