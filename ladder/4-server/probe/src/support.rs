//! The suites, groups and keys that a server supports: one handshake of the load generator's own
//! client for each.

use std::io::{self, ErrorKind};

use tollgate_tls_client::{
    Facts, Group, KeyExchange, Settings, SignatureScheme, Suite, VerifySignature,
};

use crate::blocking_client::{BlockingClient, Failed};
use crate::error::Error;
use crate::site::Site;

/// Suites, groups and keys that a server supports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Support {
    /// Suites, in the order of the client's table.
    pub suites: Vec<Suite>,
    /// Groups of TLS 1.3.
    pub groups: Vec<Group>,
    /// Curves of TLS 1.2.
    pub curves: Vec<Group>,
    /// The kinds of the server's keys, as record subjects spell them: `rsa-2048`.
    pub keys: Vec<String>,
}

impl Support {
    /// Returns whether the server supports a suite of this version.
    #[must_use]
    pub fn has_version(&self, is_tls13: bool) -> bool {
        self.suites.iter().any(|suite| suite.is_tls13() == is_tls13)
    }

    /// Returns whether one of its keys is an elliptic-curve key.
    #[must_use]
    pub fn has_curve_key(&self) -> bool {
        self.keys.iter().any(|key| !key.starts_with("rsa"))
    }

    /// Returns whether one of its keys is an RSA key.
    #[must_use]
    pub fn has_rsa_key(&self) -> bool {
        self.keys.iter().any(|key| key.starts_with("rsa"))
    }
}

/// Tries every suite, group and kind of key.
pub(crate) fn look(site: &Site) -> Result<Support, Error> {
    let mut support = Support::default();
    let address = site.target().address();
    // the first one of those that say most
    let mut failure: Option<Failed> = None;
    // a version that the server has refused is not tried again
    let mut without = [false; 2];
    for suite in Suite::ALL {
        let version = usize::from(suite.is_tls13());
        if without[version] {
            continue;
        }
        match handshake(site, with_every_group(suite)) {
            Ok((_, key)) => {
                support.suites.push(suite);
                support.add_key(key);
            }
            Err(Failed::Io(error)) if is_final(&error) => {
                return Err(Error::Handshake { address, why: Failed::Io(error).why() });
            }
            Err(failed) => {
                without[version] = failed.is_about_version();
                if failure.as_ref().is_none_or(|known| known.weight() < failed.weight()) {
                    failure = Some(failed);
                }
            }
        }
    }
    if support.suites.is_empty() {
        let why = failure.map_or_else(|| "no suite was tried".to_owned(), |failed| failed.why());
        return Err(Error::Handshake { address, why });
    }
    support.look_at_groups(site);
    support.look_at_keys(site);
    Ok(support)
}

impl Support {
    fn add_key(&mut self, key: Option<String>) {
        self.keys.extend(key.filter(|key| !self.keys.contains(key)));
    }

    /// Tries each group alone, with the first suite that uses one.
    fn look_at_groups(&mut self, site: &Site) {
        let tls13 = self.suites.iter().copied().find(|suite| suite.is_tls13());
        let curve =
            |s: &Suite| matches!(s.exchange(), KeyExchange::EcdheRsa | KeyExchange::EcdheEcdsa);
        let tls12 = self.suites.iter().copied().find(curve);
        for group in Group::ALL {
            for suite in [tls13, tls12].into_iter().flatten().filter(|suite| group.serves(*suite)) {
                let mut settings = with_every_group(suite);
                // An ECDSA certificate must use the curve of an offered group. Therefore, offer
                // the other groups too, after this one.
                match suite.exchange() {
                    KeyExchange::EcdheEcdsa => {
                        settings.groups.retain(|other| *other != group);
                        settings.groups.insert(0, group);
                    }
                    _ => settings.groups = vec![group],
                }
                let Ok((facts, _)) = handshake(site, settings) else { continue };
                if facts.group == Some(group) {
                    let known = if suite.is_tls13() { &mut self.groups } else { &mut self.curves };
                    known.push(group);
                }
            }
        }
    }

    /// Finds RSA and elliptic-curve keys: with TLS 1.3 a server can show one for each kind of
    /// signature.
    fn look_at_keys(&mut self, site: &Site) {
        let Some(suite) = self.suites.iter().copied().find(|suite| suite.is_tls13()) else {
            return;
        };
        for schemes in [&SignatureScheme::RSA[..], &SignatureScheme::CURVES] {
            let settings = Settings { schemes: schemes.to_vec(), ..with_every_group(suite) };
            if let Ok((_, key)) = handshake(site, settings) {
                self.add_key(key);
            }
        }
    }
}

/// Settings that restrict nothing but the suite.
pub(crate) fn with_every_group(suite: Suite) -> Settings {
    let mut settings = Settings::new(suite);
    match suite.exchange() {
        KeyExchange::Rsa => {}
        KeyExchange::EcdheRsa | KeyExchange::EcdheEcdsa | KeyExchange::Tls13 => {
            // the first one is that of the key share
            settings.groups = vec![Group::X25519];
            let others = Group::ALL.into_iter().filter(|group| *group != Group::X25519);
            settings.groups.extend(others.filter(|group| group.serves(suite)));
        }
    }
    if suite.is_tls13() {
        settings.schemes.extend(SignatureScheme::CURVES);
    }
    settings.verify_signature = VerifySignature::Never;
    settings
}

/// Performs one handshake, up to the server's Finished; returns the kind of the server's key too.
fn handshake(site: &Site, settings: Settings) -> Result<(Facts, Option<String>), Failed> {
    let client = BlockingClient::connect(site.url(), site.target().address(), settings)?;
    let connection = client.connection();
    Ok((*connection.facts(), connection.key().map(|key| key.to_string())))
}

/// Returns whether the server no longer answers, so that other suites need not be tried.
fn is_final(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused | ErrorKind::TimedOut | ErrorKind::WouldBlock
    )
}
