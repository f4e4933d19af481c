//! Reads any bytes as the access log of this server. The lines survive a round trip; the sizes of
//! the pieces in which the bytes are read change nothing; an error has one line, and a number of a
//! line that exists.
//!
//! The first byte is the length of the pieces.
#![no_main]

use std::io::BufReader;

use libfuzzer_sys::fuzz_target;
use tollgate_server::log::{Line, Reader, read};

fuzz_target!(|input: &[u8]| {
    let [piece, log @ ..] = input else { return };
    let all = |piece| {
        let mut lines = Vec::new();
        for line in Reader::new(BufReader::with_capacity(piece, log)) {
            match line {
                Ok(line) => lines.push(line),
                Err(error) => {
                    let text = error.to_string();
                    assert!(!text.chars().any(char::is_control), "{text:?}");
                    return (lines, Some((error.line, text)));
                }
            }
        }
        (lines, None)
    };
    let (lines, error) = all(log.len() + 1);
    assert_eq!(all(usize::from(*piece) + 1), (lines.clone(), error.clone()));
    if let Some((number, _)) = error {
        let count = 1 + log.iter().filter(|byte| **byte == b'\n').count();
        assert!((1..=count as u64).contains(&number), "{number}");
    }
    let written: String = lines.iter().map(written).collect();
    assert_eq!(read(written.as_bytes()).expect("what was written is read"), lines);
});

fn written(line: &Line) -> String {
    serde_json::to_string(line).expect("a line") + "\n"
}
