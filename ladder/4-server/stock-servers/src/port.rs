//! Chooses a free port.

use core::net::{Ipv4Addr, SocketAddr};
use std::io;
use std::net::TcpListener;

/// The range is below the ephemeral ports, so that no outgoing connection takes the port meanwhile.
const RANGE: core::ops::Range<u16> = 10_240..32_768;

const TRIES: u32 = 100;

/// Returns a loopback address with a free port. If another process takes the port before it is
/// used, the server does not start, and another port is tried.
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
