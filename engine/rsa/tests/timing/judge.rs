//! The verdict of a timing test. The timing tests of `tollgate-curves` use it too.

use tollgate_bench::Leakage;

/// Prints the result and fails on a leak. A busy machine may show a false leak; a real one
/// shows in a second run too.
pub(crate) fn judge(what: &str, mut look: impl FnMut() -> Option<Leakage>) {
    for last in [false, true] {
        let Some(leakage) = look() else {
            println!("skipped: {what}: this processor has no readable counter");
            return;
        };
        println!("{what}: {leakage}");
        if !leakage.is_shown() {
            return;
        }
        assert!(!last, "{what}: time depends on the secret: {leakage}");
    }
}

/// Checks that a test can fail.
pub(crate) fn planted(what: &str, leakage: Option<Leakage>) {
    match leakage {
        Some(leakage) => {
            println!("a planted leak, {what}: {leakage}");
            assert!(leakage.is_shown(), "{what} must show: {leakage}");
        }
        None => println!("skipped: this processor has no readable counter"),
    }
}
