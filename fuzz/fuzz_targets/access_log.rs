//! Reads any text as an access log. The result is a workload that survives a round trip through its
//! file format, or errors of one line each.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_workload::{Study, Workload};

fuzz_target!(|text: &str| {
    let mut study = Study::default();
    text.lines().for_each(|line| study.line(line));
    for (_, bad) in &study.bad().first {
        assert!(!bad.to_string().chars().any(char::is_control), "{bad}");
    }
    let workload = study.workload("fuzz.log");
    let again = Workload::from_toml(&workload.to_toml()).expect("what was written is read");
    assert_eq!(again, workload);
});
