//! Reads any bytes as frames of the protocol of agents, in both directions. A frame is read again as
//! it was written, and the part of a run fits its plan or not. All else is an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_agents::{FRAME_BYTES_MAX, Frame, FromAgent, FromController, read, write};
use tollgate_load::{Plan, Protocol};

fuzz_target!(|input: &[u8]| {
    read_all::<FromController>(input, |_| {});
    read_all::<FromAgent>(input, |frame| {
        if let FromAgent::Ended { part, .. } = frame
            && part.fits(&Plan::new(Protocol::Tls13))
        {
            let counts = part.counts();
            assert!(counts.ended() >= counts.timeouts() && counts.retries <= counts.attempts);
        }
    });
});

fn read_all<T: Frame>(mut input: &[u8], look: fn(&T)) {
    loop {
        let before = input.len();
        match read::<T>(&mut input) {
            Ok(None) => return assert_eq!(before, 0),
            Ok(Some(frame)) => {
                assert!((8..=8 + FRAME_BYTES_MAX).contains(&(before - input.len())));
                look(&frame);
                let mut written = Vec::new();
                write(&mut written, &frame).expect("a frame that was read is not too long");
                let again: T = read(&mut &*written).expect("what was written").expect("a frame");
                let json = |frame| serde_json::to_string(frame).expect("a frame is data");
                assert_eq!(json(&again), json(&frame));
            }
            Err(error) => return assert!(!error.to_string().is_empty()),
        }
    }
}
