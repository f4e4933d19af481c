//! Reads of tables.

use tollgate_mont::{BlockKernel, Kernel, LaneKernel, LimbKernel, Word};

fn selects<K: Kernel>(kernel: K) {
    selects_of(kernel, &[(2, 3), (16, 10), (32, 20), (5, 1), (35, 4)]);
}

/// Every length of a number, tables of even and of odd size.
fn selects_in_blocks(kernel: BlockKernel) {
    selects_of(kernel, &[(16, 3), (32, 4), (5, 5), (4, 8), (1, 8), (35, 10)]);
}

fn selects_of<K: Kernel>(kernel: K, sizes: &[(usize, usize)]) {
    for &(entries, k) in sizes {
        let word = |i: usize| {
            let mut w = K::Word::default();
            (0..K::Word::LANES).for_each(|l| w.set_lane(l, (100 * i + l) as u64));
            w
        };
        let table: Vec<_> = (0..entries * k).map(word).collect();
        for start in 0..entries + 2 {
            let mut index = K::Word::default();
            (0..K::Word::LANES).for_each(|l| index.set_lane(l, (start + 3 * l) as u64));
            let mut z = vec![K::Word::splat(7); k];
            kernel.select(&mut z, &table, index);
            for l in 0..K::Word::LANES {
                let entry = start + 3 * l;
                for j in 0..k {
                    let want = if entry < entries { (100 * (entry * k + j) + l) as u64 } else { 0 };
                    assert_eq!(
                        z[j].lane(l),
                        want,
                        "entry {entry} of {entries}, word {j}, lane {l}"
                    );
                }
            }
        }
    }
}

#[test]
fn selects_are_right() {
    LimbKernel::all().into_iter().for_each(selects);
    LaneKernel::all().into_iter().for_each(selects);
    BlockKernel::all().into_iter().for_each(selects_in_blocks);
}
