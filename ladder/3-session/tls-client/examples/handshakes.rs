//! Performs full handshakes one after another over blocking sockets, and measures their cost to
//! this process.
//!
//! ```sh
//! cargo run --release -p tollgate-tls-client --example handshakes -- 127.0.0.1:4433 tls13 1000
//! ```
//!
//! One thread handles one connection at a time: connect, handshake, confirmation, close. In TLS
//! 1.2, the server's Finished confirms the handshake. In TLS 1.3, an answer to `GET /` confirms it.
//! With the option `close`, the client sends a `close_notify` instead of the request, and the
//! server's `close_notify` confirms the handshake. The CPU time is the user and system time of this
//! process for all of these steps.
#![allow(clippy::print_stdout, reason = "printing is its purpose")]

use core::error::Error;
use core::time::Duration;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use tollgate_tls_client::{
    Config, Connection, Event, Freshness, Group, Settings, Suite, VerifySignature,
};

const USAGE: &str = "usage: handshakes HOST:PORT rsa|ecdhe|tls13 COUNT \
     [p256] [reuse] [verify] [close]";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [address, suite, count, options @ ..] = &arguments[..] else {
        return Err(USAGE.into());
    };
    let has = |option: &str| options.iter().any(|o| o == option);
    if let Some(strange) =
        options.iter().find(|o| !["p256", "reuse", "verify", "close"].contains(&o.as_str()))
    {
        return Err(format!("{strange}: no such option\n{USAGE}").into());
    }
    let suite = match suite.as_str() {
        "rsa" => Suite::TLS_RSA_WITH_AES_128_GCM_SHA256,
        "ecdhe" => Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        "tls13" => Suite::TLS_AES_128_GCM_SHA256,
        _ => return Err(USAGE.into()),
    };
    let freshness = if has("reuse") { Freshness::Reuse } else { Freshness::Fresh };
    let verify = if has("verify") { VerifySignature::Always } else { VerifySignature::Never };
    let settings = Settings {
        groups: vec![if has("p256") { Group::P256 } else { Group::X25519 }],
        key_share: freshness,
        premaster: freshness,
        verify_signature: verify,
        ..Settings::new(suite)
    };
    let count: u32 = count.parse()?;
    let mut connection = Connection::new(&Arc::new(Config::new(settings)?))?;
    session(&mut connection, address, has("close"))?; // warm: the certificate is read here
    let (wall, cpu) = (Instant::now(), cpu_time());
    for _ in 0..count {
        connection.reset()?;
        session(&mut connection, address, has("close"))?;
    }
    let (wall, cpu) = (wall.elapsed(), cpu_time() - cpu);
    println!("{suite}, {:?}", connection.facts());
    println!("confirmed by {:?}", connection.confirmation());
    println!(
        "{count} handshakes, {:.1} us of client CPU each, {:.1} us of wall clock",
        cpu.as_secs_f64() * 1e6 / f64::from(count),
        wall.as_secs_f64() * 1e6 / f64::from(count),
    );
    Ok(())
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.try_into().expect("CPU time is not negative")
}

/// Performs one session up to its confirmation.
fn session(connection: &mut Connection, address: &str, close: bool) -> Result<(), Box<dyn Error>> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut asked = false;
    while connection.confirmation().is_none() {
        if connection.is_established() && !asked {
            asked = true;
            if close {
                connection.close();
            } else {
                connection.send(b"GET / HTTP/1.0\r\n\r\n")?;
            }
        }
        if !connection.outgoing().is_empty() {
            socket.write_all(connection.outgoing())?;
            connection.sent(connection.outgoing().len())?;
        }
        let received = socket.read(connection.space())?;
        if received == 0 {
            connection.end_of_stream()?;
            break;
        }
        connection.filled(received)?;
        while let Some(event) = connection.poll()? {
            match event {
                Event::Closed | Event::Data(_) | Event::Established => (),
            }
        }
    }
    Ok(())
}
