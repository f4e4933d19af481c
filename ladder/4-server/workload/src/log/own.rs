//! Tollgate's log, JSON Lines: one line for each handshake and each request.

use serde::Deserialize;

use super::{BadLine, Entry, ServerEvent};

/// The fields that a workload or a referee needs.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Handshake {
        time_us: i64,
        connection: u64,
        outcome: Outcome,
        protocol: Option<String>,
    },
    Request {
        time_us: i64,
        connection: u64,
        request: Option<u64>,
        resumed: Option<bool>,
        status: u16,
        bytes: u64,
        complete: Option<bool>,
        protocol: Option<String>,
    },
    Lost {
        lines: u64,
    },
    Start {
        schema: Option<u64>,
    },
    Stop {},
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Failed,
    Full,
    Resumed,
}

pub(super) fn read(line: &str) -> Result<Option<Entry>, BadLine> {
    let line: Line = serde_json::from_str(line).map_err(|error| {
        BadLine::new(format!("JSON, but not a handshake or request of Tollgate's log: {error}"))
    })?;
    let of_server = |event| Entry { event: Some(event), ..Entry::default() };
    Ok(Some(match line {
        Line::Handshake { time_us, connection, outcome, protocol } => Entry {
            time_us: Some(time_us),
            connection: Some(connection),
            resumed: Some(outcome == Outcome::Resumed),
            handshake: outcome != Outcome::Failed,
            failed_handshake: outcome == Outcome::Failed,
            protocol,
            ..Entry::default()
        },
        Line::Request {
            time_us,
            connection,
            request,
            resumed,
            status,
            bytes,
            complete,
            protocol,
        } => Entry {
            time_us: Some(time_us),
            connection: Some(connection),
            request: Some((status, Some(bytes))),
            number: request,
            resumed,
            complete,
            protocol,
            ..Entry::default()
        },
        Line::Lost { lines } => of_server(ServerEvent::Lost { lines }),
        Line::Start { schema } => of_server(ServerEvent::Started { schema }),
        Line::Stop {} => of_server(ServerEvent::Stopped),
    }))
}
