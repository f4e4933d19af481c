//! The sessions that the options select: key types, protocols or suites, groups and sizes.

use tollgate_curves::p256::P256;
use tollgate_load::Protocol;
use tollgate_server::{Engine, KeyKind};
use tollgate_session::{Handshake, SHORT_BYTES};
use tollgate_tls_client::{Group, KeyExchange, Suite};

use super::options::Session as Options;
use crate::error::CliError;

/// The word for every suite that the server speaks.
const ALL: &str = "all";

/// The sizes of `--curve`, in bytes.
const CURVE_BYTES: [u64; 6] = [0, 4096, 16_384, 65_536, 262_144, 1_048_576];

/// The key, the offer and the handshake of sessions, without their sizes and numbers of requests.
pub(super) type Kind = tollgate_session::Session;

/// The sessions that the options select.
#[derive(Debug)]
pub(super) struct Choice {
    /// Each combination of key type, protocol or suite, and group that is possible; with OpenSSL's
    /// engine and no payload.
    pub(super) kinds: Vec<Kind>,
    pub(super) bytes: Vec<u64>,
    pub(super) requests: Vec<u32>,
    /// The suites of `all` that the server does not speak.
    pub(super) left_out: Vec<&'static str>,
}

impl Options {
    /// Returns whether no list is given; the ladder's plan then applies.
    pub(super) fn is_ladder(&self) -> bool {
        let Self { key, protocol, suites, group, bytes, .. } = self;
        let Self { handshake, chain, requests, .. } = self;
        let of_kinds = [key.len(), protocol.len(), suites.len(), group.len(), bytes.len()];
        let of_rows = [handshake.len(), chain.len(), requests.len()];
        of_kinds == [0; 5] && of_rows == [0; 3] && !self.curve && !self.both_ends
    }

    /// The product of the lists, with defaults for missing lists, without combinations that do not
    /// exist.
    pub(super) fn choice(&self) -> Result<Choice, CliError> {
        let (suites, left_out) = self.named_suites()?;
        let groups = self.named_groups()?;
        let offers: Vec<(Protocol, Option<Suite>)> = match (&*suites, &*self.protocol) {
            ([], []) => [Protocol::Tls12X25519, Protocol::Tls13].map(|one| (one, None)).into(),
            ([], protocols) => protocols.iter().map(|&protocol| (protocol, None)).collect(),
            // The suite determines version and key exchange.
            (suites, _) => suites.iter().map(|&suite| (Protocol::Tls13, Some(suite))).collect(),
        };
        let mut kinds = Vec::new();
        for key in self.keys(&suites) {
            for &(protocol, suite) in &offers {
                for &group in &groups {
                    let usual = Kind::new(key, protocol, Engine::OpenSsl, 0);
                    kinds.extend(self.manners(Kind { suite, group, ..usual }));
                }
            }
        }
        let requests = if self.requests.is_empty() { vec![1] } else { self.requests.clone() };
        let choice = Choice { kinds, bytes: self.sizes(), requests, left_out };
        self.check(&choice, &suites)?;
        Ok(choice)
    }

    /// The kind with each handshake and chain that is possible.
    fn manners(&self, kind: Kind) -> Vec<Kind> {
        let handshakes = match &*self.handshake {
            [] => &[Handshake::Full],
            handshakes => handshakes,
        };
        let chains: Vec<Option<u8>> = match &*self.chain {
            [] => vec![None],
            chains => chains.iter().copied().map(Some).collect(),
        };
        let of = |&handshake: &Handshake| {
            // A resumed handshake has no certificates.
            let chains = if handshake.is_resumed() { &[None][..] } else { &chains };
            chains.iter().map(move |&chain| Kind { handshake, chain, ..kind })
        };
        handshakes.iter().flat_map(of).filter(Kind::is_possible).collect()
    }

    fn keys(&self, suites: &[Suite]) -> Vec<KeyKind> {
        let [smaller, larger] = [2048, 3072].map(|bits| KeyKind::Rsa { bits });
        let has_rows = !self.handshake.is_empty()
            || !self.chain.is_empty()
            || !self.requests.is_empty()
            || self.both_ends;
        let is_named = !suites.is_empty() || !self.group.is_empty() || has_rows;
        let needs_curve = |suite: &Suite| suite.exchange() == KeyExchange::EcdheEcdsa;
        match &*self.key {
            [] if suites.iter().any(needs_curve) => vec![smaller, KeyKind::EcdsaP256],
            [] if is_named => vec![smaller],
            [] => vec![smaller, larger],
            keys => keys.to_vec(),
        }
    }

    fn sizes(&self) -> Vec<u64> {
        match &*self.bytes {
            _ if self.curve => CURVE_BYTES.to_vec(),
            [] => vec![SHORT_BYTES],
            bytes => bytes.to_vec(),
        }
    }

    /// The suites, and those of `all` that the server does not speak.
    fn named_suites(&self) -> Result<(Vec<Suite>, Vec<&'static str>), CliError> {
        let is_spoken = |suite: &Suite| suite.name().parse::<tollgate_server::Suite>().is_ok();
        if self.suites == [ALL] {
            let (spoken, others): (Vec<_>, Vec<_>) = Suite::ALL.into_iter().partition(is_spoken);
            return Ok((spoken, others.into_iter().map(Suite::name).collect()));
        }
        let named = |name: &String| match Suite::from_name(name) {
            Some(suite) if is_spoken(&suite) => Ok(suite),
            Some(_) => Err(error!(
                "--suites: OpenSSL does not speak {name}: leave it out, or measure it with `tollgate \
                 bench --server gnutls --handshake-only --suites {name}`"
            )),
            None => Err(error!(
                "--suites: no suite is called {name}: give IANA names, such as {}, or all",
                Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
            )),
        };
        Ok((self.suites.iter().map(named).collect::<Result<_, _>>()?, Vec::new()))
    }

    /// The groups; one without a name if none is given.
    fn named_groups(&self) -> Result<Vec<Option<Group>>, CliError> {
        if self.group.is_empty() {
            return Ok(vec![None]);
        }
        let named = |name: &String| match Group::ALL.iter().find(|group| group.name() == name) {
            Some(group) => Ok(Some(*group)),
            None => Err(error!(
                "--group: no group is called {name}: give some of {}",
                Group::ALL.map(Group::name).join(", ")
            )),
        };
        self.group.iter().map(named).collect()
    }

    /// Refuses a list with a value that is given twice or fits none of the others.
    fn check(&self, choice: &Choice, suites: &[Suite]) -> Result<(), CliError> {
        let used = |is_it: &dyn Fn(&Kind) -> bool| choice.kinds.iter().any(is_it);
        let named = |option, name: String, is_used| (option, name, is_used);
        let keys = self
            .key
            .iter()
            .map(|key| named("--key-type", key.to_string(), used(&|kind| kind.key == *key)));
        let protocols = self.protocol.iter().map(|protocol| {
            named(
                "--protocol",
                protocol.word().to_owned(),
                used(&|kind| kind.protocol == *protocol),
            )
        });
        // With `all`, a suite without a key of its kind is left out.
        let is_all = self.suites == [ALL];
        let suites = suites.iter().filter(|_| !is_all).map(|suite| {
            named("--suites", suite.name().to_owned(), used(&|kind| kind.suite == Some(*suite)))
        });
        let groups = self.group.iter().map(|name| {
            let is_it = |kind: &Kind| kind.group.is_some_and(|group| group.name() == name);
            named("--group", name.clone(), used(&is_it))
        });
        let handshakes = self
            .handshake
            .iter()
            .map(|one| named("--handshake", one.to_string(), used(&|kind| kind.handshake == *one)));
        let chains = self.chain.iter().map(|length| {
            named("--chain", length.to_string(), used(&|kind| kind.chain == Some(*length)))
        });
        let bytes = self.bytes.iter().map(|bytes| named("--bytes", bytes.to_string(), true));
        let requests =
            self.requests.iter().map(|count| named("--requests", count.to_string(), true));
        let of_rows = handshakes.chain(chains).chain(requests);
        let mut known: Vec<(&str, String)> = Vec::new();
        for (option, name, is_used) in
            keys.chain(protocols).chain(suites).chain(groups).chain(bytes).chain(of_rows)
        {
            if !is_used {
                bail!(
                    "{option}: {name} fits none of the other lists: give --key-type, --protocol, \
                     --suites, --group or --handshake that it fits"
                );
            }
            if known.contains(&(option, name.clone())) {
                bail!("{option}: {name} is given twice");
            }
            known.push((option, name));
        }
        Ok(())
    }
}

/// The engines to measure with a key. Tollgate leaves other curves to OpenSSL, and P-256 on processors
/// on which it has no kernels.
pub(super) fn engines(key: KeyKind) -> &'static [Engine] {
    let is_ours = match key {
        KeyKind::EcdsaP256 => P256::best().is_ok_and(P256::beats_openssl),
        other => other.is_rsa(),
    };
    if is_ours { &[Engine::OpenSsl, Engine::Tollgate] } else { &[Engine::OpenSsl] }
}
