//! Operations of any number as batches for eight lanes.

/// The number of operations that a batch kernel does at once.
pub(crate) const LANES: usize = 8;

/// Runs operations in batches of at most eight, or alone if there are fewer than `fewest`.
pub(crate) fn in_batches<T, R>(
    operations: &[T],
    fewest: usize,
    alone: impl Fn(&T) -> R,
    batch: impl Fn(&[T], &mut Vec<R>),
) -> Vec<R> {
    let mut results = Vec::with_capacity(operations.len());
    for operations in operations.chunks(LANES) {
        if operations.len() < fewest {
            results.extend(operations.iter().map(&alone));
        } else {
            batch(operations, &mut results);
        }
    }
    results
}

/// Returns word i of all numbers in entry i, as kernels read them.
pub(crate) fn by_word(x: &[[u64; 4]; LANES]) -> [[u64; LANES]; 4] {
    core::array::from_fn(|i| x.map(|x| x[i]))
}

/// Returns the words of each number.
pub(crate) fn by_number(x: &[[u64; LANES]; 4]) -> [[u64; 4]; LANES] {
    core::array::from_fn(|l| x.map(|x| x[l]))
}
