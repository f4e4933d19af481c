//! A test that needs a process of its own: it forks, or counts what the whole process has.

use std::env;
use std::process::Command;

/// Set where a test runs alone, to its name.
const ALONE: &str = "TOLLGATE_TEST_ALONE";

/// Runs `test`, whose name with its modules is `name`, on the only thread of another process.
pub(crate) fn alone(name: &str, test: impl FnOnce()) {
    if env::var_os(ALONE).is_some_and(|running| running == name) {
        return test();
    }
    let mut again = Command::new(env::current_exe().unwrap());
    again.args(["--exact", name, "--test-threads=1", "--nocapture"]).env(ALONE, name);
    let output = again.output().unwrap();
    let [said, why] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    // A name that no test has would end well too.
    assert!(output.status.success() && said.contains("test result: ok. 1 passed"), "{said}{why}");
}
