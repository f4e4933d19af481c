//! One connection, from handshake to close.

use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::{HandshakeKind, ServerConfig, ServerConnection, StreamOwned};
use tollgate_server::BODY_PERIOD;

use crate::config::refused;
use crate::counts::{Counts, count};
use crate::request::{HEAD_BYTES_MAX, Request};

/// Timeout of each read and write.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The number of bytes of a body in one write: whole periods, so that all pieces are equal.
const PIECE_BYTES: usize = 256 * 251;
const _: () = assert!((PIECE_BYTES as u64).is_multiple_of(BODY_PERIOD), "a piece is whole periods");

/// Serves one client. Responses are counted even if the client then breaks TLS or HTTP.
pub(crate) fn serve(
    config: &Arc<ServerConfig>,
    socket: TcpStream,
    counts: &Counts,
) -> io::Result<()> {
    let mut stream = handshake(config, socket).inspect_err(|_| count(&counts.failed, 1))?;
    count(&counts.handshakes, 1);
    if stream.conn.handshake_kind() == Some(HandshakeKind::Resumed) {
        count(&counts.resumed, 1);
    }
    let mut received = Vec::new();
    while let Some(request) = next_request(&mut stream, &mut received)? {
        respond(&mut stream, request.body_bytes)?;
        if let Some(bytes) = request.body_bytes {
            count(&counts.body_bytes, bytes);
            count(&counts.requests, 1);
        }
    }
    stream.conn.send_close_notify();
    stream.flush()
}

type TlsStream = StreamOwned<ServerConnection, TcpStream>;

fn handshake(config: &Arc<ServerConfig>, mut socket: TcpStream) -> io::Result<TlsStream> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    socket.set_write_timeout(Some(TIMEOUT))?;
    let mut tls = ServerConnection::new(Arc::clone(config)).map_err(refused)?;
    while tls.is_handshaking() {
        tls.complete_io(&mut socket)?;
    }
    Ok(StreamOwned::new(tls, socket))
}

/// Returns the next request; `None` at the end of the stream.
fn next_request(stream: &mut TlsStream, received: &mut Vec<u8>) -> io::Result<Option<Request>> {
    let mut buffer = [0; HEAD_BYTES_MAX];
    loop {
        if let Some(request) = Request::parse(received).map_err(refused)? {
            received.drain(..request.head_bytes);
            return Ok(Some(request));
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(None),
            length => received.extend_from_slice(&buffer[..length]),
        }
    }
}

/// Writes head and body until the kernel has accepted all of it.
fn respond(stream: &mut TlsStream, body: Option<u64>) -> io::Result<()> {
    let (status, length) = body.map_or(("404 Not Found", 0), |length| ("200 OK", length));
    // Head and first piece in one write: they fit one record if they are short.
    let mut piece = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n").into_bytes();
    let mut left = length;
    loop {
        let bytes = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE_BYTES);
        piece.extend_from_slice(&PIECE[..bytes]);
        stream.write_all(&piece)?;
        piece.clear();
        left -= bytes as u64;
        if left == 0 {
            return stream.flush();
        }
    }
}

/// A piece of a body, the same bytes as the embedded server sends: byte i is i modulo the period.
static PIECE: [u8; PIECE_BYTES] = {
    let mut piece = [0; PIECE_BYTES];
    let mut i = 0;
    while i < PIECE_BYTES {
        #[allow(clippy::cast_possible_truncation, reason = "the period fits a byte")]
        let byte = (i as u64 % BODY_PERIOD) as u8;
        piece[i] = byte;
        i += 1;
    }
    piece
};
