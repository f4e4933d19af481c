//! Inputs of tests, and their number.

use fastrand::Rng;

/// Returns `short`, or with `TOLLGATE_TEST_LONG` as many rounds of eight as a million inputs need.
/// Test builds, which are slower, run a tenth of them.
pub(crate) fn rounds(short: usize) -> usize {
    match (std::env::var_os("TOLLGATE_TEST_LONG"), cfg!(debug_assertions)) {
        (None, _) => short,
        (Some(_), true) => 12_500,
        (Some(_), false) => 125_000,
    }
}

/// Random bytes; in every fourth round with bytes of zeros and ones, in the round after it with
/// words of them.
pub(crate) fn bytes(rng: &mut Rng, round: usize) -> [u8; 32] {
    let mut bytes = [0; 32];
    rng.fill(&mut bytes);
    let width = match round % 4 {
        0 => 1,
        1 => 8,
        _ => return bytes,
    };
    for word in bytes.chunks_exact_mut(width) {
        match rng.u8(0..4) {
            0 => word.fill(0),
            1 | 2 => word.fill(0xff),
            _ => {}
        }
    }
    bytes
}
