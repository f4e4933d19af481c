//! A port that nobody has.

use core::net::{Ipv4Addr, SocketAddr};
use std::io;
use std::net::TcpListener;

/// Below the ports that systems give to clients, so that no connection takes it meanwhile.
const RANGE: core::ops::Range<u16> = 10_240..32_768;

/// How often another one is tried.
const TRIES: u32 = 100;

/// A loopback address that nobody listens on. Somebody may before it is used: then the server does
/// not start, and another one is tried.
pub(crate) fn free() -> io::Result<SocketAddr> {
    let mut taken = None;
    for _ in 0..TRIES {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, fastrand::u16(RANGE)));
        match TcpListener::bind(address) {
            Ok(_) => return Ok(address),
            Err(error) => taken = Some(error),
        }
    }
    Err(taken.unwrap_or_else(|| io::Error::other("no port was tried")))
}
