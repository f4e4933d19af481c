//! `tollgate bench --workload`: applies a workload to the options.

use core::ops::RangeInclusive;
use core::slice;

use tollgate_load::{Pattern, Plan, Protocol, Sizes};
use tollgate_workload::{Arrivals, Workload};

use super::options::measured_key;
use crate::error::CliError;
use crate::options::Bench as Options;
use crate::verbs::workload::find;

/// Suffixes of protocols that name a group.
const GROUPS: [(&str, &str); 1] = [("-x25519mlkem768", "X25519MLKEM768")];

/// Suites that are implied by protocols.
const OF_PROTOCOLS: [&str; 3] = [
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_AES_128_GCM_SHA256",
];

/// Applies the workload to the options; other options keep their values. Also returns a sentence
/// for each part of the workload that the plan cannot express.
pub(super) fn applied(options: &Options) -> Result<(Options, Vec<String>), CliError> {
    let mut options = options.clone();
    let Some(name) = options.workload.clone() else {
        return Ok((options, Vec::new()));
    };
    let workload = find(&name)?;
    let refused = |why: String| error!("--workload {name}: {why}");
    if let Some(paper) = workload.compared_with.as_ref().map(|paper| paper.value.get())
        && tollgate_published::records_of(paper).is_empty()
    {
        return Err(refused(format!("compared with {paper}: no figure of that paper is known")));
    }
    let undone = undone(&workload, &options);
    if let Some(key) = workload.key.as_ref().filter(|_| options.given.target.is_none()) {
        options.key =
            vec![measured_key(key.value.get()).ok_or_else(|| {
                refused(format!("no pair of servers has a key {}", key.value.get()))
            })?];
    }
    if let Some(protocol) = &workload.protocol {
        let (protocol, group) = protocol_of(protocol.value.get()).ok_or_else(|| {
            let word = protocol.value.get();
            refused(format!("no plan has the protocol {word}: give a URL, --suites and --group"))
        })?;
        options.protocol = vec![protocol];
        options.group = group.into_iter().map(str::to_owned).collect();
    }
    if let Some(suite) = &workload.suite
        && !OF_PROTOCOLS.contains(&suite.value.as_str())
    {
        options.suites = vec![suite.value.clone()];
    }
    if let Some(requests) = &workload.requests_per_connection {
        let each = *requests.value.get();
        if each > Plan::REQUESTS_MAX {
            return Err(refused(format!("no plan has {each} requests on a connection")));
        }
        options.clients.mix.requests_per_connection = each;
    }
    if let Some(connections) = Connections::from_workload(&workload) {
        // a search determines the rate itself
        if options.objective().is_none() {
            if let Some(why) = connections.obstacle() {
                return Err(refused(why));
            }
            options.clients.pace.rate = Some(connections.per_s);
        }
        options.clients.arrivals = Some(connections.arrivals());
    }
    if let Some(resumed) = &workload.resumed {
        options.clients.mix.resumed_share = *resumed.value.get();
    }
    if let Some(bytes) = &workload.bytes {
        options.bytes = *bytes.value.get();
    }
    options.sizes = workload.sizes.as_ref().map(|sizes| Sizes::new(&sizes.value));
    let sizes = options.sizes.as_ref().map_or(slice::from_ref(&options.bytes), Sizes::all);
    if let Some(long) = sizes.iter().find(|size| **size > tollgate_server::BODY_BYTES_MAX) {
        return Err(refused(format!("no server here has a body of {long} bytes")));
    }
    Ok((options, undone))
}

/// Returns the parts of the workload that a plan omits, and the effect on the figures.
fn undone(workload: &Workload, options: &Options) -> Vec<String> {
    let key = workload.key.as_ref().filter(|_| options.given.target.is_some()).map(|key| {
        let word = key.value.get();
        format!("the workload's key is {word}; the server of the URL has its own")
    });
    let spread = Connections::from_workload(workload).and_then(|connections| connections.undone());
    key.into_iter().chain(spread).collect()
}

/// Parses a protocol with an optional group as its suffix.
fn protocol_of(word: &str) -> Option<(Protocol, Option<&'static str>)> {
    let known = |word: &str| Protocol::ALL.into_iter().find(|known| known.word() == word);
    let plain = known(word).map(|protocol| (protocol, None));
    plain.or_else(|| {
        let with = |(ending, group)| Some((known(word.strip_suffix(ending)?)?, Some(group)));
        GROUPS.into_iter().find_map(with)
    })
}

/// A log with a dispersion in this range is consistent with Poisson arrivals.
const OF_POISSON: RangeInclusive<f64> = 0.8..=1.25;

/// Connections, each with its requests in sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Connections {
    /// Connections per second.
    per_s: f64,
    dispersion: f64,
    /// Mean requests on each connection.
    each: f64,
}

impl Connections {
    /// Returns the connections of a workload with an open loop.
    fn from_workload(workload: &Workload) -> Option<Self> {
        let each = workload.requests_per_connection.as_ref().map_or(1.0, |each| *each.value.get());
        match workload.arrivals.as_ref()?.value {
            Arrivals::Open { per_s, dispersion, .. } => Some(Self::new(per_s, dispersion, each)),
            Arrivals::Closed => None,
        }
    }

    /// Divides rate and dispersion of the requests by the requests per connection, because each
    /// connection adds a group of requests. The results are rounded to the precision of a log.
    fn new(per_s: f64, dispersion: f64, each: f64) -> Self {
        let rounded = |number: f64, to: f64| (number * to).round() / to;
        let per_s = per_s / each;
        // do not round a rate below a plan's minimum: the check of the plan must refuse it
        let per_s = if per_s < 1.0 { per_s } else { rounded(per_s, 1000.0) };
        Self { per_s, dispersion: rounded(dispersion / each, 100.0), each }
    }

    /// Returns the reason if no distribution of gaps gives these counts per second. Gaps cannot
    /// express groups of requests that arrive less than once a second. If the gaps are
    /// gamma-distributed and their dispersion equals the rate, the dispersion of the counts is a
    /// sixth less than in the log. If the dispersion of the gaps is larger than the rate, the
    /// counts vary far less than in the log.
    fn obstacle(&self) -> Option<String> {
        let Self { per_s, dispersion, .. } = *self;
        let most = per_s.max(*OF_POISSON.end()).min(*Pattern::DISPERSIONS.end());
        (dispersion > most).then(|| {
            format!(
                "its seconds differ too much for {per_s:.2} connections in each (a dispersion of \
                 {dispersion:.1} connections): leave out --workload, and give --rate"
            )
        })
    }

    /// Returns the distribution of connections, normalised to one connection per second. If
    /// connections have several requests, the distribution is at least as dispersed as Poisson.
    fn arrivals(&self) -> Pattern {
        let per_s = 1.0;
        if OF_POISSON.contains(&self.dispersion) || self.are_spread() {
            Pattern::Poisson { per_s }
        } else if self.dispersion < *Pattern::DISPERSIONS.start() {
            Pattern::Constant { per_s }
        } else {
            // a search uses only dispersions that a plan supports
            let dispersion = self.dispersion.min(*Pattern::DISPERSIONS.end());
            Pattern::Gamma { per_s, dispersion }
        }
    }

    /// Returns the part of the arrivals that a plan cannot express.
    fn undone(&self) -> Option<String> {
        self.are_spread().then(|| {
            format!(
                "the requests of a connection were far apart in the log, and follow each other \
                 here: seconds have crowds of {:.2}",
                self.each
            )
        })
    }

    /// Returns whether the requests of a connection were far apart in the log. If so, the counts
    /// per second vary less than they would if all requests of a connection were in one second.
    fn are_spread(&self) -> bool {
        self.each > 1.0 && self.dispersion < *OF_POISSON.start()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::bench;

    fn asked(name: &str) -> Result<Options, CliError> {
        asked_with(&format!("--workload {name}")).map(|(options, _)| options)
    }

    fn asked_with(flags: &str) -> Result<(Options, Vec<String>), CliError> {
        applied(&bench(flags))
    }

    #[test]
    fn a_workload_becomes_flags_or_is_refused_with_its_reason() {
        let hp2001 = asked("hp2001").unwrap();
        assert_eq!(hp2001.key, [tollgate_server::KeyKind::OF_2001]);
        assert_eq!((hp2001.protocol, hp2001.bytes), (vec![Protocol::Tls12Rsa], 14_336));
        let bank = asked("bank140k").unwrap();
        assert_eq!((bank.protocol, bank.bytes), (vec![Protocol::Tls12X25519], 140_000));
        let web = asked("web2026").unwrap();
        let (requests, resumed) = (web.clients.mix.requests_per_connection, web.resume(true));
        assert_eq!((requests, resumed.map(|resume| resume.share)), (10.0, Some(0.5)));
        let message = asked("nobody").unwrap_err().to_string();
        assert!(message.contains("give pq2026, web2026"), "{message}");
    }

    #[test]
    fn what_stays_undone_is_said() {
        let (web, undone) = asked_with("--workload web2026").unwrap();
        assert_eq!((web.protocol, web.bytes), (vec![Protocol::Tls13], 37_000));
        assert_eq!(
            (web.clients.mix.requests_per_connection, web.clients.mix.resumed_share),
            (10.0, 0.5)
        );
        assert_eq!(undone, [""; 0]);
        let (pq, undone) = asked_with("--workload pq2026").unwrap();
        assert_eq!((pq.protocol, undone), (vec![Protocol::Tls13], Vec::new()));
        assert_eq!(pq.group, ["X25519MLKEM768"]);
        let (_, undone) = asked_with("--workload hp2001 https://127.0.0.1:1/").unwrap();
        assert!(undone[0].contains("has its own"), "{undone:?}");
        assert_eq!(asked_with("").unwrap().1, [""; 0]);
    }

    #[test]
    fn what_a_log_says_becomes_flags_where_a_plan_can_express_it() {
        let file = |more: &str| {
            let folder = tollgate::temporary_folder().unwrap();
            let path = folder.path().join("asked.toml");
            std::fs::write(&path, format!("title = \"of a log\"\n{more}")).unwrap();
            asked(&path.display().to_string())
        };
        let arrivals = |dispersion: &str| {
            format!(
                "[arrivals]\nvalue = {{ kind = \"open\", per_s = 70.5, peak_per_s = 99, \
                 dispersion = {dispersion} }}\nsource = \"a log\"\n"
            )
        };
        let requests =
            |each: &str| format!("[requests_per_connection]\nvalue = {each}\nsource = \"a log\"\n");
        let clients = |more: String| {
            let found = file(&more).unwrap().clients;
            (found.pace.rate, found.arrivals, found.mix.requests_per_connection)
        };
        let per_s = 1.0;
        let gamma = |dispersion| Some(Pattern::Gamma { per_s, dispersion });
        let poisson = Some(Pattern::Poisson { per_s });
        assert_eq!(clients(arrivals("1.1")), (Some(70.5), poisson, 1.0));
        assert_eq!(clients(arrivals("0.0")).1, Some(Pattern::Constant { per_s }));
        assert_eq!(clients(arrivals("10.5")).1, gamma(10.5));
        assert_eq!(clients(arrivals("0.5")).1, gamma(0.5));
        assert_eq!(clients(arrivals("0.5") + &requests("2.5")).1, poisson);
        // two or three requests on each connection explain the whole dispersion
        let found = clients(arrivals("2.5") + &requests("2.5"));
        assert_eq!(found, (Some(28.2), poisson, 2.5));
        let found = clients(arrivals("10.5") + &requests("2.5")).1;
        assert_eq!(found, gamma(4.2));
        let refused = |more: &str| file(more).unwrap_err().to_string();
        assert!(refused(&arrivals("80.5")).contains("leave out --workload"));
        assert!(refused(&requests("2e6")).contains("2000000 requests on a connection"));
        let sizes =
            |most: u64| format!("[sizes]\nvalue = [[0.0, 3], [1.0, {most}]]\nsource = \"a log\"\n");
        let found = file(&sizes(300)).unwrap().sizes.unwrap();
        assert_eq!(found.all().len(), 64);
        assert!(found.all().iter().all(|bytes| (3..=300).contains(bytes)), "{found}");
        assert!(refused(&sizes(1 << 40)).contains("no server here has a body of"));
        let paper = "[compared_with]\nvalue = \"hp02\"\nsource = \"nobody\"\n";
        assert!(refused(paper).contains("no figure of that paper"));
    }

    #[test]
    fn crowds_have_a_limit_and_numbers_an_end() {
        let crowd = |dispersion| Connections::new(1e5, dispersion, 1.0).obstacle();
        assert!(crowd(999.0).is_none() && crowd(1001.0).is_some());
        let Connections { per_s, dispersion, .. } = Connections::new(250.0, 10.0, 2.371_739);
        assert_eq!((per_s, dispersion), (105.408, 4.22));
    }

    #[test]
    fn requests_that_were_far_apart_are_told() {
        let undone = |each| Connections::new(70.5, 0.5, each).undone();
        assert!(undone(2.5).is_some_and(|why| why.contains("crowds of 2.50")));
        assert_eq!(undone(1.0), None);
    }
}
