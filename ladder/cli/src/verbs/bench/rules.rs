//! Which options of `tollgate bench` exclude each other, in one table.
//!
//! Conflicts between two options that clap can see stand with the options; everything that depends
//! on a value stands here.

use tollgate_load::{Mechanism, Pattern, Protocol};
use tollgate_probe::Scheme;

use super::suites;
use crate::error::CliError;
use crate::options::{Bench as Options, EngineKind, Mode, ServerKind};

/// A combination that is refused, and what to change.
struct Rule {
    is_broken: fn(&Options) -> bool,
    message: &'static str,
}

/// Rules for what the command line says.
const GIVEN: &[Rule] = &[
    Rule {
        is_broken: |options| {
            matches!(options.mode, Mode::Scale(_))
                && (options.target.is_some() || !options.server_cores.is_empty())
        },
        message: "scale: it starts the servers and chooses their cores: leave out URL and \
                  --server-cores",
    },
    Rule {
        is_broken: |options| is_search(options) && options.clients.rate.is_some(),
        message: "--rate: a search finds the rate: leave it out",
    },
    Rule {
        is_broken: |options| is_search(options) && options.clients.think.is_some(),
        message: "--think: a search has an open loop: leave it out",
    },
    Rule {
        is_broken: |options| is_search(options) && has_trace(options),
        message: "--arrivals: a search changes the rate, and a trace has its own",
    },
    Rule {
        is_broken: |options| has_trace(options) && options.clients.rate.is_some(),
        message: "--rate: a trace has its own rate: leave it out",
    },
    Rule {
        is_broken: |options| {
            let clients = &options.clients;
            clients.arrivals.is_some()
                && !has_trace(options)
                && clients.rate.is_none()
                && !is_search(options)
        },
        message: "--arrivals: give --rate too",
    },
    Rule {
        is_broken: |options| {
            !options.is_minimal()
                && (!matches!(options.mode, Mode::Rounds)
                    || options.handshake_only
                    || options.outputs.out.is_some()
                    || options.outputs.metrics.is_some()
                    || options.outputs.summary.is_some()
                    || !options.outputs.fail_if.is_empty())
        },
        message: "--client: only minimal can be used with search, scale, --handshake-only, --out, \
                  --metrics, --summary and --fail-if",
    },
    Rule {
        is_broken: |options| {
            suites::is_all(&options.suites) && (!options.is_minimal() || is_search(options))
        },
        message: "--suites all: with --client and search, name the suites that the servers take",
    },
    Rule {
        is_broken: |options| {
            !matches!(options.mode, Mode::Rounds) && options.outputs.summary.is_some()
        },
        message: "--summary: search and scale have none: give --json or --out",
    },
    Rule {
        is_broken: |options| {
            let other = !matches!(options.mode, Mode::Rounds) || !options.is_minimal();
            options.requests.is_some() && other
        },
        message: "--requests: search, scale and other clients run for a time: give --seconds",
    },
    Rule {
        is_broken: |options| is_search(options) && !options.outputs.fail_if.is_empty(),
        message: "--fail-if: a search has its own objective: leave it out",
    },
    Rule {
        is_broken: |options| {
            let is_stdout = |path: &Option<_>| *path == Some(std::path::PathBuf::from("-"));
            is_stdout(&options.outputs.summary) && is_stdout(&options.written.json)
        },
        message: "--summary: --json has standard output: give one of them a file",
    },
    Rule {
        is_broken: |options| {
            let is_http = options.target.as_ref().is_some_and(|url| url.scheme() == Scheme::Http);
            is_http
                && (!options.protocol.is_empty()
                    || !options.suites.is_empty()
                    || !options.group.is_empty()
                    || options.given.client_cert.is_some()
                    || options.handshake_only
                    || options.resumed.resume > 0.0)
        },
        message: "URL: http has no handshake: leave out --protocol, --suites, --group, --resume, \
                  --client-cert and --handshake-only",
    },
    Rule {
        is_broken: |options| {
            let given = &options.given;
            let has_form =
                given.method.is_some() || !given.header.is_empty() || given.body.is_some();
            has_form && (options.handshake_only || !options.is_minimal())
        },
        message: "--method, --header, --body: handshakes alone and other clients have no such \
                  requests: leave out --handshake-only and --client",
    },
    Rule {
        is_broken: |options| !options.is_minimal() && options.given.client_cert.is_some(),
        message: "--client-cert: other clients cannot send one: leave out --client",
    },
    Rule {
        is_broken: |options| {
            options.target.as_ref().is_some_and(|url| {
                let is_known = url.scheme() == Scheme::Https
                    && url.path().strip_prefix("/bytes/").is_some_and(|n| n.parse::<u64>().is_ok())
                    && url.name().is_none_or(|name| name == "localhost");
                !options.is_minimal() && !is_known
            })
        },
        message: "--client: other clients request https://ADDRESS/bytes/N: give such a URL, or \
                  leave out --client",
    },
];

/// Rules for what servers can do, when the workload and the URL are known.
const POSSIBLE: &[Rule] = &[
    Rule {
        is_broken: |options| {
            options.clients.requests_per_connection > 1.0
                && options.target.is_none()
                && !matches!(options.server, ServerKind::Nginx | ServerKind::Openssl)
        },
        message: "--requests-per-connection: of these servers nginx and openssl keep connections \
                  open, and their logs tell handshakes from requests: give --server nginx or \
                  openssl",
    },
    Rule {
        is_broken: |options| {
            options.clients.http_share > 0.0 && options.server != ServerKind::Nginx
        },
        message: "--http-share: of these servers only nginx speaks HTTP without TLS too: give \
                  --server nginx",
    },
    Rule {
        is_broken: |options| {
            let has_rsa = options.protocols().contains(&Protocol::Tls12Rsa);
            is_rustls(options) && has_rsa && options.suites.is_empty()
        },
        message: "--server rustls: rustls has no RSA key exchange: leave out tls12-rsa",
    },
    Rule {
        is_broken: |options| is_rustls(options) && options.engine.contains(&EngineKind::Openssl),
        message: "--engine: rustls has aws-lc instead of openssl: give aws-lc or tollgate",
    },
    Rule {
        is_broken: |options| !is_rustls(options) && options.engine.contains(&EngineKind::AwsLc),
        message: "--engine: of these servers only rustls has aws-lc: give openssl or tollgate",
    },
    Rule {
        is_broken: |options| options.asynchronous && !options.has(EngineKind::Tollgate),
        message: "--async: the server without the provider pauses nothing: give --engine tollgate \
                  too",
    },
    Rule {
        is_broken: |options| options.asynchronous && options.server != ServerKind::Haproxy,
        message: "--async: of these servers only haproxy can pause handshakes: give --server \
                  haproxy",
    },
    Rule {
        is_broken: |options| options.handshake_only && options.server.stock().is_some(),
        message: "--handshake-only: the logs of installed servers have requests only: give \
                  --bytes 0",
    },
    Rule {
        is_broken: |options| options.module.is_some() && options.server.stock().is_none(),
        message: "--module: only installed servers load one: give --server nginx, haproxy or apache",
    },
    Rule {
        is_broken: |options| resumes_here(options) && is_rustls(options),
        message: "--resume: the servers on rustls resume nothing: give another --server",
    },
    Rule {
        is_broken: |options| {
            let usual = matches!(
                options.resumed.resume_by,
                None | Some(Mechanism::Ticket | Mechanism::Psk)
            );
            resumes_here(options) && options.server == ServerKind::Openssl && !usual
        },
        message: "--resume-by: the servers on openssl give tickets only: give ticket or psk, or \
                  --server nginx",
    },
    Rule {
        is_broken: |options| {
            let (by, product) = (options.resumed.resume_by, options.server.stock());
            let cannot = by.zip(product).is_some_and(|(by, product)| !product.can_resume(by));
            resumes_here(options) && cannot
        },
        message: "--resume-by: this server cannot: give --server nginx, which can do all",
    },
    Rule {
        is_broken: |options| options.is_minimal() && !options.rounds.is_multiple_of(turns(options)),
        message: "--rounds: give an even number, so that each engine runs first equally often",
    },
];

/// Checks the command line.
pub(crate) fn check_given(options: &Options) -> Result<(), CliError> {
    check(GIVEN, options)?;
    check_once(options)
}

/// Checks the options with the workload applied, before any server starts.
pub(super) fn check_possible(options: &Options) -> Result<(), CliError> {
    check(POSSIBLE, options)
}

fn check(rules: &[Rule], options: &Options) -> Result<(), CliError> {
    match rules.iter().find(|rule| (rule.is_broken)(options)) {
        Some(rule) => Err(CliError::new(rule.message)),
        None => Ok(()),
    }
}

/// Refuses values that a list has twice: they would be measured twice, under one name.
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
            return Err(CliError::new(format!("{option}: {} is given twice", names[twice])));
        }
    }
    Ok(())
}

fn is_search(options: &Options) -> bool {
    options.objective().is_some()
}

fn is_rustls(options: &Options) -> bool {
    options.server == ServerKind::Rustls
}

fn has_trace(options: &Options) -> bool {
    matches!(options.clients.arrivals, Some(Pattern::Trace(_)))
}

/// Whether servers that this program starts must resume sessions.
fn resumes_here(options: &Options) -> bool {
    options.target.is_none() && options.resume(true).is_some()
}

/// Servers that take turns in a block of rounds.
fn turns(options: &Options) -> u32 {
    options.servers()
}
