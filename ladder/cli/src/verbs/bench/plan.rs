//! What the options ask the load generator to do.

use core::time::Duration;
use std::collections::BTreeSet;

use clap::ValueEnum as _;
use tollgate_load::{Exchange, Freshness, Limits, Mechanism, Offer, Plan, Protocol, Verify};

use super::{Probed, suites};
use crate::error::CliError;
use crate::options::{Bench as Options, EngineKind, KeyShare, ServerKind};

/// Warming up takes this part of the seconds that count.
const WARM_UP_PART: f64 = 0.5;

/// The most files of a stock server.
const BODIES_MAX: usize = 4096;

/// What a run takes beside its seconds: the first transaction, and waiting for the log.
const ASIDE_S: f64 = 0.6;

/// A plan for each protocol or suite, and of these for each group.
///
/// # Errors
///
/// A figure is out of range.
pub(super) fn plans(options: &Options) -> Result<Vec<Plan>, CliError> {
    let cores = client_cores(options);
    let freshness = match options.key_share {
        KeyShare::Fresh => Freshness::Fresh,
        KeyShare::Reuse => Freshness::Reuse,
    };
    let probed = options.given.probed.as_ref();
    let exchange = match (&options.sizes, probed) {
        _ if options.handshake_only => Exchange::HandshakeOnly,
        (Some(sizes), _) => Exchange::Sizes(sizes.clone()),
        (None, Some(probed)) => {
            Exchange::Get { path: probed.site.url().path().to_owned(), bytes: options.bytes }
        }
        (None, None) => Exchange::bytes(options.bytes),
    };
    let is_plain = probed.is_some_and(Probed::is_plain);
    let limits = Limits {
        trend: options.drift_max,
        trend_doubt: Limits::default().trend_doubt.min(options.drift_max),
        ..Limits::default()
    };
    let arrivals = options.clients.arrivals()?;
    let of_offer = |(protocol, offer): (Protocol, Offer)| {
        refuse(options, protocol)?;
        refuse_resumption(options)?;
        let plan = Plan { offer, ..Plan::new(protocol) };
        let resume = options.resume(plan.word() == Protocol::Tls13.word());
        let plan = Plan {
            connections: options.connections,
            threads: u32::try_from(cores.len().max(1)).unwrap_or(u32::MAX),
            cores: cores.clone(),
            warm_up_ms: milliseconds(WARM_UP_PART * options.seconds),
            sustain_ms: milliseconds(options.seconds),
            arrivals: arrivals.clone(),
            seed: options.clients.seed,
            client_timeout: options.clients.patience(),
            exchange: exchange.clone(),
            requests_per_connection: options.clients.requests_per_connection,
            source_addresses: options.clients.source_addresses,
            plain_share: if is_plain { 1.0 } else { options.clients.http_share },
            verify: options.verify,
            key_share: freshness,
            premaster: freshness,
            close: options.closing.close(resume),
            limits,
            resume,
            ..plan
        };
        plan.check().map_err(|error| CliError::new(format!("{}: {error}", named(&plan))))?;
        // of all suites the server is asked for each
        let probed = probed.filter(|_| !suites::is_all(&options.suites));
        probed.map_or(Ok(()), |probed| probed.check(&plan))?;
        Ok(plan)
    };
    offers(options).into_iter().map(of_offer).collect()
}

/// Protocols as they are, or suites in their place; each with each of the groups.
fn offers(options: &Options) -> Vec<(Protocol, Offer)> {
    let suite = |name: &String| {
        // the suite says version and key exchange
        (Protocol::Tls13, Offer { suite: Some(name.clone()), ..Offer::default() })
    };
    let probed = options.given.probed.as_ref();
    let mut offers: Vec<_> = match (&*suites::all(&options.suites), probed) {
        ([], Some(probed)) if options.protocol.is_empty() => vec![probed.choice()],
        ([], _) => options.protocols().iter().map(|&p| (p, Offer::default())).collect(),
        (suites, _) => suites.iter().map(suite).collect(),
    };
    if probed.is_some_and(|probed| probed.probe.has_only_curve_keys()) {
        offers.iter_mut().for_each(|(_, offer)| offer.curve_key = true);
    }
    if !options.group.is_empty() {
        let each = |(protocol, offer): (Protocol, Offer)| {
            let with = move |group: &String| {
                (protocol, Offer { group: Some(group.clone()), ..offer.clone() })
            };
            options.group.iter().map(with)
        };
        offers = offers.into_iter().flat_map(each).collect();
    }
    offers
}

/// Version, key exchange and whatever is not the protocol's own.
pub(super) fn named(plan: &Plan) -> String {
    let Offer { suite, group, .. } = &plan.offer;
    let names = [suite, group].into_iter().flatten().map(String::as_str);
    [plan.word()].into_iter().chain(names).collect::<Vec<_>>().join(" ")
}

/// What the servers cannot do, or nobody could confirm.
fn refuse(options: &Options, protocol: Protocol) -> Result<(), CliError> {
    let keeps = match options.server {
        ServerKind::Nginx | ServerKind::Openssl => true,
        ServerKind::Apache | ServerKind::Haproxy | ServerKind::Rustls => options.target.is_some(),
    };
    let why = if !keeps && options.clients.requests_per_connection > 1.0 {
        "--requests-per-connection: of these servers nginx and openssl keep connections open, and \
         their logs tell handshakes from requests: give --server nginx or openssl"
    } else if options.clients.http_share > 0.0 && options.server != ServerKind::Nginx {
        "--http-share: of these servers only nginx speaks HTTP without TLS too: give --server nginx"
    } else if options.server == ServerKind::Rustls && protocol == Protocol::Tls12Rsa {
        "--server rustls: rustls has no RSA key exchange: leave out tls12-rsa"
    } else if options.server == ServerKind::Rustls && options.engine.contains(&EngineKind::Openssl)
    {
        "--engine: without ours, rustls has aws-lc: give aws-lc or tollgate"
    } else if options.server != ServerKind::Rustls && options.engine.contains(&EngineKind::AwsLc) {
        "--engine: of these servers only rustls has aws-lc: give openssl or tollgate"
    } else if options.asynchronous && !options.has(EngineKind::Tollgate) {
        "--async: the server without the provider pauses nothing: give --engine tollgate too"
    } else if options.asynchronous && options.server != ServerKind::Haproxy {
        "--async: of these servers only haproxy can pause handshakes: give --server haproxy"
    } else if options.handshake_only && options.server.stock().is_some() {
        "--handshake-only: the logs of stock servers tell of requests only: give --bytes 0"
    } else if options.module.is_some() && options.server.stock().is_none() {
        "--module: only stock servers load one: give --server nginx, haproxy or apache"
    } else {
        return Ok(());
    };
    Err(CliError::new(why))
}

/// The bodies that stock servers have to have, a file for each.
///
/// # Errors
///
/// They are too many, or a figure is out of range.
pub(super) fn bodies(options: &Options) -> Result<Vec<u64>, CliError> {
    let all: BTreeSet<u64> = plans(options)?.iter().flat_map(Plan::bodies).collect();
    if all.len() > BODIES_MAX {
        let (count, server) = (all.len(), "--server openssl");
        let why = format!("{count} sizes of bodies, and stock servers have a file for each: give");
        return Err(CliError::new(format!("{why} {server}, or at most {BODIES_MAX} sizes")));
    }
    Ok(all.into_iter().collect())
}

/// What is named twice would be measured twice, under one name.
pub(super) fn check_once(options: &Options) -> Result<(), CliError> {
    let words = |all: &[String]| all.to_vec();
    let named = [
        ("--key", options.key.iter().map(ToString::to_string).collect()),
        ("--protocol", options.protocol.iter().map(|p| p.word().to_owned()).collect()),
        ("--suites", words(&options.suites)),
        ("--group", words(&options.group)),
        ("--engine", options.engine.iter().filter_map(|engine| word(*engine)).collect()),
    ];
    for (flag, names) in named {
        if let Some(twice) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
            return Err(CliError::new(format!("{flag}: {} stands there twice", names[twice])));
        }
    }
    Ok(())
}

/// As its flag spells it.
fn word(engine: EngineKind) -> Option<String> {
    engine.to_possible_value().map(|value| value.get_name().to_owned())
}

/// By what the servers cannot resume sessions.
fn refuse_resumption(options: &Options) -> Result<(), CliError> {
    let by = options.resumed.resume_by;
    if options.resume(true).is_none() || options.target.is_some() {
        return Ok(());
    }
    let usual = matches!(by, None | Some(Mechanism::Ticket | Mechanism::Psk));
    let why = match (options.server, options.server.stock()) {
        (ServerKind::Rustls, _) => {
            "--resume: the servers on rustls resume nothing: give another --server"
        }
        (ServerKind::Openssl, _) if !usual => {
            "--resume-by: the servers on openssl give tickets only: give ticket or psk, or \
             --server nginx"
        }
        (_, Some(product)) if by.is_some_and(|by| !product.can_resume(by)) => {
            "--resume-by: this server cannot: give --server nginx, which can do all"
        }
        _ => return Ok(()),
    };
    Err(CliError::new(why))
}

fn milliseconds(seconds: f64) -> u64 {
    u64::try_from(Duration::from_secs_f64(seconds).as_millis()).unwrap_or(u64::MAX)
}

/// Seconds of a scenario, repeats not counted.
pub(super) fn seconds(options: &Options) -> f64 {
    let run = (1.0 + WARM_UP_PART) * options.seconds + ASIDE_S;
    f64::from(options.servers()) * f64::from(options.rounds) * run
}

/// Seconds of a search of one server, about: a dozen rates, each twice.
pub(super) fn search_seconds(options: &Options) -> f64 {
    24.0 * ((1.0 + WARM_UP_PART) * options.seconds + ASIDE_S)
}

/// Cores of the client's threads: as asked for, else the first one where there is another.
pub(super) fn client_cores(options: &Options) -> Vec<u32> {
    match (options.client_cores.as_slice(), last_core()) {
        ([], Some(_)) => vec![0],
        (asked, _) => asked.to_vec(),
    }
}

/// Cores of a server's workers: as asked for, else the last one where there is another.
pub(super) fn server_cores(options: &Options) -> Vec<u32> {
    match (options.server_cores.as_slice(), last_core()) {
        ([], Some(last)) => vec![last],
        (asked, _) => asked.to_vec(),
    }
}

/// The last logical core, if there are two or more.
fn last_core() -> Option<u32> {
    let cores = std::thread::available_parallelism().ok()?.get();
    u32::try_from(cores - 1).ok().filter(|last| *last > 0)
}

/// The plan in words.
pub(super) fn words(options: &Options) -> String {
    let exchange = match (&options.sizes, &options.given.probed) {
        _ if options.handshake_only => "no transfer".to_owned(),
        (Some(sizes), _) => format!("one GET, of {sizes}"),
        (None, Some(probed)) => {
            format!("one GET of {}, {} bytes", probed.site.url().path(), options.bytes)
        }
        (None, None) => format!("one GET of {} bytes", options.bytes),
    };
    let verify = match options.verify {
        Verify::Always => "verifies every signature".to_owned(),
        Verify::Never => "verifies no signature".to_owned(),
        Verify::Sample { one_in } => format!("verifies one signature in {one_in}"),
    };
    let share = match options.key_share {
        KeyShare::Fresh => "makes a key share for each handshake",
        KeyShare::Reuse => "has one key share for all handshakes",
    };
    let server = match &options.target {
        Some(url) => url.to_string(),
        None if options.server == ServerKind::Rustls => {
            let threads = options.connections;
            format!("{threads} blocking threads of rustls, {}", on(&server_cores(options)))
        }
        None => match options.server.stock() {
            Some(product) => format!("{product} as installed, {}", on(&server_cores(options))),
            None => each("a worker", &server_cores(options)),
        },
    };
    let shown =
        match options.given.probed.as_ref().and_then(|probed| probed.site.client_certificate()) {
            Some(shown) => format!("a certificate to show ({}), ", shown.key()),
            None => String::new(),
        };
    let client = each("a thread", &client_cores(options));
    let chosen = options.given.probed.as_ref().and_then(|probed| probed.choice().1.suite);
    let suites = match (&*options.suites, chosen) {
        ([], Some(suite)) if options.protocol.is_empty() => suite,
        ([], _) => "AES-128-GCM-SHA256".to_owned(),
        (all, _) if suites::is_all(all) => "every suite that is taken".to_owned(),
        (suites, _) => suites.join(", "),
    };
    if options.given.probed.as_ref().is_some_and(Probed::is_plain) {
        return format!(
            "plan: HTTP without TLS, {exchange}; {}; server: {server}; client: {client}; {} \
             rounds, {} s of each run count",
            options.clients.words(options.connections),
            options.rounds,
            options.seconds
        );
    }
    format!(
        "plan: {}, {exchange}, {suites}; {}; server: \
         {server}; client: {client}, {shown}{verify}, {share}, {}; {} \
         rounds, {} s of each run count",
        options.resume_words(),
        options.clients.words(options.connections),
        options.closing.words(options.resume(true)),
        options.rounds,
        options.seconds
    )
}

/// `on core 1`, `on cores 1,2 together`.
fn on(cores: &[u32]) -> String {
    let list = cores.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    match cores.len() {
        0 => "not pinned".to_owned(),
        1 => format!("on core {list}"),
        _ => format!("on cores {list} together"),
    }
}

/// `a worker on core 1`, `a worker on each of cores 1,2`.
fn each(what: &str, cores: &[u32]) -> String {
    let list = cores.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    match cores.len() {
        0 => format!("{what}, not pinned"),
        1 => format!("{what} on core {list}"),
        _ => format!("{what} on each of cores {list}"),
    }
}
