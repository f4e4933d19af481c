//! Options of `tollgate bench` that exclude each other. The message of the first combination that
//! is present names the next step for the user.
//!
//! Conflicts that clap can express are declared at the options; conflicts that depend on a value
//! are here.

use std::path::Path;

use tollgate_load::{Mechanism, Pattern, Protocol};
use tollgate_probe::Scheme;

use super::suites;
use crate::error::CliError;
use crate::options::{Bench as Options, BenchCommand, EngineKind, Mode, ServerKind};

impl BenchCommand {
    /// Returns the options and the kind of result. Refuses options that exclude each other, and
    /// lists that contain a value twice.
    pub(crate) fn request(&self) -> Result<Options, CliError> {
        let options = self.unchecked();
        check(of_mode(&options))?;
        check(of_url(&options))?;
        check_once(&options)?;
        Ok(options)
    }
}

/// Checks, with the workload applied and before any server starts, that the servers support the
/// options.
pub(super) fn check_possible(options: &Options) -> Result<(), CliError> {
    check(of_servers(options))
}

fn check(refusal: Option<&'static str>) -> Result<(), CliError> {
    refusal.map_or(Ok(()), |message| Err(CliError::new(message)))
}

fn of_mode(options: &Options) -> Option<&'static str> {
    let Options { mode, clients, outputs, suites, .. } = options;
    let (is_search, is_rounds) = (options.objective().is_some(), matches!(mode, Mode::Rounds));
    let is_profile = matches!(mode, Mode::Profile(_));
    let chooses_servers = options.target.is_some() || !options.server_cores.is_empty();
    let has_trace = matches!(clients.arrivals, Some(Pattern::Trace(_)));
    let has_other_client = !options.is_minimal();
    let needs_minimal = !is_rounds
        || options.handshake_only
        || outputs.out.is_some()
        || outputs.metrics.is_some()
        || outputs.summary.is_some()
        || !outputs.fail_if.is_empty();
    let has_rate = clients.rate.is_some();
    let has_evidence = options.given.log.is_some() && !options.given.pid.is_empty();
    let is_stdout = |path: &Option<_>| path.as_deref() == Some(Path::new("-"));
    Some(match () {
        () if is_profile && options.target.is_some() && !has_evidence => {
            "profile: with a URL give --pid, so that perf finds the server, and --log, so that the \
             server confirms the sessions"
        }
        () if matches!(mode, Mode::Scale(_)) && chooses_servers => {
            "scale: it starts the servers and chooses their cores: leave out URL and --server-cores"
        }
        () if is_search && has_rate => "--rate: a search finds the rate: leave it out",
        () if is_search && clients.think.is_some() => {
            "--think: a search has an open loop: leave it out"
        }
        () if is_search && has_trace => {
            "--arrivals: a search changes the rate, and a trace has its own"
        }
        () if has_trace && has_rate => "--rate: a trace has its own rate: leave it out",
        () if clients.arrivals.is_some() && !has_trace && !has_rate && !is_search => {
            "--arrivals: give --rate too"
        }
        () if has_other_client && needs_minimal => {
            "--client: only minimal can be used with profile, search, scale, --handshake-only, --out, \
             --metrics, --summary and --fail-if"
        }
        () if suites::is_all(suites) && (has_other_client || is_search) => {
            "--suites all: with --client and search, name the suites that the servers take"
        }
        () if !is_rounds && !is_profile && outputs.summary.is_some() => {
            "--summary: search and scale have none: give --json or --out"
        }
        () if options.requests.is_some() && (!is_rounds || has_other_client) => {
            "--requests: profile, search, scale and other clients run for a time: give --seconds"
        }
        () if is_search && !outputs.fail_if.is_empty() => {
            "--fail-if: a search has its own objective: leave it out"
        }
        () if is_stdout(&outputs.summary) && is_stdout(&options.written.json) => {
            "--summary: --json has standard output: give one of them a file"
        }
        () => return None,
    })
}

fn of_url(options: &Options) -> Option<&'static str> {
    let (given, url, is_minimal) = (&options.given, &options.target, options.is_minimal());
    let is_plain = url.as_ref().is_some_and(|url| url.scheme() == Scheme::Http);
    let has_handshake = !options.protocol.is_empty()
        || !options.suites.is_empty()
        || !options.group.is_empty()
        || given.client_cert.is_some()
        || options.handshake_only
        || options.resumed_share > 0.0;
    let has_form = given.method.is_some() || !given.header.is_empty() || given.body.is_some();
    let has_other_path = url.as_ref().is_some_and(|url| {
        let size = url.path().strip_prefix("/bytes/");
        url.scheme() != Scheme::Https
            || size.is_none_or(|size| size.parse::<u64>().is_err())
            || url.name().is_some_and(|name| name != "localhost")
    });
    Some(match () {
        () if is_plain && has_handshake => {
            "URL: http has no handshake: leave out --protocol, --suites, --group, --resume, \
             --client-cert and --handshake-only"
        }
        () if has_form && (options.handshake_only || !is_minimal) => {
            "--method, --header, --body: handshakes alone and other clients have no such requests: \
             leave out --handshake-only and --client"
        }
        () if !is_minimal && given.client_cert.is_some() => {
            "--client-cert: other clients cannot send one: leave out --client"
        }
        () if !is_minimal && has_other_path => {
            "--client: other clients request https://ADDRESS/bytes/N: give such a URL, or leave out \
             --client"
        }
        () => return None,
    })
}

/// Checks the rules about the servers' abilities, once the workload and the URL are known.
fn of_servers(options: &Options) -> Option<&'static str> {
    let (server, engine, clients) = (options.server, &options.engine, &options.clients);
    let (is_rustls, stock) = (server == ServerKind::Rustls, server.stock());
    let starts = options.target.is_none();
    let resumes = starts && options.resume(true).is_some();
    let by_ticket = matches!(options.resume_by, None | Some(Mechanism::Ticket | Mechanism::Psk));
    let by = options.resume_by.unwrap_or(Mechanism::Psk);
    let cannot_resume = stock.is_some_and(|product| !product.can_resume(by));
    let keeps_open = matches!(server, ServerKind::Nginx | ServerKind::Openssl);
    let has_rsa = options.protocols().contains(&Protocol::Tls12Rsa);
    let asynchronous = options.asynchronous;
    Some(match () {
        () if clients.requests_per_connection > 1.0 && starts && !keeps_open => {
            "--requests-per-connection: of these servers nginx and openssl keep connections open, \
             and their logs tell handshakes from requests: give --server nginx or openssl"
        }
        () if clients.http_share > 0.0 && server != ServerKind::Nginx => {
            "--http-share: of these servers only nginx speaks HTTP without TLS too: give --server \
             nginx"
        }
        () if is_rustls && has_rsa && options.suites.is_empty() => {
            "--server rustls: rustls has no RSA key exchange: leave out tls12-rsa"
        }
        () if is_rustls && engine.contains(&EngineKind::Openssl) => {
            "--engine: rustls has aws-lc instead of openssl: give aws-lc or tollgate"
        }
        () if !is_rustls && engine.contains(&EngineKind::AwsLc) => {
            "--engine: of these servers only rustls has aws-lc: give openssl or tollgate"
        }
        () if asynchronous && !options.has(EngineKind::Tollgate) => {
            "--async: the server without the provider pauses nothing: give --engine tollgate too"
        }
        () if asynchronous && server != ServerKind::Haproxy => {
            "--async: of these servers only haproxy can pause handshakes: give --server haproxy"
        }
        () if options.handshake_only && stock.is_some() => {
            "--handshake-only: the logs of installed servers have requests only: give --bytes 0"
        }
        () if options.module.is_some() && stock.is_none() => {
            "--module: only installed servers load one: give --server nginx, haproxy, apache or \
             lighttpd"
        }
        () if resumes && is_rustls => {
            "--resume: the servers on rustls resume nothing: give another --server"
        }
        () if resumes && server == ServerKind::Openssl && !by_ticket => {
            "--resume-by: the servers on openssl give tickets only: give ticket or psk, or --server \
             nginx"
        }
        () if resumes && cannot_resume => {
            "--resume: this server or its log cannot: give --server nginx, which can do all"
        }
        () if options.is_minimal() && !options.rounds.is_multiple_of(options.servers()) => {
            "--rounds: give an even number, so that each engine runs first equally often"
        }
        () => return None,
    })
}

/// Refuses lists that contain a value twice: the value would be measured twice under one name.
fn check_once(options: &Options) -> Result<(), CliError> {
    let engine = |engine: &EngineKind| format!("{engine:?}").to_lowercase();
    let named: [(&str, Vec<String>); 5] = [
        ("--key-type", options.key.iter().map(ToString::to_string).collect()),
        ("--protocol", options.protocol.iter().map(|p| p.word().to_owned()).collect()),
        ("--suites", options.suites.clone()),
        ("--group", options.group.clone()),
        ("--engine", options.engine.iter().map(engine).collect()),
    ];
    for (option, names) in named {
        if let Some(twice) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
            bail!("{option}: {} is given twice", names[twice]);
        }
    }
    Ok(())
}
