//! Checked settings, shared by connections.

use core::net::IpAddr;
use std::sync::{Arc, OnceLock};

use crate::certificate::Leaf;
use crate::error::{Error, Misuse, Violation};
use crate::exchange::KeyPair;
use crate::registry::Group;
use crate::schedule::Early;
use crate::settings::{Freshness, Settings};

/// Checked settings, and data that connections share.
#[derive(Debug)]
pub struct Config {
    pub(crate) settings: Settings,
    pub(crate) early: Early,
    /// A key pair for each group if key shares are reused; otherwise empty.
    pairs: Vec<KeyPair>,
    /// The first leaf that a connection received, usually the only one.
    leaf: OnceLock<Arc<Leaf>>,
}

impl Config {
    /// Checks the settings and prepares the shared data.
    ///
    /// # Errors
    ///
    /// [`Misuse`] if the settings are invalid; `Unavailable` if no key pair can be generated.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        check(&settings)?;
        let pairs = match settings.key_share {
            Freshness::Fresh => Vec::new(),
            Freshness::Reuse => {
                let pairs = settings.groups.iter().map(|&group| KeyPair::generate(group));
                pairs.collect::<Result<_, _>>()?
            }
        };
        Ok(Self {
            early: Early::new(settings.suite.hash()),
            pairs,
            leaf: OnceLock::new(),
            settings,
        })
    }

    /// Returns the settings.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the reused key pair of a group, if key shares are reused.
    pub(crate) fn pair(&self, group: Group) -> Option<&KeyPair> {
        self.pairs.iter().find(|pair| pair.group == group)
    }

    /// Reads a leaf; the first one is cached.
    pub(crate) fn leaf(&self, certificate: &[u8]) -> Result<Arc<Leaf>, Violation> {
        if let Some(leaf) = self.leaf.get().filter(|leaf| *leaf.der == *certificate) {
            return Ok(Arc::clone(leaf));
        }
        let leaf = Arc::new(Leaf::read(certificate)?);
        let _ = self.leaf.set(Arc::clone(&leaf)); // another connection may have set it
        Ok(leaf)
    }
}

fn check(settings: &Settings) -> Result<(), Misuse> {
    if settings.suite.has_group() && settings.groups.is_empty() {
        return Err(Misuse::NoGroup);
    }
    if (1..settings.groups.len()).any(|i| settings.groups[..i].contains(&settings.groups[i])) {
        return Err(Misuse::GroupTwice);
    }
    if settings.suite.has_group() && settings.groups.iter().any(|g| !g.serves(settings.suite)) {
        return Err(Misuse::GroupUnfit);
    }
    if settings.schemes.is_empty() {
        return Err(Misuse::NoScheme);
    }
    if settings.server_name.as_deref().is_some_and(|name| !is_dns_name(name)) {
        return Err(Misuse::ServerName);
    }
    Ok(())
}

/// Returns whether RFC 6066 §3 allows this name: labels without a trailing dot, and not an address.
fn is_dns_name(name: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    name.len() <= 253 && name.split('.').all(label) && name.parse::<IpAddr>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Suite;

    fn misuse(change: impl FnOnce(&mut Settings)) -> Error {
        let mut settings = Settings::new(Suite::TLS_AES_128_GCM_SHA256);
        change(&mut settings);
        Config::new(settings).unwrap_err()
    }

    #[test]
    fn invalid_settings_are_refused() {
        assert_eq!(misuse(|s| s.groups.clear()), Misuse::NoGroup.into());
        assert_eq!(misuse(|s| s.groups = vec![Group::P256; 2]), Misuse::GroupTwice.into());
        let old = Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
        let hybrid = Settings { groups: vec![Group::X25519MlKem768], ..Settings::new(old) };
        assert_eq!(Config::new(hybrid).unwrap_err(), Misuse::GroupUnfit.into());
        assert_eq!(misuse(|s| s.schemes.clear()), Misuse::NoScheme.into());
        for name in ["", "127.0.0.1", "::1", "a..b", "host.", "ä.example", &"a.".repeat(127)] {
            assert_eq!(misuse(|s| s.server_name = Some(name.into())), Misuse::ServerName.into());
        }
    }

    #[test]
    fn rsa_key_exchange_needs_no_group() {
        let settings =
            Settings { groups: vec![], ..Settings::new(Suite::TLS_RSA_WITH_AES_128_GCM_SHA256) };
        Config::new(settings).unwrap();
    }
}
