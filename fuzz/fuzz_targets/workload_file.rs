//! Reads any text as a workload file. The result is a workload that survives a round trip, or an
//! error of one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_workload::Workload;

fuzz_target!(|text: &str| match Workload::from_toml(text) {
    Ok(workload) => {
        let again = Workload::from_toml(&workload.to_toml()).expect("what was written is read");
        assert_eq!(again, workload);
        assert_eq!(again.parameters(), workload.parameters());
    }
    Err(bad) => assert!(!bad.to_string().chars().any(char::is_control), "{bad}"),
});
