//! Assertions about lengths: every kernel relies on them.

use crate::shape::Shape;
use crate::window::Windows;
use crate::word::Row;

/// Asserts that operands have K words and scratch memory is enough: every kernel relies on both.
pub(super) fn check<W>(shape: Shape, z: usize, x: usize, y: usize, t: &[W]) {
    check_words(shape, z, x, y);
    assert!(t.len() >= shape.scratch_words(), "a product needs {} words", shape.scratch_words());
}

pub(super) fn check_words(shape: Shape, z: usize, x: usize, y: usize) {
    let k = shape.k();
    assert!(z == k && x == k && y == k, "z, x, y have {z}, {x}, {y} words; the modulus has {k}");
}

/// Asserts that all streams have the same shape, and returns it.
pub(super) fn check_side_by_side(streams: &[Windows<'_, Row>]) -> Shape {
    let (shape, table) = (streams[0].m.shape(), streams[0].table.len());
    assert!(table.is_multiple_of(shape.k()), "a table has whole entries");
    for s in streams {
        assert!(s.m.shape() == shape, "streams side by side have one shape");
        assert!(s.table.len() == table, "and tables of one size");
        check(shape, s.z.len(), s.next.len(), s.entry.len(), s.t);
    }
    shape
}

/// Asserts that z has K limbs and e has `bits` bits. Exponentiations in blocks would pad either
/// without an error.
pub(super) fn check_exp(shape: Shape, bits: usize, e: &[u64], z: &[u64]) {
    assert!(z.len() == shape.k(), "z has {} words; the modulus has {}", z.len(), shape.k());
    assert!(e.len() * 64 >= bits, "the exponent has fewer than {bits} bits");
}

pub(super) fn check_table<W>(z: &[W], table: &[W]) {
    assert!(!z.is_empty() && table.len().is_multiple_of(z.len()), "a table has whole entries");
}
