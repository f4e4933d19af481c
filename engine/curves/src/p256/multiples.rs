//! The multiples of the base point that the kernels add. A program computes each table once, when
//! it first needs it.

use std::sync::OnceLock;

use super::point::{Affine, Point};

/// Odd multiples of the base point: entry e of window w is (2e + 1) 2^{bits w} G.
pub(crate) fn odd_multiples(bits: usize, windows: usize) -> Vec<Affine> {
    let mut points = Vec::with_capacity(windows << (bits - 1));
    let mut first = Point::from(Affine::base());
    for _ in 0..windows {
        let twice = first.doubled();
        let mut point = first;
        for _ in 0..1 << (bits - 1) {
            points.push(point);
            point = point.add(&twice);
        }
        (0..bits).for_each(|_| first = first.doubled());
    }
    Point::all_affine(&points)
}

/// Windows of four bits, for one multiplication at a time.
pub(crate) fn windows_of_four() -> &'static [[Affine; 8]] {
    static MULTIPLES: OnceLock<Vec<Affine>> = OnceLock::new();
    MULTIPLES.get_or_init(|| odd_multiples(4, 64)).as_chunks().0
}
