//! A client that sends records without any request gets its share of a worker, but cannot
//! monopolize it.

use core::ffi::c_int;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::thread;

use crate::rig::{self, Rig, bytes, response};
use foreign_types::ForeignTypeRef as _;
use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream, SslVerifyMode, SslVersion};
use tollgate_server::{Config, Limits};

unsafe extern "C" {
    fn SSL_key_update(ssl: *mut openssl_sys::SSL, kind: c_int) -> c_int;
}

/// `SSL_KEY_UPDATE_NOT_REQUESTED` of `openssl/ssl.h`.
const NOT_REQUESTED: c_int = 0;
const KEY_UPDATES: usize = 100_000;

/// A socket that can hold back written bytes, to send them faster than they are created.
struct Held {
    socket: TcpStream,
    bytes: Option<Vec<u8>>,
}

impl Read for Held {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.read(buffer)
    }
}

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.bytes {
            Some(held) => held.write(bytes),
            None => self.socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

#[test]
fn endless_key_updates_do_not_starve_other_clients() {
    // They are not requests, so the limit for idle connections still applies.
    let limits = Limits { idle: rig::TIMEOUT, ..Limits::default() };
    let rig = Rig::start(Config { limits, ..Config::default() });
    let mut context = SslContext::builder(SslMethod::tls_client()).unwrap();
    context.set_verify(SslVerifyMode::NONE);
    context.set_min_proto_version(Some(SslVersion::TLS1_3)).unwrap();
    let socket = rig::tcp(rig.running.addr());
    let stream = Held { socket, bytes: None };
    let mut client = SslStream::new(Ssl::new(&context.build()).unwrap(), stream).unwrap();
    client.connect().unwrap();
    client.get_mut().bytes = Some(Vec::new());
    for _ in 0..KEY_UPDATES {
        // SAFETY: a connection of TLS 1.3 after its handshake.
        assert_eq!(unsafe { SSL_key_update(client.ssl().as_ptr(), NOT_REQUESTED) }, 1);
        client.do_handshake().unwrap();
    }
    client.write_all(rig::ONE_REQUEST.as_bytes()).unwrap();
    let flood = client.get_mut().bytes.take().unwrap();
    let before = rig.running.counters().loop_turns;
    let mut socket = client.get_ref().socket.try_clone().unwrap();
    let sending = thread::spawn(move || socket.write_all(&flood).unwrap());
    assert_eq!(response(&mut client).1, bytes(10));
    sending.join().unwrap();
    let turns = rig.running.counters().loop_turns - before;
    assert!(turns >= 30, "{KEY_UPDATES} records in {turns} turns");
    drop(client);
    rig.finish();
}
