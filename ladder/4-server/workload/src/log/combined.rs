//! The combined log format of nginx and Apache, the common format, and further fields that
//! docs/bench-url.md describes.

use jiff::Timestamp;

use super::{BadLine, Entry, Tail};

/// Reads a line `HOST IDENT USER [TIME] "REQUEST" STATUS BYTES ...`.
pub(super) fn read(line: &str) -> Result<Option<Entry>, BadLine> {
    let (_, rest) = line.split_once(" [").ok_or_else(|| {
        BadLine::new(
            "no time in brackets: the line is neither combined, HAProxy's HTTP log, nor Tollgate's",
        )
    })?;
    let (time, rest) = rest
        .split_once(']')
        .ok_or_else(|| BadLine::new("no time in brackets: the bracket is not closed"))?;
    let time = Timestamp::strptime("%d/%b/%Y:%H:%M:%S %z", time).map_err(|_| {
        BadLine::new(format!("{time:?} is not a time like 10/Oct/2000:13:55:36 -0700"))
    })?;
    let rest = rest
        .trim_start()
        .strip_prefix('"')
        .ok_or_else(|| BadLine::new("no request in quotes after the time"))?;
    let rest = after_quote(rest)?;
    let mut words = rest.split_ascii_whitespace();
    let status = words.next().and_then(|word| word.parse().ok());
    let status = status.ok_or_else(|| BadLine::new("no status after the request"))?;
    let bytes = match words.next() {
        Some("-") => Some(0),
        Some(word) => word.parse().ok(),
        None => None,
    };
    let bytes = bytes.ok_or_else(|| BadLine::new("no bytes after the status"))?;
    let mut entry = Entry {
        time_us: Some(time.as_microsecond()),
        request: Some((status, Some(bytes))),
        ..Entry::default()
    };
    Tail::new(rest).add_to(&mut entry);
    Ok(Some(entry))
}

/// Returns the rest after the closing quote; quotes in the text are escaped.
fn after_quote(text: &str) -> Result<&str, BadLine> {
    let mut escaped = false;
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Ok(&text[place + 1..]),
            _ => {}
        }
    }
    Err(BadLine::new("no closing quote after the request"))
}
