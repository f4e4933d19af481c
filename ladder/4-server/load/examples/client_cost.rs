//! Measures the client's CPU time per full handshake, without a transfer and without verifying the
//! server's signature.
//!
//! Start a server with an RSA-2048 key, and then:
//!
//! ```sh
//! cargo run --release -p tollgate-load --example client_cost -- 127.0.0.1:4433 tls13
//! ```
//!
//! With a number of bytes as third argument, `GET /bytes/N` follows each handshake. With `reuse` as
//! last argument, each thread makes its key shares and premaster secrets only once.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to a terminal")]

use std::process::ExitCode;

use tollgate_load::{Close, Exchange, Freshness, Plan, Protocol, Server, Target, run};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match measure(&arguments) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn measure(arguments: &[String]) -> Result<String, Box<dyn core::error::Error>> {
    let usage =
        "usage: client_cost ADDRESS:PORT tls12-rsa|tls12-x25519|tls12-p256|tls13 [BYTES] [reuse]";
    let (arguments, freshness) = match arguments {
        [others @ .., last] if last == "reuse" => (others, Freshness::Reuse),
        all => (all, Freshness::Fresh),
    };
    let [address, word, bytes @ ..] = arguments else {
        return Err(usage.into());
    };
    let protocol = Protocol::ALL.into_iter().find(|protocol| protocol.word() == word);
    let exchange = match bytes {
        [] => Exchange::HandshakeOnly,
        [bytes] => Exchange::bytes(bytes.parse()?),
        _ => return Err(usage.into()),
    };
    let plan = Plan {
        exchange,
        close: Close::RstAfterConfirm,
        key_share: freshness,
        premaster: freshness,
        ..Plan::new(protocol.ok_or(usage)?)
    };
    let mut server = Server::new(address, Target::new(address.parse()?)?);
    let outcome = run(&plan, &mut server, &|| false, &mut |_, _| {})?;
    Ok(outcome.to_string())
}
