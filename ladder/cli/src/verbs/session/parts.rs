//! The parts of a session's cost, measured without a server.

use core::time::Duration;

use clap::Args;
use tollgate_load::Protocol;
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Record};
use tollgate_server::KeyKind;
use tollgate_session::{SessionPlan, measure, measure_stock, predicted_rate};

use super::choice::{Choice, engines};
use crate::error::CliError;
use crate::interrupt;
use crate::options::values::{Written, defaults, seconds};
use crate::options::{Bench, ServerKind};
use crate::progress;
use crate::run::Run;
use crate::verbs::bench::options::protocol;

#[derive(Args, Clone, Debug)]
pub(crate) struct Session {
    /// Sizes of the response in bytes, separated by commas [default: 14336; without --bytes,
    /// --key-type and --protocol also six sizes from 0 to 143360, only for RSA-2048 with TLS 1.3]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) bytes: Vec<u64>,

    /// Sizes from 0 to 1048576 bytes instead of --bytes, and the size at which the transfer costs
    /// as much as the handshake
    #[arg(long, conflicts_with = "bytes")]
    pub(crate) curve: bool,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Types of the server's key, separated by commas: rsa-1024 (insecure, as in old papers),
    /// rsa-2048, rsa-3072, rsa-4096, ecdsa-p256, ecdsa-p384, ed25519 [default: rsa-2048,rsa-3072;
    /// with --suites and --group rsa-2048, and ecdsa-p256 if a suite needs it]
    #[arg(id = "key-type", long, value_name = "LIST", value_delimiter = ',', value_parser = key)]
    pub(crate) key: Vec<KeyKind>,

    /// Groups of the key agreement by their IANA names, separated by commas, such as secp384r1 and
    /// ffdhe2048 [default: x25519, or that of --protocol]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) group: Vec<String>,

    /// Measure only the parts, without a real server for comparison
    #[arg(long)]
    pub(crate) parts_only: bool,

    /// Cost per byte of the sessions' ciphers and MACs, and of SHA-1, SHA-2 and SHA-3
    #[arg(long)]
    pub(crate) per_byte: bool,

    /// Protocol versions and key exchanges, separated by commas: tls12-rsa, tls12-x25519,
    /// tls12-p256, tls13 [default: tls12-x25519,tls13; without --bytes, --key-type and --protocol
    /// also tls12-rsa, for RSA-2048]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = protocol)]
    pub(crate) protocol: Vec<Protocol>,

    /// Cipher suites by their IANA names, separated by commas, instead of --protocol; "all" takes
    /// every suite that OpenSSL speaks [default: AES-128-GCM]
    #[arg(long, value_name = "LIST", value_delimiter = ',', alias = "suite")]
    #[arg(conflicts_with = "protocol")]
    pub(crate) suites: Vec<String>,

    /// Seconds for all parts together; preparation and the real server take more
    #[arg(short = 'z', long, value_name = "S", default_value = "25", value_parser = seconds)]
    pub(crate) seconds: f64,
}

/// A type of key that the server takes.
fn key(text: &str) -> Result<KeyKind, String> {
    let known = [KeyKind::OF_2001].into_iter().chain(KeyKind::SELF_SIGNED);
    let found = known.clone().find(|kind| kind.to_string() == text);
    found.ok_or_else(|| {
        let names: Vec<String> = known.map(|kind| kind.to_string()).collect();
        format!("give some of {}", names.join(", "))
    })
}

/// The records of the parts, their sums, and the predicted rates; none after Ctrl-C.
pub(crate) fn collect(options: &Session, run: &mut Run) -> Result<Vec<Record>, CliError> {
    let Run { host, output, .. } = run;
    progress::plan(1, options.seconds);
    progress::row(0, "parts of sessions");
    let measured = measure(&plan(options)?, &host.context, &interrupt::asked, &mut progress::part);
    let mut records = match measured {
        Err(_) if interrupt::asked() => return Ok(Vec::new()),
        measured => measured?,
    };
    if let Some(clock) = &host.context.machine.core_clock_hz {
        let is_total = |record: &&Record| {
            record.quantity == word::CYCLES_PER_SESSION
                && record.subject.parameter(word::PART).is_none()
                && matches!(record.kind, Kind::Predicted { .. })
        };
        let rates: Result<Vec<_>, _> =
            records.iter().filter(is_total).map(|total| predicted_rate(total, clock, 1)).collect();
        records.extend(rates?);
    }
    output.records(&records)?;
    Ok(records)
}

/// The predictions for a stock server, from its calls and the parts of `embedded`; none after
/// Ctrl-C, or if its calls are not known.
pub(crate) fn collect_stock(
    server: &str,
    options: &Session,
    embedded: &[Record],
    run: &mut Run,
) -> Result<Vec<Record>, CliError> {
    let Run { host, output, .. } = run;
    progress::plan(1, options.seconds);
    progress::row(0, "calls of the server");
    let follow: (&dyn Fn() -> bool, &mut dyn FnMut(f64)) = (&interrupt::asked, &mut progress::part);
    let measured = measure_stock(server, &plan(options)?, embedded, &host.context, follow);
    let records = match measured {
        Err(_) if interrupt::asked() => return Ok(Vec::new()),
        measured => measured?,
    };
    output.records(&records)?;
    Ok(records)
}

/// The request for the parts of a benchmark's sessions; `None` if rung 3 does not predict them.
pub(crate) fn request(bench: &Bench, seconds: f64) -> Option<Session> {
    let is_known = bench.target.is_none()
        && bench.server != ServerKind::Rustls
        && bench.suites.is_empty()
        && bench.group.is_empty()
        && bench.sizes.is_none()
        && bench.resumed_share <= 0.0;
    is_known.then(|| Session {
        bytes: vec![if bench.handshake_only { 0 } else { bench.bytes }],
        key: bench.key.clone(),
        protocol: bench.protocols().to_vec(),
        parts_only: true,
        seconds,
        ..defaults()
    })
}

/// The sessions to measure.
pub(super) fn plan(options: &Session) -> Result<SessionPlan, CliError> {
    let total = Duration::from_secs_f64(options.seconds);
    if options.is_ladder() {
        let per_byte = options.per_byte;
        return Ok(SessionPlan { per_byte, ..SessionPlan::ladder(total) });
    }
    let Choice { kinds, bytes, .. } = options.choice()?;
    let mut sessions = Vec::new();
    for kind in kinds {
        for &engine in engines(kind.key) {
            let sized = |&bytes| tollgate_session::Session { engine, bytes, ..kind };
            sessions.extend(bytes.iter().map(sized));
        }
    }
    Ok(SessionPlan { sessions, per_byte: options.per_byte, total })
}
