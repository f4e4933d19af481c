//! A client that sends records without any request gets its share of a worker, but cannot
//! monopolize it.

use core::ffi::c_int;
use std::io::Write as _;
use std::thread;

use crate::rig::{self, Rig, Valve, bytes, response};
use foreign_types::ForeignTypeRef as _;
use tollgate_server::{Config, Limits};

unsafe extern "C" {
    fn SSL_key_update(ssl: *mut openssl_sys::SSL, kind: c_int) -> c_int;
}

/// `SSL_KEY_UPDATE_NOT_REQUESTED` of `openssl/ssl.h`.
const NOT_REQUESTED: c_int = 0;
const KEY_UPDATES: usize = 100_000;

#[test]
fn endless_key_updates_do_not_starve_other_clients() {
    // Key updates are not requests, so the limit for idle connections still applies.
    let limits = Limits { idle: rig::TIMEOUT, ..Limits::default() };
    let rig = Rig::start(Config { limits, ..Config::default() });
    let socket = rig::tcp(rig.running.addr());
    let mut client = rig::client(Valve { socket, reads: true, held: None });
    client.connect().unwrap();
    client.get_mut().held = Some(Vec::new());
    for _ in 0..KEY_UPDATES {
        // SAFETY: a connection of TLS 1.3 after its handshake.
        assert_eq!(unsafe { SSL_key_update(client.ssl().as_ptr(), NOT_REQUESTED) }, 1);
        client.do_handshake().unwrap();
    }
    client.write_all(rig::ONE_REQUEST.as_bytes()).unwrap();
    let flood = client.get_mut().held.take().unwrap();
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
