//! `tollgate serve`: runs the embedded server until a signal stops it.

pub(crate) mod options;

use core::time::Duration;
use std::process::ExitCode;
use std::time::Instant;

use tollgate_record::Nanos;
use tollgate_report::text::wrapped;
use tollgate_server::{
    Certificate, Config, Counters, KeyKind, Limits, Report, Resumption, Running, Server,
};

use crate::cells::float;
use crate::error::CliError;
use crate::interrupt;
use crate::options::Serve as Options;
use crate::output::Output;

/// The default kind of key.
const SELF_SIGNED: KeyKind = KeyKind::Rsa { bits: 2048 };

/// Serves until SIGINT or SIGTERM, and prints a summary.
pub(crate) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let output = Output::new(None)?;
    let (started, running) = (Instant::now(), start(options)?);
    output.text(&ready(options, &running))?;
    interrupt::wait();
    let report = running.stop(Duration::from_secs_f64(options.drain));
    output.text(&served(&report, started.elapsed(), options.access_log.is_some()))?;
    let whole = report.workers_lost == 0 && report.log_complete;
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn start(options: &Options) -> Result<Running, CliError> {
    // Users of this program set flags, not fields.
    let in_flags = |error: tollgate_server::Error| {
        let text = error.to_string();
        CliError::new(
            text.replace("`allow_rsa_kx`", "--rsa-kx")
                .replace("`connections_max`", "--connections-max"),
        )
    };
    interrupt::ends_at_once(|| Server::start(config(options))).map_err(in_flags)
}

fn config(options: &Options) -> Config {
    let certificate = match (&options.cert, &options.key) {
        (Some(chain), Some(key)) => Certificate::Files { chain: chain.clone(), key: key.clone() },
        _ => Certificate::SelfSigned(options.key_type.unwrap_or(SELF_SIGNED)),
    };
    let limits = Limits {
        handshake: Duration::from_secs_f64(options.handshake_limit),
        idle: Duration::from_secs_f64(options.idle_limit),
        connections_max: options.connections_max,
        ..Limits::default()
    };
    Config {
        address: options.address,
        workers: options.workers,
        pin: options.cores.clone(),
        engine: options.engine,
        certificate,
        protocols: options.protocol.clone(),
        suites: options.suites.clone(),
        groups: options.group.clone(),
        allow_rsa_kx: options.rsa_kx,
        resumption: if options.resumption { Resumption::Tickets } else { Resumption::Off },
        root: options.root.clone(),
        access_log: options.access_log.clone(),
        limits,
        ..Config::default()
    }
}

/// Describes a ready server: address, certificate, engine and signer.
fn ready(options: &Options, running: &Running) -> String {
    let certificate = match &options.cert {
        Some(file) => file.display().to_string(),
        None => "self-signed, made now".to_owned(),
    };
    let mut text = format!("listening on https://{}/\n", running.addr());
    text += &wrapped(&format!("certificate: {}, {certificate}", running.key_kind()));
    text += &format!("engine: {}; worker threads: {}\n", options.engine, options.workers);
    let signer = running.counters().signer;
    text += &format!("signs: the OpenSSL provider \"{}\", seen at start\n", signer.provider);
    if let Some(file) = &options.access_log {
        text += &wrapped(&format!("access log: {}", file.display()));
    }
    text
}

/// Summarizes what a stopped server has done.
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
        text += &format!(
            "private-key operations of {}: {} signatures, {} decryptions\n",
            done.signer.provider, operations.signatures, operations.decryptions
        );
    }
    let busy: Duration = done.worker_cpu.iter().sum();
    text += &format!("CPU time of the workers: {:.2} s", busy.as_secs_f64());
    let sessions = done.handshakes_full + done.handshakes_resumed;
    if sessions > 0 {
        let each = Nanos::new(busy.as_secs_f64() * 1e9 / float(sessions));
        text += &format!(", {each} for each handshake and its requests");
    }
    text += &format!("\nstopped in {:.1} s: ", report.took.as_secs_f64());
    text += &format!("{} connections cut off", report.connections_cut);
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
