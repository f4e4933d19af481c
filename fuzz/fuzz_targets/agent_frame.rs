//! Reads any bytes as a message of agents and controllers, and as the part of a run. A message is
//! read again as it was written, and a part fits its plan or not. All else is an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_agents::{Answer, Request, parse, parse_part};
use tollgate_load::{Plan, Protocol};

fuzz_target!(|input: &[u8]| {
    if let Ok(request) = parse::<Request>(input) {
        let written = serde_json::to_vec(&request).expect("a request is data");
        assert_eq!(parse::<Request>(&written), Ok(request));
    }
    if let Ok(answer) = parse::<Answer>(input) {
        let written = serde_json::to_vec(&answer).expect("an answer is data");
        assert_eq!(parse::<Answer>(&written), Ok(answer));
    }
    if let Ok(text) = core::str::from_utf8(input)
        && let Ok(part) = parse_part(text)
        && part.fits(&Plan::new(Protocol::Tls13))
    {
        let counts = part.counts();
        assert!(counts.ended() >= counts.timeouts() && counts.retries <= counts.attempts);
    }
});
