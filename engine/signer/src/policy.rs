//! The keys, the clients, and what each client may do. A reload replaces all of it.

use core::num::NonZero;
use core::time::Duration;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use tollgate_keyless::{ErrorCode, Operation, Ski};

use crate::account::Account;
use crate::config::{Allowed, ClientSettings, Config, Limits};
use crate::error::Error;
use crate::keys::Key;
use crate::tls::{Identity, Tls};

/// The keys, the clients, and what each client may do.
pub(crate) struct Policy {
    pub(crate) clients: Vec<Client>,
    by_uid: HashMap<u32, usize>,
    by_certificate: HashMap<String, usize>,
    pub(crate) limits: Limits,
    pub(crate) tls: Option<Tls>,
}

pub(crate) struct Client {
    pub(crate) name: String,
    /// Its place among the clients.
    pub(crate) number: usize,
    pub(crate) account: Arc<Account>,
    rate: Option<NonZero<u32>>,
    keys: HashMap<Ski, Arc<Key>>,
    allow: BTreeSet<Allowed>,
}

/// A process with the provider keeps so many connections.
const CONNECTIONS_EACH_MIN: usize = 64;

impl Policy {
    /// Reads all keys and certificates. Clients have the accounts of those with their names in the
    /// old policy.
    pub(crate) fn load(config: &Config, old: Option<&Self>) -> Result<Self, Error> {
        let mut keys: HashMap<&str, Arc<Key>> = HashMap::new();
        let mut names = HashMap::new();
        for settings in &config.keys {
            let key = Arc::new(Key::load(settings)?);
            if let Some(other) = names.insert(key.ski, &settings.name) {
                let why =
                    format!("{other:?} is the same key as {:?}: leave one out", settings.name);
                return Err(Error::setting("key.name", why));
            }
            if keys.insert(&settings.name, key).is_some() {
                let why = format!("two keys are called {:?}: rename one", settings.name);
                return Err(Error::setting("key.name", why));
            }
        }
        let mut policy = Self {
            clients: Vec::new(),
            by_uid: HashMap::new(),
            by_certificate: HashMap::new(),
            limits: config.limits,
            tls: config.tls.as_ref().map(Tls::load).transpose()?,
        };
        for settings in &config.clients {
            policy.add(settings, config, &keys, old)?;
        }
        let mut seen = HashSet::new();
        if let Some(again) = policy.clients.iter().find(|client| !seen.insert(&client.name)) {
            let why = format!("two clients are called {:?}: rename one", again.name);
            return Err(Error::setting("client.name", why));
        }
        Ok(policy)
    }

    fn add(
        &mut self,
        settings: &ClientSettings,
        config: &Config,
        all: &HashMap<&str, Arc<Key>>,
        old: Option<&Self>,
    ) -> Result<(), Error> {
        let refuse = |setting: &str, why: &str| {
            let why = format!("of the client {:?}: {why}", settings.name);
            Error::setting(format!("client.{setting}"), why)
        };
        let at = self.clients.len();
        match (settings.uid, &settings.certificate) {
            (None, None) => {
                return Err(refuse("uid", "nothing identifies it: give `uid` or `certificate`"));
            }
            (Some(_), Some(_)) => {
                return Err(refuse("uid", "give `uid` or `certificate`, and two clients for both"));
            }
            (Some(uid), None) => {
                if config.unix.is_none() {
                    return Err(refuse("uid", "there is no `unix` socket: add one"));
                }
                if self.by_uid.insert(uid, at).is_some() {
                    return Err(refuse("uid", "another client has the same: join them"));
                }
            }
            (None, Some(name)) => {
                if config.tls.is_none() {
                    return Err(refuse("certificate", "there is no [tls]: add it"));
                }
                if name.is_empty() || self.by_certificate.insert(name.clone(), at).is_some() {
                    let why = "it is empty, or another client has the same: give each its own";
                    return Err(refuse("certificate", why));
                }
            }
        }
        if settings.keys.is_empty() || settings.allow.is_empty() {
            return Err(refuse("keys", "it may do nothing: give keys and operations"));
        }
        let mut keys = HashMap::new();
        for name in &settings.keys {
            let key = all.get(name.as_str());
            let key =
                key.ok_or_else(|| refuse("keys", &format!("there is no [[key]] {name:?}")))?;
            if settings.allow.contains(&Allowed::Raw) && !key.raw {
                let why = format!(
                    "the key {name:?} does not allow it: set `raw = true` there, if a \
                                   client may do everything with the key"
                );
                return Err(refuse("allow", &why));
            }
            keys.insert(key.ski, Arc::clone(key));
        }
        let (name, allow) = (settings.name.clone(), settings.allow.clone());
        let same = old.and_then(|old| old.clients.iter().find(|client| client.name == name));
        let account = same.map(|client| Arc::clone(&client.account)).unwrap_or_default();
        let rate = settings.rate.and_then(NonZero::new);
        self.clients.push(Client { name, number: at, account, rate, keys, allow });
        Ok(())
    }

    /// Returns the maximum number of connections of a client: all if it is the only one, otherwise
    /// at most half, so that none can take those of the others.
    pub(crate) fn connections_each(&self) -> usize {
        let max = self.limits.connections_max;
        max.div_ceil(self.clients.len()).max(CONNECTIONS_EACH_MIN.min(max.div_ceil(2)))
    }

    /// Returns the client with this identity. A certificate with the names of several clients is
    /// none of them.
    pub(crate) fn client(&self, identity: &Identity) -> Option<&Client> {
        let at = match identity {
            Identity::User(uid) => *self.by_uid.get(uid)?,
            Identity::Certificate(names) => {
                let found: BTreeSet<usize> = names
                    .iter()
                    .filter_map(|name| self.by_certificate.get(name))
                    .copied()
                    .collect();
                let mut found = found.into_iter();
                found.next().filter(|_| found.next().is_none())?
            }
        };
        self.clients.get(at)
    }
}

impl Client {
    /// Counts an operation at this time since the signer's start.
    pub(crate) fn check_rate(&self, now: Duration) -> Result<(), ErrorCode> {
        let is_allowed = self.rate.is_none_or(|rate| self.account.operations.allows(rate, now));
        if is_allowed { Ok(()) } else { Err(ErrorCode::OverRate) }
    }

    /// Returns the key if the client may do this with it. The answer for a key of others is the
    /// same as for one that does not exist.
    pub(crate) fn key(
        &self,
        ski: Option<Ski>,
        operation: Operation,
    ) -> Result<&Arc<Key>, ErrorCode> {
        let key = ski.and_then(|ski| self.keys.get(&ski)).ok_or(ErrorCode::KeyNotFound)?;
        let (needed, is_rsa) = match operation {
            Operation::Decrypt => (Allowed::Decrypt, true),
            Operation::Raw => (Allowed::Raw, true),
            Operation::SignEcdsa(_) => (Allowed::Sign, false),
            Operation::SignPkcs1v15(_) | Operation::SignPss(_) => (Allowed::Sign, true),
            Operation::Ping => return Err(ErrorCode::Internal),
        };
        if !self.allow.contains(&needed) || needed == Allowed::Raw && !key.raw {
            return Err(ErrorCode::BadOpcode);
        }
        if is_rsa != key.is_rsa() {
            return Err(ErrorCode::Crypto);
        }
        Ok(key)
    }
}
