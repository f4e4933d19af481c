//! Measures the minimum cost of a TLS 1.2 handshake to a client: the cost of the handshake's bytes
//! over TCP, without TLS. Compare the result with the column `client` of `tollgate bench
//! --handshake-only`.
//!
//! ```sh
//! cargo run --release -p tollgate-session --example client_floor -- [REPLAYS]
//! ```
#![allow(clippy::print_stdout, reason = "printing is its purpose")]

use core::error::Error;
use std::collections::BTreeMap;

use tollgate_bench::this_machine;
use tollgate_load::Protocol;
use tollgate_server::KeyKind;
use tollgate_session::{Context, bare_client};

fn main() -> Result<(), Box<dyn Error>> {
    let replays = std::env::args().nth(1).map_or(Ok(60), |text| text.parse())?;
    let context = Context {
        machine: this_machine(),
        versions: BTreeMap::new(),
        commit: None,
        conditions: BTreeMap::new(),
    };
    for protocol in [Protocol::Tls12Rsa, Protocol::Tls12X25519] {
        let record = bare_client(protocol, KeyKind::Rsa { bits: 2048 }, replays, &context)?;
        let (low, high) = record.estimate.interval();
        let us = |ns: f64| ns / 1e3;
        println!(
            "{} {:.1} us of CPU [{:.1}, {:.1}], {} replays",
            record.subject,
            us(record.estimate.point()),
            us(low),
            us(high),
            record.estimate.samples(),
        );
    }
    Ok(())
}
