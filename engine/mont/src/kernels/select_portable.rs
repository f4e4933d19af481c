// Constant-time table select, z := table[index], in each lane.
// Inputs table[E][K], index; output z[K]. Zero where index >= E.
//
// Time      constant: every entry is read; no branch or address depends on the index or the table.
//! `select_portable`: for limbs and for rows.

use crate::word::Word;

#[inline(always)]
pub(crate) fn select_portable<W: Word>(z: &mut [W], table: &[W], index: W) {
    z.fill(W::default());
    for (number, entry) in (0..).zip(table.chunks_exact(z.len())) {
        let mask = index.zip(W::splat(number), |i, n| i ^ n).is_zero();
        for (z, &x) in z.iter_mut().zip(entry) {
            *z = z.zip(x.zip(mask, |x, mask| x & mask), |z, x| z | x);
        }
    }
}
