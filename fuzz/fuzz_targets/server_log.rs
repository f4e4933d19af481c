//! Reads any bytes as a server's log that grows while the referee reads it. The times of the reads
//! change neither the counts nor the error. An error has one line.
//!
//! The first byte is the length of the part of the log that exists at the first read.
#![no_main]

use std::fs::OpenOptions;
use std::io::Write as _;

use libfuzzer_sys::fuzz_target;
use tollgate_load::{AccessLog, Referee as _, Seen};

fuzz_target!(|bytes: &[u8]| {
    let [at, log @ ..] = bytes else { return };
    let (first, second) = log.split_at(usize::from(*at) * log.len() / 255);
    let whole = seen([log, b""]);
    if let Err(error) = &whole {
        assert!(!error.chars().any(char::is_control), "{error}");
    }
    assert_eq!(seen([first, second]), whole);
});

/// Returns the final result of a referee that reads after each part of the log.
fn seen(parts: [&[u8]; 2]) -> Result<Seen, String> {
    let name = format!("tollgate-fuzz-{}.log", std::process::id());
    let path = std::env::temp_dir().join(name);
    let file = OpenOptions::new().create(true).truncate(true).write(true).open(&path);
    let mut file = file.expect("a folder for temporary files");
    let mut referee = AccessLog::open(&path).expect("it was made");
    let _ = std::fs::remove_file(path); // writer and referee keep the file open
    let look = |part: &[u8]| {
        file.write_all(part).expect("room for a log");
        referee.seen().map_err(|error| error.to_string())
    };
    let [first, last] = parts.map(look);
    first.and(last)
}
