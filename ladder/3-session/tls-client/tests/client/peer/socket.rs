//! Sessions over sockets.

use std::io::{Read, Write};
use std::net::TcpStream;

use tollgate_tls_client::{Connection, Error};

use super::Seen;

/// Transfers bytes until `done`; returns the events.
pub(crate) fn drive(
    client: &mut Connection,
    socket: &mut TcpStream,
    done: impl Fn(&Connection, &Seen) -> bool,
) -> Result<Seen, Error> {
    let mut seen = Seen::default();
    loop {
        socket.write_all(client.outgoing()).unwrap();
        client.sent(client.outgoing().len())?;
        if done(client, &seen) {
            return Ok(seen);
        }
        let count = socket.read(client.space()).unwrap();
        if count == 0 {
            client.end_of_stream()?;
            return Ok(seen);
        }
        client.filled(count)?;
        while let Some(event) = client.poll()? {
            seen.note(event);
        }
    }
}

/// Performs a handshake, a request, its response, and `close_notify` in both directions.
pub(crate) fn page(mut socket: TcpStream, client: &mut Connection) -> Vec<u8> {
    drive(client, &mut socket, |client, _| client.is_established()).unwrap();
    client.send(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let seen = drive(client, &mut socket, |_, seen| seen.closed > 0).unwrap();
    client.close();
    socket.write_all(client.outgoing()).unwrap();
    seen.data
}
