//! `tollgate serve`: runs the measuring server until a signal stops it.

use core::net::SocketAddr;
use core::str::FromStr as _;
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use tollgate_record::Nanos;
use tollgate_report::text::wrapped;
use tollgate_server::{
    Certificate, Config, Counters, Engine, Group, KeyKind, Protocol, Report, Resumption, Running,
    Server, SignerOperations, Suite,
};

use crate::cells::float;
use crate::error::CliError;
use crate::interrupt::{self, Request};
use crate::options::values::{OutputFile, listens};
use crate::output::Output;
use crate::read;

/// The default kind of key.
const SELF_SIGNED: KeyKind = KeyKind::Rsa { bits: 2048 };

#[derive(Args, Clone, Debug)]
pub(crate) struct Serve {
    /// Append a line for each handshake and each response to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Option<OutputFile>,

    /// Address to listen on; port 0 chooses a free port, a port alone means 127.0.0.1
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8443", value_parser = listens)]
    pub(crate) address: SocketAddr,

    /// Certificate chain in PEM, the server's own first
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,

    /// Logical cores of the workers, one for each [default: the system chooses]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) cores: Option<Vec<usize>>,

    /// Implementation of private-key operations: tollgate or openssl
    #[arg(long, value_name = "NAME", default_value = "tollgate", value_parser = Engine::from_str)]
    pub(crate) engine: Engine,

    /// Groups for Diffie-Hellman in order of preference: x25519, secp256r1, secp384r1,
    /// and with OpenSSL 3.5 X25519MLKEM768
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "x25519,secp256r1")]
    #[arg(value_parser = Group::from_str)]
    pub(crate) group: Vec<Group>,

    /// Private key of --cert in PEM, not encrypted
    #[arg(long, value_name = "FILE", requires = "cert", conflicts_with = "key_type")]
    pub(crate) key: Option<PathBuf>,

    /// Without --cert: kind of the self-signed certificate, rsa-2048, rsa-3072, rsa-4096,
    /// ecdsa-p256, ecdsa-p384 or ed25519 [default: rsa-2048]
    #[arg(long, value_name = "KIND", value_parser = KeyKind::from_str)]
    pub(crate) key_type: Option<KeyKind>,

    /// Versions of TLS: tls12, tls13
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "tls12,tls13")]
    #[arg(value_parser = Protocol::from_str)]
    pub(crate) protocol: Vec<Protocol>,

    /// Issue session tickets, so that clients can resume sessions
    #[arg(long)]
    pub(crate) resumption: bool,

    /// Also serve the files of this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) root: Option<PathBuf>,

    /// Cipher suites in order of preference, by the names of IANA or OpenSSL [default:
    /// AES-128-GCM first, RSA key exchange last]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Suite::from_str)]
    pub(crate) suites: Vec<Suite>,

    /// Worker threads
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) workers: usize,
}

/// Serves until SIGINT or SIGTERM, and prints a summary.
pub(crate) fn run(options: &Serve) -> Result<ExitCode, CliError> {
    let output = Output::new(None)?;
    let settings = config(options)?;
    let started = Instant::now();
    let running = interrupt::ends_at_once(|| Server::start(settings.clone()))?;
    output.text(&ready(options, &settings, &running))?;
    while interrupt::next(Duration::MAX) != Some(Request::Stop) {}
    let report = running.stop();
    output.text(&served(&report, started.elapsed(), settings.access_log.is_some()))?;
    let whole = report.workers_lost == 0 && report.log_complete;
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn config(options: &Serve) -> Result<Config, CliError> {
    let certificate = match (&options.cert, &options.key) {
        (Some(chain), Some(key)) => {
            let pem = Certificate::Pem { chain: read::bytes(chain)?, key: read::key(key)? };
            let files = format!("{}, {}", chain.display(), key.display());
            pem.to_pem().map_err(CliError::about(&files))?
        }
        _ => Certificate::SelfSigned(options.key_type.unwrap_or(SELF_SIGNED)),
    };
    Ok(Config {
        address: options.address,
        workers: options.workers,
        pin: options.cores.clone(),
        engine: options.engine,
        certificate,
        protocols: options.protocol.clone(),
        suites: options.suites.clone(),
        groups: options.group.clone(),
        resumption: if options.resumption { Resumption::Tickets } else { Resumption::Off },
        root: options.root.clone(),
        access_log: options.access_log.as_deref().map(Path::to_path_buf),
        ..Config::default()
    })
}

/// Describes a ready server: address, certificate, engine and signer.
fn ready(options: &Serve, config: &Config, running: &Running) -> String {
    let mut text = format!("listening on https://{}/\n", running.addr());
    let certificate = match &options.cert {
        Some(chain) => chain.display().to_string(),
        None => "self-signed, made now".to_owned(),
    };
    text += &wrapped(&format!("certificate: {}, {certificate}", running.key_kind()));
    text += &format!("engine: {}; worker threads: {}\n", config.engine, config.workers);
    let provider = running.counters().signer.provider;
    text += &format!("signs: the OpenSSL provider \"{provider}\", seen at start\n");
    if let Some(file) = &config.access_log {
        text += &wrapped(&format!("access log: {}", file.display()));
    }
    text
}

/// Summarizes the work of a stopped server.
fn served(report: &Report, time: Duration, logs: bool) -> String {
    let done = &report.counters;
    let mut text = format!("served for {:.1} s\n", time.as_secs_f64());
    text += &wrapped(&format!(
        "handshakes: {} full, {} resumed, {}",
        done.handshakes_full,
        done.handshakes_resumed,
        failures(done)
    ));
    text += &format!(
        "responses: {} whole, {} cut, {} bytes of bodies\n",
        done.requests, done.requests_cut, done.body_bytes
    );
    if let Some(operations) = done.signer.operations {
        text += &wrapped(&format!(
            "private-key operations of {}: {} signatures, {} decryptions{}",
            done.signer.provider,
            operations.signatures,
            operations.decryptions,
            batches(operations)
        ));
    }
    let busy: Duration = done.worker_cpu.iter().sum();
    text += &format!("CPU time of the workers: {:.2} s", busy.as_secs_f64());
    let sessions = done.handshakes_full + done.handshakes_resumed;
    if sessions > 0 {
        let each = Nanos::new(busy.as_secs_f64() * 1e9 / float(sessions));
        text += &format!(", {each} for each handshake and its requests");
    }
    text += &format!("\nstopped: {} connections cut off", report.connections_cut);
    if logs {
        text += &format!("; log: {} lines, {} lost", done.log_lines, done.log_lines_lost);
        if !report.log_complete {
            text += ", INCOMPLETE";
        }
    }
    if report.workers_lost > 0 {
        text += &format!("; {} WORKERS LOST: report the case", report.workers_lost);
    }
    text + "\n"
}

/// `; 12000 of them in 1621 batches of 7.4 on average`.
fn batches(operations: SignerOperations) -> String {
    let SignerOperations { batches, batched, .. } = operations;
    if batches == 0 {
        return String::new();
    }
    let mean = float(batched) / float(batches);
    format!("; {batched} of them in {batches} batches of {mean:.1} on average")
}

/// `3 failed (closed 2, alert 1)`.
fn failures(done: &Counters) -> String {
    let reasons: Vec<String> = done
        .handshakes_failed
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(why, count)| format!("{why} {count}"))
        .collect();
    let total = done.handshakes_failed_total();
    if reasons.is_empty() {
        format!("{total} failed")
    } else {
        format!("{total} failed ({})", reasons.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_the_mean_batch() {
        let operations =
            SignerOperations { signatures: 12_010, decryptions: 0, batches: 1621, batched: 12_000 };
        let expected = "; 12000 of them in 1621 batches of 7.4 on average";
        assert_eq!(batches(operations), expected);
        assert_eq!(operations.runs(), 1631);
        assert_eq!(batches(SignerOperations { batches: 0, batched: 0, ..operations }), "");
    }
}
