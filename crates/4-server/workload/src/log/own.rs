//! Our own log, JSON Lines: a line for each handshake and each request.

use serde::Deserialize;

use super::{BadLine, Entry};

/// The fields that tell something of a workload.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Handshake {
        time_us: i64,
        connection: u64,
        outcome: String,
        protocol: Option<String>,
    },
    Request {
        time_us: i64,
        connection: u64,
        resumed: Option<bool>,
        status: u16,
        bytes: u64,
        protocol: Option<String>,
    },
    Lost {},
    Start {},
    Stop {},
}

pub(super) fn read(line: &str) -> Result<Option<Entry>, BadLine> {
    let line: Line = serde_json::from_str(line).map_err(|error| {
        BadLine::new(format!("JSON, but no handshake or request of ours: {error}"))
    })?;
    Ok(match line {
        Line::Handshake { time_us, connection, outcome, protocol } => Some(Entry {
            time_us: Some(time_us),
            connection: Some(connection),
            request: None,
            resumed: Some(outcome == "resumed"),
            handshake: outcome == "full" || outcome == "resumed",
            protocol,
        }),
        Line::Request { time_us, connection, resumed, status, bytes, protocol } => Some(Entry {
            time_us: Some(time_us),
            connection: Some(connection),
            request: Some((status, Some(bytes))),
            resumed,
            handshake: false,
            protocol,
        }),
        Line::Lost {} | Line::Start {} | Line::Stop {} => None,
    })
}
