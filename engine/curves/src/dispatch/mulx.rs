//! The calls that need MULX.

use std::sync::OnceLock;

use tollgate_cpu::HaveAdxBmi2;

use crate::edwards::{Multiples, Point};
use crate::field51::{Element, words};
use crate::kernels::comb64_mulx::{self, comb64_mulx};
use crate::kernels::ladder64_mulx::ladder64_mulx;

pub(super) fn public_key(k: &[u8; 32], proof: HaveAdxBmi2) -> [u8; 32] {
    static TABLE: OnceLock<Box<comb64_mulx::Table>> = OnceLock::new();
    // SAFETY: SSE2 is part of x86-64.
    let sum = unsafe { comb64_mulx(k, TABLE.get_or_init(table), proof) };
    let [minus, plus, z] = sum.each_ref().map(Element::from_words);
    Point { minus, plus, z, t: Element::ZERO }.u().to_bytes()
}

pub(super) fn agree(k: &[u8; 32], peer: &[u8; 32], proof: HaveAdxBmi2) -> [u8; 32] {
    let mut u = words(peer);
    u[3] &= u64::MAX >> 1; // RFC 7748, section 5
    let quotient = ladder64_mulx(k, &u, proof);
    let [x, z] = quotient.each_ref().map(Element::from_words);
    x.mul(z.inverted()).to_bytes()
}

/// Builds the table of `comb64_mulx`.
fn table() -> Box<comb64_mulx::Table> {
    let multiples = Multiples::<4>::new(comb64_mulx::WINDOWS);
    let mut table = Box::new([[[[0; 4]; 3]; 8]; comb64_mulx::WINDOWS]);
    for (window, entries) in table.iter_mut().zip(multiples.windows()) {
        for (number, entry) in window.iter_mut().zip(entries) {
            *number = [entry.minus, entry.plus, entry.dxy2].map(Element::to_words);
        }
    }
    table
}
