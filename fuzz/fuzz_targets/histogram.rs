//! Reads any text as a histogram of times. The result is one that survives a round trip, or none; it takes
//! no more memory than a histogram of this program.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_load::Latency;

fuzz_target!(|text: &str| {
    if let Some(latency) = Latency::from_base64(text, 1) {
        let again =
            Latency::from_base64(&latency.to_base64(), 1).expect("what was written is read");
        assert_eq!(again.histogram(), latency.histogram());
        assert_eq!(
            (again.count(), again.quantile_ns(0.5)),
            (latency.count(), latency.quantile_ns(0.5))
        );
    }
});
