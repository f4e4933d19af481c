//! Sessions over sockets, with servers in their own processes.

use core::time::Duration;
use std::io::{Read, Write};
use std::net::TcpStream;

use tollgate_tls_client::{Connection, Error, Event};

/// Timeout of every wait in these tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn connect(port: u16) -> std::io::Result<TcpStream> {
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// Transfers bytes until `done`; returns the received data.
pub(crate) fn drive(
    client: &mut Connection,
    socket: &mut TcpStream,
    done: impl Fn(&Connection, bool) -> bool,
) -> Result<Vec<u8>, Error> {
    let (mut data, mut closed) = (vec![], false);
    loop {
        socket.write_all(client.outgoing()).unwrap();
        client.sent(client.outgoing().len())?;
        if done(client, closed) {
            return Ok(data);
        }
        let count = socket.read(client.space()).unwrap();
        if count == 0 {
            client.end_of_stream()?;
            return Ok(data);
        }
        client.filled(count)?;
        while let Some(event) = client.poll()? {
            match event {
                Event::Closed => closed = true,
                Event::Data(bytes) => data.extend_from_slice(bytes),
                Event::Established => (),
            }
        }
    }
}

/// Performs a handshake, a request, its response, and `close_notify` in both directions.
pub(crate) fn page(mut socket: TcpStream, client: &mut Connection) -> Vec<u8> {
    drive(client, &mut socket, |client, _| client.is_established()).unwrap();
    client.send(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let response = drive(client, &mut socket, |_, closed| closed).unwrap();
    client.close();
    socket.write_all(client.outgoing()).unwrap();
    response
}

/// Transfers the bytes that are ready.
pub(crate) fn read_some(client: &mut Connection, socket: &mut TcpStream) -> Vec<u8> {
    let mut data = vec![];
    socket.write_all(client.outgoing()).unwrap();
    client.sent(client.outgoing().len()).unwrap();
    let count = socket.read(client.space()).unwrap();
    assert!(count > 0, "s_server closed the stream");
    client.filled(count).unwrap();
    while let Some(event) = client.poll().unwrap() {
        if let Event::Data(bytes) = event {
            data.extend_from_slice(bytes);
        }
    }
    data
}
