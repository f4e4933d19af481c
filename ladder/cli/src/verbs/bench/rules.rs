//! Options of `tollgate bench` that exclude each other. The message of the first combination that
//! is present names the next step for the user.
//!
//! Conflicts that clap can express are declared at the options; conflicts that depend on a value
//! are here.

use tollgate_load::{Mechanism, Protocol};
use tollgate_probe::Scheme;
use tollgate_server::{Engine, KeyKind};
use tollgate_session::has_group;
use tollgate_tls_client::Group;

use super::options::signs_with_p256;
use super::suites;
use crate::error::CliError;
use crate::options::{Bench as Options, BenchCommand, Mode, ServerKind};

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

impl Options {
    /// Checks options that another verb has made.
    pub(crate) fn checked(self) -> Result<Self, CliError> {
        check(of_url(&self))?;
        check_once(&self)?;
        check_possible(&self)?;
        Ok(self)
    }
}

/// Checks, with the workload applied and before any server starts, that the servers support the
/// options.
pub(super) fn check_possible(options: &Options) -> Result<(), CliError> {
    check(of_kinds(options))?;
    options.by_kind().iter().try_for_each(|request| check(of_servers(request)))
}

fn check(refusal: Option<&'static str>) -> Result<(), CliError> {
    refusal.map_or(Ok(()), |message| Err(CliError::new(message)))
}

fn of_mode(options: &Options) -> Option<&'static str> {
    let Options { clients, suites, .. } = options;
    let chooses_rate = options.chosen_rate().is_some();
    let has_rate = clients.pace.rate.is_some();
    Some(match () {
        () if clients.arrivals.is_some() && !has_rate && !chooses_rate => {
            "--arrivals: give --rate too"
        }
        () if suites::is_all(suites) && chooses_rate => {
            "--suites all: with response and search, name the suites that the servers take"
        }
        () => return None,
    })
}

fn of_url(options: &Options) -> Option<&'static str> {
    let (given, url) = (&options.given, &options.given.target);
    let is_plain = url.as_ref().is_some_and(|url| url.scheme() == Scheme::Http);
    let has_handshake = !options.protocol.is_empty()
        || !options.suites.is_empty()
        || !options.group.is_empty()
        || options.handshake_only
        || options.clients.mix.resumed_share > 0.0;
    let has_form = given.method.is_some() || !given.header.is_empty() || given.body.is_some();
    let has_agents = given.agents.is_some();
    Some(match () {
        () if has_agents && has_form => {
            "--agents: values that may be secret are not sent to agents: leave out --method, \
             --header and --body"
        }
        () if !has_agents && !given.nats.nats.is_empty() => {
            "--nats: there are no agents: give --agents nats:FLEET/COUNT"
        }
        () if has_agents && options.clients.pace.requests.is_some() => {
            "--agents: they run for a time: leave out --requests"
        }
        () if is_plain && has_handshake => {
            "URL: http has no handshake: leave out --protocol, --suites, --group, --resume, \
             and --handshake-only"
        }
        () if has_form && options.handshake_only => {
            "--method, --header, --body: handshakes alone have no requests: leave out \
             --handshake-only"
        }
        () => return None,
    })
}

/// Checks the rules about several kinds of servers.
fn of_kinds(options: &Options) -> Option<&'static str> {
    let kinds = &options.server;
    let has = |engine: &Engine| kinds.iter().any(|kind| kind.engines().contains(engine));
    let is_one = kinds.len() == 1;
    Some(match () {
        () if !options.rounds.is_multiple_of(options.servers().min(2)) => {
            "--rounds: give an even number, so that each server runs first equally often"
        }
        () if is_one => return None,
        () if !matches!(options.mode, Mode::Rounds) => {
            "--server: profile, response and search take servers of one kind"
        }
        () if !options.engine.iter().all(has) || options.by_kind().len() < kinds.len() => {
            "--engine: each server needs an engine that it has: gnutls has its own library alone"
        }
        () if options.asynchronous && !kinds.contains(&ServerKind::Haproxy) => {
            "--async: of these servers only haproxy can pause handshakes: give --server haproxy too"
        }
        () => return None,
    })
}

/// Checks the rules about the abilities of servers of one kind, once the workload and the URL are
/// known.
fn of_servers(options: &Options) -> Option<&'static str> {
    let (server, engine, clients) = (options.kind(), &options.engine, &options.clients);
    let stock = server.stock();
    let starts = options.given.target.is_none();
    let resumes = starts && options.resume(true).is_some();
    let is_embedded = server == ServerKind::Openssl;
    let is_early = options.clients.mix.resume_by == Some(Mechanism::EarlyData);
    let by = options.clients.mix.resume_by.unwrap_or(Mechanism::Psk);
    let cannot_resume = stock.is_some_and(|product| !product.can_resume(by));
    let keeps_open = matches!(server, ServerKind::Nginx | ServerKind::Openssl);
    let has_rsa = options.protocols().contains(&Protocol::Tls12Rsa);
    let has_curve = starts && options.key.contains(&KeyKind::EcdsaP256);
    let has_rsa_key = options.key.iter().any(|key| key.is_rsa());
    let asynchronous = options.asynchronous;
    let is_gnutls = starts && server == ServerKind::Gnutls;
    let of_provider = !engine.is_empty() || asynchronous || options.module.is_some();
    Some(match () {
        () if is_gnutls && !options.handshake_only => {
            "--server gnutls: its page has no chosen size, and its log has no requests: give \
             --handshake-only"
        }
        () if is_gnutls && !matches!(options.mode, Mode::Rounds) => {
            "--server gnutls: profile, response and search need a server with workers: give \
             another --server"
        }
        () if is_gnutls && (of_provider || resumes || options.server_cores.len() > 1) => {
            "--server gnutls: it has one process, its own library, and no sessions to resume: \
             leave out --engine, --module, --async, --resume and further --server-cores"
        }
        () if clients.mix.requests_per_connection > 1.0 && starts && !keeps_open => {
            "--requests-per-connection: of these servers nginx and openssl keep connections open, \
             and their logs tell handshakes from requests: give --server nginx or openssl"
        }
        () if clients.mix.http_share > 0.0 && server != ServerKind::Nginx => {
            "--http-share: of these servers only nginx speaks HTTP without TLS too: give --server \
             nginx"
        }
        () if is_embedded && starts && lacks_hybrid(options) => {
            "--group: this OpenSSL has no X25519MLKEM768: measure with OpenSSL 3.5 or later, as in \
             Debian 13, or give another --group"
        }
        () if has_curve && options.has(Engine::Tollgate) && !signs_with_p256() => {
            "--key-type: Tollgate leaves ecdsa-p256 to OpenSSL on this processor, which has no \
             BMI2 and ADX: give --engine openssl or an RSA key"
        }
        () if has_curve && !has_rsa_key && has_rsa && options.suites.is_empty() => {
            "--key-type: RSA key exchange needs an RSA key: leave out tls12-rsa or ecdsa-p256"
        }
        () if asynchronous && !options.has(Engine::Tollgate) => {
            "--async: the server without the provider pauses nothing: give --engine tollgate too"
        }
        () if asynchronous && server != ServerKind::Haproxy => {
            "--async: of these servers only haproxy can pause handshakes: give --server haproxy"
        }
        () if options.handshake_only && stock.is_some() && !is_gnutls => {
            "--handshake-only: the logs of installed servers have requests only: give --bytes 0"
        }
        () if options.module.is_some() && stock.is_none() => {
            "--module: only installed servers load one: give --server nginx, haproxy, apache or \
             lighttpd"
        }
        () if resumes && is_embedded && is_early => {
            "--resume-by: the servers on openssl have no early-data: give another one, or \
             --server nginx"
        }
        () if resumes && cannot_resume => {
            "--resume: this server or its log cannot: give --server nginx, which can do all"
        }
        () => return None,
    })
}

/// Returns whether a server of the run would lack X25519MLKEM768, which the options name.
fn lacks_hybrid(options: &Options) -> bool {
    let hybrid = Group::X25519MlKem768;
    let lacks = |engine: Engine| options.has(engine) && !has_group(engine, hybrid);
    let is_named = options.group.iter().any(|name| name == hybrid.name());
    is_named && (lacks(Engine::OpenSsl) || lacks(Engine::Tollgate))
}

/// Refuses lists that contain a value twice: the value would be measured twice under one name.
fn check_once(options: &Options) -> Result<(), CliError> {
    let engine = |engine: &Engine| format!("{engine:?}").to_lowercase();
    let server = |kind: &ServerKind| format!("{kind:?}").to_lowercase();
    let named: [(&str, Vec<String>); 6] = [
        ("--key-type", options.key.iter().map(ToString::to_string).collect()),
        ("--protocol", options.protocol.iter().map(|p| p.word().to_owned()).collect()),
        ("--suites", options.suites.clone()),
        ("--group", options.group.clone()),
        ("--engine", options.engine.iter().map(engine).collect()),
        ("--server", options.server.iter().map(server).collect()),
    ];
    for (option, names) in named {
        if let Some(twice) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
            bail!("{option}: {} is given twice", names[twice]);
        }
    }
    Ok(())
}
