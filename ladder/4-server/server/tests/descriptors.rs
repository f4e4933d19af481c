//! If no file descriptors are free, new clients wait, and the server prints one warning. When
//! descriptors are free again, it serves these clients. This file has only one test because the
//! limit applies to the process.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "server/rig.rs"]
#[allow(dead_code, reason = "this test uses only a part")]
mod rig;

use std::fs::File;
use std::io::Write as _;
use std::net::TcpStream;

use rig::{bytes, eventually, response};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tollgate_server::{Config, Server};

#[test]
fn accepting_pauses_and_resumes() {
    let running = Server::start(Config::default()).unwrap();
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(200), ..before }).unwrap();
    let mut filling = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        filling.push(file);
    }
    // The client's socket takes the last descriptor; no descriptor is left for the server's socket.
    rustix::net::connect(&socket, &running.addr()).unwrap();
    eventually("two pauses", || running.counters().descriptor_pauses >= 2);
    assert_eq!(running.counters().connections, 0);
    drop(filling);

    let socket = TcpStream::from(socket);
    socket.set_read_timeout(Some(rig::TIMEOUT)).unwrap();
    let mut client = rig::client(socket);
    client.connect().unwrap();
    client.write_all(rig::ONE_REQUEST.as_bytes()).unwrap();
    assert_eq!(response(&mut client).1, bytes(10));
    setrlimit(Resource::Nofile, before).unwrap();
    drop(client);
    assert_eq!(running.stop().connections_cut, 0);

    // If descriptors are missing at startup, the server returns an error and does not wait.
    setrlimit(Resource::Nofile, Rlimit { current: Some(3), ..before }).unwrap();
    let refused = Server::start(Config::default());
    setrlimit(Resource::Nofile, before).unwrap();
    let line = refused.unwrap_err().to_string();
    assert!(line.contains("ulimit -n"), "{line}");
}
