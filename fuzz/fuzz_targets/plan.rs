//! Reads any text as a recorded trace, as an objective and as a plan in JSON. Each result survives
//! a round trip, or is an error of one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_load::{Arrivals, Objective, Pattern, Plan, Trace};

fuzz_target!(|text: &str| {
    match text.parse::<Trace>() {
        Ok(trace) => {
            follows(&trace);
            let json = serde_json::to_string(&trace).expect("a trace is numbers");
            assert_eq!(serde_json::from_str::<Trace>(&json).expect("what was written"), trace);
        }
        Err(bad) => one_line(&bad.to_string()),
    }
    match text.parse::<Objective>() {
        Ok(objective) => assert_eq!(objective.to_string().parse(), Ok(objective)),
        Err(bad) => one_line(bad),
    }
    let Ok(plan) = serde_json::from_str::<Plan>(text) else { return };
    let json = serde_json::to_string(&plan).expect("a plan is data");
    let again: Plan = serde_json::from_str(&json).expect("what was written is read");
    assert_eq!((again.hash(), &again), (plan.hash(), &plan));
    if let Err(bad) = plan.check() {
        one_line(&bad.to_string());
    }
    if let Arrivals::Open { pattern: Pattern::Trace(trace), .. } = &plan.arrivals {
        follows(trace);
    }
});

/// Checks that times start at zero and do not decrease.
fn follows(trace: &Trace) {
    let times: Vec<u64> = trace.arrivals().iter().map(|arrival| arrival.at_ns).collect();
    assert!(times[0] == 0 && times.is_sorted(), "{times:?}");
    assert_eq!(trace.length().as_nanos(), u128::from(times[times.len() - 1]));
    assert!(trace.reused_share().is_none_or(|share| share > 0.0 && share <= 1.0));
}

fn one_line(text: &str) {
    assert!(!text.is_empty() && !text.chars().any(char::is_control), "{text:?}");
}
