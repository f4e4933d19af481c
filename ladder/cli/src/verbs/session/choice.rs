//! The sessions that the options select: key types, protocols or suites, groups and sizes.

use tollgate_load::Protocol;
use tollgate_server::{Engine, KeyKind};
use tollgate_session::SHORT_BYTES;
use tollgate_tls_client::{Group, KeyExchange, Suite};

use super::options::Session as Options;
use crate::error::CliError;

/// The word for every suite that the server speaks.
const ALL: &str = "all";

/// The sizes of `--curve`, in bytes.
const CURVE_BYTES: [u64; 6] = [0, 4096, 16_384, 65_536, 262_144, 1_048_576];

/// The key, the offer and the engines of sessions, without their sizes.
pub(super) type Kind = tollgate_session::Session;

/// The sessions that the options select.
#[derive(Debug)]
pub(super) struct Choice {
    /// Each combination of key type, protocol or suite, and group that is possible; with OpenSSL's
    /// engine and no payload.
    pub(super) kinds: Vec<Kind>,
    pub(super) bytes: Vec<u64>,
    /// The suites of `all` that the server does not speak.
    pub(super) left_out: Vec<&'static str>,
}

impl Options {
    /// Returns whether no list is given; the ladder's plan then applies.
    pub(super) fn is_ladder(&self) -> bool {
        let Self { key, protocol, suites, group, bytes, .. } = self;
        [key.len(), protocol.len(), suites.len(), group.len(), bytes.len()] == [0; 5] && !self.curve
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
                let kind = |&group| {
                    let usual = Kind::new(key, protocol, Engine::OpenSsl, 0);
                    Kind { suite, group, ..usual }
                };
                kinds.extend(groups.iter().map(kind).filter(Kind::is_possible));
            }
        }
        let choice = Choice { kinds, bytes: self.sizes(), left_out };
        self.check(&choice, &suites)?;
        Ok(choice)
    }

    fn keys(&self, suites: &[Suite]) -> Vec<KeyKind> {
        let [smaller, larger] = [2048, 3072].map(|bits| KeyKind::Rsa { bits });
        let is_named = !suites.is_empty() || !self.group.is_empty();
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
                "--suites: the server's OpenSSL does not speak {name}: leave it out; `--suites \
                 all` takes all others"
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
        let known = Group::ALL.into_iter().filter(|group| *group != Group::X25519MlKem768);
        let named = |name: &String| match known.clone().find(|group| group.name() == name) {
            Some(group) => Ok(Some(group)),
            None => {
                let names: Vec<_> = known.clone().map(Group::name).collect();
                Err(error!(
                    "--group: {name} cannot be predicted: give some of {}",
                    names.join(", ")
                ))
            }
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
        let bytes = self.bytes.iter().map(|bytes| named("--bytes", bytes.to_string(), true));
        let mut known: Vec<(&str, String)> = Vec::new();
        for (option, name, is_used) in
            keys.chain(protocols).chain(suites).chain(groups).chain(bytes)
        {
            if !is_used {
                bail!(
                    "{option}: {name} fits none of the other lists: give --key-type, --suites or \
                     --group that it fits"
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

/// The engines that take a key.
pub(super) fn engines(key: KeyKind) -> &'static [Engine] {
    if key.is_rsa() { &[Engine::OpenSsl, Engine::Tollgate] } else { &[Engine::OpenSsl] }
}
