//! Sessions over sockets, with servers in their own processes.

#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command};

use openssl::x509::X509;
use tollgate_tls_client::{Connection, Error, Event};

/// Timeout of every wait in these tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn connect(port: u16) -> std::io::Result<TcpStream> {
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// The folder of a server, with its keys and certificates.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tollgate-tls-client-{}-{number}-{name}", std::process::id());
        let folder = Self(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).unwrap();
        for (kind, key) in [("rsa", super::RSA_2048), ("ec", super::EC_P256)] {
            let (certificate, _) = super::certificate(key);
            let pem = X509::from_der(&certificate).unwrap().to_pem().unwrap();
            std::fs::write(folder.0.join(format!("{kind}-key.pem")), key).unwrap();
            std::fs::write(folder.0.join(format!("{kind}-certificate.pem")), pem).unwrap();
        }
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server in its own process. Dropping this value kills the process.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) port: u16,
    _folder: Folder,
}

impl Process {
    /// Returns `None`, with a message, if the program is not installed; fails in CI.
    pub(crate) fn start(command: &mut Command, folder: Folder) -> Option<Self> {
        match command.current_dir(&folder.0).spawn() {
            Ok(child) => Some(Self { child, port: 0, _folder: folder }),
            Err(error) => {
                let program = command.get_program().display();
                assert!(std::env::var_os("CI").is_none(), "no {program}: {error}");
                eprintln!("skipped: no {program} command ({error})");
                None
            }
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.port).unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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
