//! HAProxy's HTTP log (`option httplog`). Its byte counts include head and body of the response.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::{BadLine, Entry, Tail, connection};

/// Reads a line `... CLIENT:PORT [ACCEPTED] FRONTEND BACKEND/SERVER TIMERS STATUS BYTES ...`;
/// `None` if the line does not have this form.
pub(super) fn read(line: &str) -> Option<Result<Entry, BadLine>> {
    let (before, rest) = line.split_once(" [")?;
    // Syslog writes the process id in brackets, without a space before them.
    let client = before.split_ascii_whitespace().next_back()?;
    let (time, rest) = rest.split_once(']')?;
    if rest.ends_with("SSL handshake failure") {
        return Some(Ok(Entry { failed_handshake: true, ..Entry::default() }));
    }
    let mut words = rest.split_ascii_whitespace();
    let (_frontend, server, timers) = (words.next()?, words.next()?, words.next()?);
    let is_ours = client.contains(':') && server.contains('/') && timers.matches('/').count() == 4;
    if !is_ours {
        return None;
    }
    let mut entry = request(client, time, &mut words);
    if let Ok(entry) = &mut entry {
        Tail::new(rest).add_to(entry);
    }
    Some(entry)
}

fn request<'a>(
    client: &str,
    time: &str,
    words: &mut impl Iterator<Item = &'a str>,
) -> Result<Entry, BadLine> {
    // Local time without zone; only differences count here.
    let time = DateTime::strptime("%d/%b/%Y:%H:%M:%S%.f", time)
        .and_then(|time| time.to_zoned(TimeZone::UTC))
        .map_err(|_| {
            BadLine::new(format!("{time:?} is not a time like 06/Feb/2009:12:14:14.655"))
        })?;
    // -1 if the client closed before the response
    let status = match words.next() {
        Some("-1") => Some(None),
        word => word.and_then(|word| word.parse::<u16>().ok()).map(Some),
    };
    let status = status.ok_or_else(|| BadLine::new("no status after the timers"))?;
    // `option logasap` writes a plus: more bytes followed.
    let bytes = words.next().and_then(|word| word.parse().ok());
    let bytes: u64 = bytes.ok_or_else(|| BadLine::new("no bytes after the status"))?;
    Ok(Entry {
        time_us: Some(time.timestamp().as_microsecond()),
        connection: Some(connection(client)),
        request: status.map(|status| (status, Some(bytes))),
        has_head: true,
        ..Entry::default()
    })
}
