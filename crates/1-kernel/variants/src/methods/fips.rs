//! FIPS, finely integrated product scanning [KAK96]: column by column, product and reduction in one
//! sum of three limbs.
//!
//! Counts: 2K^2 + K products; of a square K(K+1)/2 + K^2 + K.

use super::settle;
use crate::limbs::{Column, low};
use crate::numbers::Numbers;

#[inline(never)]
pub(crate) fn product<const U: usize>(
    z: &mut [u64],
    x: &[u64],
    y: &[u64],
    m: &Numbers,
    t: &mut [u64],
) {
    let k = m.k();
    columns::<U>(z, m, t, |column, i| match i.checked_sub(k) {
        None => column.add_products::<U>(&x[..=i], &y[..=i]),
        Some(below) => column.add_products::<U>(&x[below + 1..], &y[below + 1..]),
    });
}

#[inline(never)]
pub(crate) fn square<const U: usize>(z: &mut [u64], x: &[u64], m: &Numbers, t: &mut [u64]) {
    let k = m.k();
    columns::<U>(z, m, t, |column, i| {
        // x[j] * x[i-j] for j < i-j, twice; the middle once
        let mut half = Column::default();
        let x_of_column = match i.checked_sub(k) {
            None => &x[..=i],
            Some(below) => &x[below + 1..],
        };
        let pairs = x_of_column.len() / 2;
        let (lower, upper) = x_of_column.split_at(x_of_column.len() - pairs);
        half.add_products::<U>(&lower[..pairs], upper);
        column.add_twice(half);
        if i.is_multiple_of(2) {
            column.add(x[i / 2], x[i / 2]);
        }
    });
}

/// z :== (the sum of the columns that `add` adds) / R (mod m).
#[inline(always)]
fn columns<const U: usize>(
    z: &mut [u64],
    m: &Numbers,
    t: &mut [u64],
    add: impl Fn(&mut Column, usize),
) {
    let (k, n) = (m.k(), &m.m[..]);
    let q = &mut t[..k];
    let mut column = Column::default();
    for i in 0..k {
        add(&mut column, i);
        column.add_products::<U>(&q[..i], &n[1..=i]);
        q[i] = low(column.lowest(), m.k0);
        column.add(q[i], n[0]);
        column.shift(); // 0
    }
    for i in k..2 * k - 1 {
        add(&mut column, i);
        column.add_products::<U>(&q[i - k + 1..], &n[i - k + 1..]);
        z[i - k] = column.shift();
    }
    z[k - 1] = column.shift();
    settle(z, n, column.lowest()); // below R + m, as in SOS
}
