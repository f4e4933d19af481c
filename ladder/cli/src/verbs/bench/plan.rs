//! The load generator's plans for the options of a run.

use core::time::Duration;
use std::collections::BTreeSet;

use tollgate_load::{Exchange, Freshness, Limits, Offer, Plan, Protocol, Verify};
use tollgate_server::KeyKind;
use tollgate_tls_client::KeyExchange;

use super::options::given::Probed;
use super::{rules, suites};
use crate::error::CliError;
use crate::options::{Bench as Options, ServerKind};

/// The warm-up, as a share of the measured seconds.
const WARM_UP_PART: f64 = 0.5;

/// Maximum number of files of an installed server.
const BODIES_MAX: usize = 4096;

/// Requests per second that the progress bar assumes for `--requests` until it has a measured rate.
const REQUESTS_PER_S: f64 = 1000.0;

/// Time of a run in addition to its load, in seconds: the first transaction, and the wait for the
/// log.
const ASIDE_S: f64 = 0.6;

/// Returns the types of keys, each with its plans.
pub(super) fn by_key(options: &Options) -> Result<Vec<(KeyKind, Vec<Plan>)>, CliError> {
    options.keys().iter().map(|&key| Ok((key, plans(options, key)?))).collect()
}

/// Makes a plan for each protocol or suite with each group that servers with this key can have.
pub(in crate::verbs) fn plans(options: &Options, key: KeyKind) -> Result<Vec<Plan>, CliError> {
    rules::check_possible(options)?;
    let cores = client_cores(options);
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
    let limits = Limits { trend: options.load.drift_max, ..Limits::default() };
    let transactions = transactions(options)?;
    let request = options.given.request_form()?;
    let arrivals = options.clients.arrivals(options.chosen_rate().is_some());
    let of_offer = |(protocol, offer): (Protocol, Offer)| {
        let plan = Plan { offer, ..Plan::new(protocol) };
        let resume = options.resume(plan.word() == Protocol::Tls13.word());
        let plan = Plan {
            connections: options.in_flight(),
            threads: threads(options, &cores),
            cores: cores.clone(),
            warm_up_ms: milliseconds(warm_up_seconds(options)),
            sustain_ms: milliseconds(options.seconds),
            transactions,
            arrivals,
            seed: options.clients.seed,
            client_timeout: options.clients.patience(),
            exchange: exchange.clone(),
            request: request.clone(),
            requests_per_connection: options.clients.mix.requests_per_connection,
            plain_share: if is_plain { 1.0 } else { options.clients.mix.http_share },
            verify: options.verify,
            key_share: options.key_share,
            close: options.close(resume),
            limits,
            resume,
            ..plan
        };
        plan.check().map_err(|error| error!("{}: {error}", named(&plan)))?;
        // with `all`, `suites::ask_all` tries each suite on the server
        let probed = probed.filter(|_| !suites::is_all(&options.suites));
        probed.map_or(Ok(()), |probed| probed.check(&plan))?;
        Ok(plan)
    };
    offers(options, key).into_iter().map(of_offer).collect()
}

/// Returns each protocol, or each suite if suites are given, in combination with each group.
fn offers(options: &Options, key: KeyKind) -> Vec<(Protocol, Offer)> {
    let suite = |name: &String| {
        // the suite determines version and key exchange
        (Protocol::Tls13, Offer { suite: Some(name.clone()), ..Offer::default() })
    };
    let probed = options.given.probed.as_ref();
    let mut offers: Vec<_> = match (&*suites::all(&options.suites), probed) {
        ([], Some(probed)) if options.protocol.is_empty() => vec![probed.choice()],
        ([], _) => options.protocols().iter().map(|&p| (p, Offer::default())).collect(),
        (suites, _) => suites.iter().map(suite).collect(),
    };
    let has_curve_key = match probed {
        Some(probed) => probed.probe.has_only_curve_keys(),
        None => !key.is_rsa(),
    };
    if has_curve_key {
        offers.iter_mut().for_each(|(_, offer)| offer.curve_key = true);
    }
    if probed.is_none() && options.keys().len() > 1 {
        // the other keys have these offers
        offers.retain(|(protocol, offer)| can_serve(key, *protocol, offer));
    }
    let is_tls13 =
        |(protocol, offer): &(Protocol, Offer)| offer.word(*protocol) == Protocol::Tls13.word();
    if let Some(group) = options.default_group {
        let tls13 = offers.iter_mut().filter(|offer| is_tls13(offer));
        tls13.for_each(|(_, offer)| offer.group = Some(group.name().to_owned()));
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

/// Returns whether a server with this key can accept the offer.
fn can_serve(key: KeyKind, protocol: Protocol, offer: &Offer) -> bool {
    let Some(settings) = Offer { curve_key: false, ..offer.clone() }.settings(protocol) else {
        return true; // the check of the plan refuses it
    };
    match settings.suite.exchange() {
        KeyExchange::Tls13 => true,
        KeyExchange::EcdheRsa if offer.suite.is_none() => true, // ECDHE with either kind of key
        KeyExchange::Rsa | KeyExchange::EcdheRsa => key.is_rsa(),
        KeyExchange::EcdheEcdsa => !key.is_rsa(),
    }
}

/// Names a plan: version, key exchange, and the suite or group if the protocol does not imply them.
pub(in crate::verbs) fn named(plan: &Plan) -> String {
    let Offer { suite, group, .. } = &plan.offer;
    let names = [suite, group].into_iter().flatten().map(String::as_str);
    [plan.word()].into_iter().chain(names).collect::<Vec<_>>().join(" ")
}

/// Returns the sizes of all bodies; installed servers need a file for each.
pub(super) fn bodies(options: &Options) -> Result<Vec<u64>, CliError> {
    let all: BTreeSet<u64> =
        by_key(options)?.iter().flat_map(|(_, plans)| plans).flat_map(Plan::bodies).collect();
    if all.len() > BODIES_MAX {
        bail!(
            "{} sizes of bodies, and installed servers need a file for each: give --server \
             openssl, or at most {BODIES_MAX} sizes",
            all.len()
        );
    }
    Ok(all.into_iter().collect())
}

pub(super) fn milliseconds(seconds: f64) -> u64 {
    u64::try_from(Duration::from_secs_f64(seconds).as_millis()).unwrap_or(u64::MAX)
}

/// Returns the number of transactions after which a run ends. Each transaction has the same number
/// of requests.
pub(super) fn transactions(options: &Options) -> Result<Option<u64>, CliError> {
    let Some(requests) = options.clients.pace.requests else { return Ok(None) };
    let on_each = options.clients.mix.requests_per_connection;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 1000000")]
    let whole = on_each as u64;
    if on_each.fract() > 0.0 || !requests.is_multiple_of(whole.max(1)) {
        bail!("--requests: give a multiple of --requests-per-connection");
    }
    Ok(Some(requests / whole.max(1)))
}

/// Returns the warm-up in seconds; zero for a fixed number of requests.
fn warm_up_seconds(options: &Options) -> f64 {
    if options.clients.pace.requests.is_some() { 0.0 } else { WARM_UP_PART * options.seconds }
}

/// Returns the time that a scenario takes if no round is repeated, in seconds.
#[allow(clippy::cast_precision_loss, reason = "an estimate for the progress bar")]
pub(super) fn seconds(options: &Options) -> f64 {
    let requests =
        options.clients.pace.requests.map_or(f64::INFINITY, |all| all as f64 / REQUESTS_PER_S);
    let run = warm_up_seconds(options) + options.seconds.min(requests) + ASIDE_S;
    f64::from(options.servers()) * f64::from(options.rounds) * run
}

/// Returns the time that a search on one server takes, in seconds: about a dozen rates, each twice.
pub(super) fn search_seconds(options: &Options) -> f64 {
    24.0 * ((1.0 + WARM_UP_PART) * options.seconds + ASIDE_S)
}

/// Returns the number of threads: one on each core, of each agent if there are agents.
fn threads(options: &Options, cores: &[u32]) -> u32 {
    let all = cores.len().max(1) * options.given.agent_count().max(1);
    u32::try_from(all).unwrap_or(u32::MAX)
}

/// Returns the cores of the client's threads; by default the first core, if there are two or more
/// cores, and no core of agents, which may share a machine.
pub(in crate::verbs) fn client_cores(options: &Options) -> Vec<u32> {
    if options.given.agents.is_some() {
        return options.load.client_cores.clone();
    }
    cores(&options.load.client_cores, |_| 0)
}

/// Returns the cores of a server's workers; by default the last core, if there are two or more
/// cores.
pub(in crate::verbs) fn server_cores(options: &Options) -> Vec<u32> {
    cores(&options.server_cores, |last| last)
}

pub(super) fn cores(asked: &[u32], usual: fn(u32) -> u32) -> Vec<u32> {
    if !asked.is_empty() {
        return asked.to_vec();
    }
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let last = u32::try_from(count - 1).ok().filter(|last| *last > 0);
    last.map(usual).into_iter().collect()
}

pub(super) fn words(options: &Options) -> String {
    let exchange = match (&options.sizes, &options.given.probed) {
        _ if options.handshake_only => "no transfer".to_owned(),
        (Some(sizes), _) => format!("one GET, of {sizes}"),
        (None, Some(probed)) => {
            let form = options.given.request_form().unwrap_or_default();
            format!("one {form} for {}, {} bytes", probed.site.url().path(), options.bytes)
        }
        (None, None) => format!("one GET of {} bytes", options.bytes),
    };
    let verify = match options.verify {
        Verify::Always => "verifies every signature".to_owned(),
        Verify::Never => "verifies no signature".to_owned(),
        Verify::Sample { one_in } => format!("verifies one signature in {one_in}"),
    };
    let share = match options.key_share {
        Freshness::Fresh => "makes a key share for each handshake",
        Freshness::Reuse => "has one key share for all handshakes",
    };
    let of_kind = |kind: &ServerKind| match kind.stock() {
        Some(product) => format!("{product} as installed, {}", on(&server_cores(options))),
        None => each("a worker", &server_cores(options)),
    };
    let server = match &options.given.target {
        Some(url) => url.to_string(),
        None => options.server.iter().map(of_kind).collect::<Vec<_>>().join("; "),
    };
    let client = each("a thread", &client_cores(options));
    let client = match options.given.agent_count() {
        0 => client,
        count => format!("{count} agents, each {client}"),
    };
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
             rounds, {}",
            options.clients.words(options.in_flight(), options.chosen_rate()),
            options.rounds,
            ends(options)
        );
    }
    format!(
        "plan: {}, {exchange}, {suites}; {}; server: \
         {server}; client: {client}, {verify}, {share}, {}; {} \
         rounds, {}",
        options.resume_words(),
        options.clients.words(options.in_flight(), options.chosen_rate()),
        options.close_words(),
        options.rounds,
        ends(options)
    )
}

fn ends(options: &Options) -> String {
    match options.clients.pace.requests {
        Some(requests) => format!("{requests} requests in each run, {} s at most", options.seconds),
        None => format!("{} s of each run count", options.seconds),
    }
}

/// `on core 1`, `on cores 1,2 together`.
fn on(cores: &[u32]) -> String {
    match cores {
        [] => "not pinned".to_owned(),
        [core] => format!("on core {core}"),
        _ => format!("on cores {} together", listed(cores)),
    }
}

/// `a worker on core 1`, `a worker on each of cores 1,2`.
fn each(what: &str, cores: &[u32]) -> String {
    match cores {
        [] => format!("{what}, not pinned"),
        [core] => format!("{what} on core {core}"),
        _ => format!("{what} on each of cores {}", listed(cores)),
    }
}

pub(in crate::verbs) fn listed(cores: &[u32]) -> String {
    cores.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}
