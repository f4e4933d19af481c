//! Tables of multiples of the base point in lanes. Nothing here is secret.

use super::kernels::p256_comb_mb8_ifma::{self, BITS, WINDOWS, Window};
use super::kernels::p256_comb_mulx::ENTRIES;
use super::kernels::p256_comb_sum8_ifma::{self, FIRST, STEPS};
use super::kernels::p256_field52_ifma::digits;
use super::multiples::{odd_multiples, windows_of_four};
use super::point::Affine;
use crate::residue::{Element, P, Prime, power_of_two};
use crate::vectors::{all, vector};

/// Builds the table of `p256_comb_mb8_ifma`, which takes some milliseconds.
#[target_feature(enable = "avx512f")]
pub(crate) fn mb8() -> p256_comb_mb8_ifma::Table {
    let mut windows = Vec::with_capacity(WINDOWS);
    for entries in odd_multiples(BITS, WINDOWS).as_chunks::<ENTRIES>().0 {
        windows.push(window(entries));
    }
    p256_comb_mb8_ifma::Table { top: window(&windows_of_four()[63]), windows }
}

#[target_feature(enable = "avx512f")]
fn window(entries: &[Affine]) -> Window {
    let mut window = [[all(0); 8]; 10];
    for (e, entries) in entries.as_chunks::<8>().0.iter().enumerate() {
        let entries = entries.each_ref().map(table_entry);
        for (j, digit) in window.iter_mut().enumerate() {
            digit[e] = vector(entries.map(|entry| entry[j]));
        }
    }
    window
}

/// Builds the table of `p256_comb_sum8_ifma`, which takes about a millisecond.
#[target_feature(enable = "avx512f")]
pub(crate) fn sum8() -> p256_comb_sum8_ifma::Table {
    let windows = windows_of_four();
    let mut steps = Vec::with_capacity(STEPS);
    for step in 0..STEPS {
        let mut entries = [[all(0); 10]; 8];
        for (e, entry) in entries.iter_mut().enumerate() {
            let lanes: [[u64; 10]; 8] = core::array::from_fn(|lane| {
                table_entry(&windows[(FIRST + 8 * lane + step) % 64][e])
            });
            for (j, digit) in entry.iter_mut().enumerate() {
                *digit = vector(lanes.map(|lane| lane[j]));
            }
        }
        steps.push(entries);
    }
    p256_comb_sum8_ifma::Table(steps)
}

/// The digits of x and y in Montgomery form, for tables.
fn table_entry(point: &Affine) -> [u64; 10] {
    let r = Element::new(&power_of_two(260, &P::M));
    let [x, y] = [point.x, point.y].map(|x| digits(&x.mul(&r).number()));
    core::array::from_fn(|j| if j < 5 { x[j] } else { y[j - 5] })
}
