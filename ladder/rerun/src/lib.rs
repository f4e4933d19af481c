//! For tests: runs one test of this test program again, alone or under valgrind's memcheck.
//!
//! A constant-time test is one function with two roles. Outside valgrind, it starts itself again
//! under valgrind. Under valgrind, it marks secrets, runs the operation and counts errors.
//!
//! ```no_run
//! # fn operation(_: &[u8]) {}
//! use tollgate_cpu::memcheck;
//! use tollgate_rerun as rerun;
//!
//! // #[test]
//! fn operation_is_constant_time() {
//!     rerun::constant_time("operation_is_constant_time", || {
//!         let secret = vec![7; 32];
//!         memcheck::mark_secret(&secret);
//!         operation(&secret);
//!     });
//! }
//! ```

use std::env;
use std::io::ErrorKind;
use std::process::Command;

use tollgate_cpu::memcheck;

/// Runs `operation` of test `name` under memcheck and passes if no branch and no address depends on
/// a secret. The operation marks its secrets itself ([`memcheck::mark_secret`]).
///
/// # Panics
///
/// A branch or an address depends on a secret; or as [`under_memcheck`].
#[track_caller]
pub fn constant_time(name: &str, operation: impl FnOnce()) {
    if !memcheck::running_on_valgrind() {
        return under_memcheck(name);
    }
    let before = memcheck::count_errors();
    operation();
    let found = memcheck::count_errors() - before;
    assert!(found == 0, "a branch or an address depends on a secret: see valgrind's report above");
}

/// Runs test `name` of this test program under memcheck, with this process's environment. `name` is
/// the full path within the program, such as `tests::constant_time`. Returns if the test passes.
///
/// Only programs for x86-64 can mark secrets; others print that nothing was checked.
///
/// If valgrind is not installed, prints on standard error that nothing was checked. With `CI=true`
/// in the environment it panics instead, so that the check cannot be skipped unnoticed.
///
/// # Panics
///
/// The test fails under memcheck, no test has this name, or valgrind cannot be started. The message
/// contains the output of valgrind and of the test.
#[track_caller]
pub fn under_memcheck(name: &str) {
    if !cfg!(target_arch = "x86_64") {
        return say(&format!(
            "{name}: NOT CHECKED, secrets are marked for valgrind on x86-64 only"
        ));
    }
    let ci = env::var_os("CI").is_some_and(|value| value == "true");
    if !memcheck::IS_COMPILED {
        assert!(!ci, "{name}: CI=true requires this check: run cargo memcheck");
        return say(&format!("{name}: NOT CHECKED in a release build: run cargo memcheck"));
    }
    let program = env::current_exe().expect("a running program has a path");
    let outcome = Command::new("valgrind")
        .args(["--tool=memcheck", "--quiet", "--track-origins=no", "--num-callers=24"])
        .arg(program)
        .args(["--exact", name, "--test-threads=1", "--nocapture", "--include-ignored"])
        .output();
    let output = match outcome {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            assert!(
                !ci,
                "{name}: valgrind is missing and CI=true requires this check: install valgrind"
            );
            say(&format!("{name}: NOT CHECKED, valgrind is missing: install valgrind"));
            return;
        }
        Err(error) => panic!("{name}: valgrind cannot be started: {error}"),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} fails under memcheck:\n{said}\n{reported}");
    assert!(said.contains("1 passed"), "{name}: no test of this program has that name:\n{said}");
}

/// Contains the test's name in the process in which the test runs alone.
const ALONE: &str = "TOLLGATE_TEST_ALONE";

/// Runs `test`, whose full path within the program is `name`, in a separate process, because it
/// forks or counts resources of the process. No other test runs there.
///
/// # Panics
///
/// The test fails there (its output is in the message), no test has this name, or the program
/// cannot be started.
#[track_caller]
pub fn alone(name: &str, test: impl FnOnce()) {
    if env::var_os(ALONE).is_some_and(|running| running == name) {
        return test();
    }
    let outcome = this_program()
        .args(["--exact", name, "--test-threads=1", "--nocapture"])
        .env(ALONE, name)
        .output();
    let output = outcome.expect("this program can be started again");
    let said = String::from_utf8_lossy(&output.stdout);
    let reported = String::from_utf8_lossy(&output.stderr);
    // A run that found no test of this name would succeed too.
    let is_good = output.status.success() && said.contains("test result: ok. 1 passed");
    assert!(is_good, "{name} fails alone:\n{said}\n{reported}");
}

/// The command that starts this program again. Programs of another architecture need an emulator,
/// which `TOLLGATE_TEST_RUNNER` contains, with its options.
fn this_program() -> Command {
    let program = env::current_exe().expect("a running program has a path");
    let runner = env::var("TOLLGATE_TEST_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    let Some(emulator) = words.next() else {
        return Command::new(program);
    };
    let mut command = Command::new(emulator);
    command.args(words).arg(program);
    command
}

/// Prints past the test harness's capture of standard error, so that a skipped check is visible.
fn say(line: &str) {
    use std::io::Write as _;
    // A failed write to standard error cannot be reported.
    let _ = writeln!(std::io::stderr(), "{line}");
}
