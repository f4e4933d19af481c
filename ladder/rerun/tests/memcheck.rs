//! The constant-time check can fail: memcheck reports a branch and an index that depend on a
//! secret.
#![allow(clippy::unwrap_used, reason = "tests")]

use core::hint::black_box;

use tollgate_calibrate::probe;
use tollgate_cpu::{features, memcheck};
use tollgate_rerun as rerun;

/// Returns the number of errors that memcheck reports while `work` runs.
fn errors(work: impl FnOnce()) -> u64 {
    let before = memcheck::count_errors();
    work();
    memcheck::count_errors() - before
}

/// Returns 32 bytes that the compiler cannot know.
fn secret() -> Vec<u8> {
    black_box((0..32).collect())
}

#[inline(never)]
fn leaky_equal(x: &[u8], y: &[u8]) -> bool {
    for i in 0..x.len() {
        if black_box(x[i]) != y[i] {
            return false;
        }
    }
    true
}

#[inline(never)]
fn steady_equal(x: &[u8], y: &[u8]) -> u8 {
    let difference = x.iter().zip(y).fold(0, |difference, (x, y)| difference | black_box(x ^ y));
    black_box(difference)
}

#[test]
fn a_branch_on_a_secret_is_reported() {
    if !memcheck::running_on_valgrind() {
        return rerun::under_memcheck("a_branch_on_a_secret_is_reported");
    }
    let (x, y) = (secret(), secret());
    assert_eq!(errors(|| assert!(black_box(leaky_equal(&x, &y)))), 0, "nothing is secret yet");
    memcheck::mark_secret(&x);
    let mut equal = false;
    assert!(errors(|| equal = leaky_equal(&x, &y)) > 0, "the leak was not reported");
    memcheck::declassify(&x);
    assert_eq!(errors(|| assert!(leaky_equal(&x, &y))), 0, "declassified, and still reported");
}

#[test]
fn an_index_by_a_secret_is_reported() {
    if !memcheck::running_on_valgrind() {
        return rerun::under_memcheck("an_index_by_a_secret_is_reported");
    }
    let table: Vec<u64> = black_box((0..8).collect());
    let index = black_box(vec![5u64]);
    memcheck::mark_secret(&index);
    let mut found = 0;
    // A mask instead of the bounds check, so that only the address depends on the secret.
    assert!(errors(|| found = table[usize::try_from(index[0] & 7).unwrap()]) > 0);
    memcheck::declassify(&index);
    memcheck::declassify(core::slice::from_ref(&found));
    assert_eq!(found, 5);
}

#[test]
fn arithmetic_on_a_secret_is_not_reported() {
    if !memcheck::running_on_valgrind() {
        return rerun::under_memcheck("arithmetic_on_a_secret_is_not_reported");
    }
    let (x, y) = (secret(), secret());
    memcheck::mark_secret(&x);
    let mut difference = vec![1];
    assert_eq!(errors(|| difference[0] = steady_equal(&x, &y)), 0);
    memcheck::declassify(&difference);
    assert_eq!(difference, [0]);
}

/// Valgrind does not report ADX in CPUID, but it translates ADX instructions. So memcheck can check
/// the MULX kernels.
#[test]
fn mulx_kernels_can_be_checked() {
    if !memcheck::running_on_valgrind() {
        if features::present().contains(&tollgate_cpu::Feature::Adx) {
            rerun::under_memcheck("mulx_kernels_can_be_checked");
        }
        return;
    }
    assert!(features::present().contains(&tollgate_cpu::Feature::Adx));
    assert!(!features::present().contains(&tollgate_cpu::Feature::Ifma));
    // The probe executes MULX, ADCX and ADOX: an unknown instruction would end this process.
    if tollgate_cpu::HaveAdxBmi2::check().is_some() {
        assert!(probe::measure().contains_key(&probe::Probe::MulxAdcxAdox));
    }
}

#[test]
fn outside_valgrind_marks_have_no_effect() {
    if memcheck::running_on_valgrind() {
        return; // the whole program may be run there
    }
    let x = secret();
    memcheck::mark_secret(&x);
    assert_eq!(x, secret());
    assert_eq!(errors(|| assert!(leaky_equal(&x, &secret()))), 0);
}

#[test]
#[should_panic(expected = "no test of this program has that name")]
fn a_check_that_does_not_exist_fails() {
    let valgrind = std::process::Command::new("valgrind").arg("--version").output();
    if valgrind.is_err() {
        panic!("valgrind is missing; no test of this program has that name");
    }
    rerun::under_memcheck("no_such_test");
}
