//! The keys, the clients, and what each client may do. A reload replaces all of it.

use core::num::NonZero;
use core::time::Duration;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use tollgate_keyless::{ErrorCode, Operation, Ski};

use crate::account::{Account, RELAYED_MAX};
use crate::config::{Allowed, ClientSettings, Config, KeySettings, KeySource, Limits};
use crate::error::Error;
use crate::identity::Identity;
use crate::keys::{Half, Key};
use crate::relay::Plan;
use crate::tls::Tls;
use crate::token::{Token, TokenKey};

/// The keys, the clients, and what each client may do.
pub(crate) struct Policy {
    clients: Vec<Client>,
    by_uid: HashMap<u32, usize>,
    by_certificate: HashMap<String, usize>,
    pub(crate) limits: Limits,
    pub(crate) tls: Option<Tls>,
    pub(crate) relay: Option<Arc<Plan>>,
    tokens: Vec<Arc<Token>>,
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
    /// Reads all keys and certificates. Clients have the accounts of those with their names in the old
    /// policy.
    pub(crate) fn load(config: &Config, old: Option<&Self>) -> Result<Self, Error> {
        let kept = old.map_or(&[][..], |old| &old.tokens);
        let mut tokens = kept.to_vec();
        let policy = Self::load_with(config, old, &mut tokens);
        if policy.is_err() {
            let is_new = |token: &&Arc<Token>| !kept.iter().any(|it| Arc::ptr_eq(it, token));
            tokens.iter().filter(is_new).for_each(|token| token.end());
        }
        policy
    }

    /// Ends the threads of tokens, when no worker has operations any more.
    pub(crate) fn end_tokens(&self) {
        self.tokens.iter().for_each(|token| token.end());
    }

    fn load_with(
        config: &Config,
        old: Option<&Self>,
        tokens: &mut Vec<Arc<Token>>,
    ) -> Result<Self, Error> {
        let mut keys: HashMap<&str, Arc<Key>> = HashMap::new();
        let mut names = HashMap::new();
        for settings in &config.keys {
            let key = Arc::new(load(settings, config, tokens)?);
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
            tls: config.tls.as_ref().map(Tls::server).transpose()?,
            relay: None,
            tokens: Vec::new(),
        };
        let old_plan = old.and_then(|old| old.relay.as_ref());
        let plan = config.relay.as_ref().map(|settings| Plan::load(settings, old_plan));
        policy.relay = plan.transpose()?;
        for settings in &config.keys {
            if let KeySource::File { file, .. } = &settings.source
                && keys[settings.name.as_str()].upstream().is_some()
                && policy.relay.is_none()
            {
                let why = "it is a stub: add [relay] and [[upstream]], or give the private key";
                return Err(Error::file(file, why));
            }
        }
        let of_key = |key: &Arc<Key>| key.in_token().map(|key| Arc::clone(&key.token));
        policy.tokens = keys.values().filter_map(of_key).collect();
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
            if settings.certificate.is_some() && key.upstream().is_some() {
                let why = format!(
                    "upstream signers have the key {name:?}, and only clients on the Unix socket may \
                     use such keys, so that requests never go in circles: make it a client of theirs"
                );
                return Err(refuse("keys", &why));
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

    /// Returns the maximum number of connections of a client: all if it is the only one, otherwise at
    /// most half, so that none can take those of the others.
    pub(crate) fn connections_each(&self) -> usize {
        let max = self.limits.connections_max;
        max.div_ceil(self.clients.len()).max(CONNECTIONS_EACH_MIN.min(max.div_ceil(2)))
    }

    /// Returns the maximum number of operations of a client that upstream signers and tokens may have.
    pub(crate) fn relayed_each(&self) -> usize {
        RELAYED_MAX.div_ceil(self.clients.len())
    }

    /// Returns the name of the client with this place.
    pub(crate) fn name(&self, number: usize) -> &str {
        &self.clients[number].name
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

/// Reads a key from its file, or finds it in its token. The token is one of these, or becomes one.
fn load(
    settings: &KeySettings,
    config: &Config,
    tokens: &mut Vec<Arc<Token>>,
) -> Result<Key, Error> {
    let (ski, half) = match (&settings.source, &config.tokens) {
        (KeySource::File { file, fallback }, _) => Half::load(file, fallback.as_deref())?,
        (KeySource::Token(uri), Some(module)) => {
            let token = Token::load(module, &uri.token, tokens)?;
            tokens.push(Arc::clone(&token));
            let clients = config.clients.iter().filter(|it| it.keys.contains(&settings.name));
            let uses = clients.flat_map(|client| client.allow.iter().copied()).collect();
            let key = TokenKey::load(&token, uri, uses)?;
            (key.ski, Half::Token(Box::new(key)))
        }
        (KeySource::Token(_), None) => return Err(Error::setting("key.pkcs11", "no [pkcs11]")),
    };
    Ok(Key { name: settings.name.clone(), ski, half, raw: settings.raw })
}

impl Client {
    /// Counts an operation at this time since the signer's start.
    pub(crate) fn check_rate(&self, now: Duration) -> Result<(), ErrorCode> {
        let is_allowed = self.rate.is_none_or(|rate| self.account.allows(rate, now));
        if is_allowed { Ok(()) } else { Err(ErrorCode::OverRate) }
    }

    /// Returns the key if the client may do this with it. The answer for a key of others is the same
    /// as for one that does not exist.
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
