//! Which suites, groups and keys a server agrees to, one handshake for each: what the load
//! generator's own client can ask of it.

use std::io::{self, ErrorKind};

use tollgate_tls_client::{
    AlertDescription, Error as TlsError, Facts, Group, KeyExchange, Settings, SignatureScheme,
    Suite, VerifySignature,
};

use crate::certificate::Certificate;
use crate::error::Error;
use crate::own::{Failed, Own};
use crate::site::Site;

/// What a server agreed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// Suites, in the order of the client's table.
    pub suites: Vec<Suite>,
    /// Groups of TLS 1.3.
    pub groups: Vec<Group>,
    /// Curves of TLS 1.2.
    pub curves: Vec<Group>,
    /// Its leaf certificates, one for each kind of key.
    pub leaves: Vec<Certificate>,
    /// Tickets of TLS 1.2 in one handshake.
    pub tickets_tls12: u32,
    /// Whether it asks clients for a certificate, and was shown none.
    pub lacks_certificate: bool,
    /// Handshakes that were tried.
    pub tried: u32,
}

impl Offers {
    /// Whether it has a suite of this version.
    #[must_use]
    pub fn has_version(&self, is_tls13: bool) -> bool {
        self.suites.iter().any(|suite| suite.is_tls13() == is_tls13)
    }

    /// Whether one of its keys is on a curve.
    #[must_use]
    pub fn has_curve_key(&self) -> bool {
        self.leaves.iter().any(|leaf| !leaf.key.starts_with("rsa"))
    }

    /// Whether one of its keys is of RSA.
    #[must_use]
    pub fn has_rsa_key(&self) -> bool {
        self.leaves.iter().any(|leaf| leaf.key.starts_with("rsa"))
    }
}

/// Tries them all.
///
/// # Errors
///
/// Nobody listens any more, or the server agrees to nothing.
pub(crate) fn look(site: &Site) -> Result<Offers, Error> {
    let mut offers = Offers::default();
    let address = site.target().address();
    let mut first = None;
    // once it has said that it does not have the version, nobody asks for it again
    let mut without = [false; 2];
    for suite in Suite::ALL {
        let version = usize::from(suite.is_tls13());
        if without[version] {
            continue;
        }
        offers.tried += 1;
        match handshake(site, &with_every_group(suite)) {
            Ok((facts, leaf)) => offers.add(suite, &facts, leaf),
            Err(Failed::Io(error)) if is_final(&error) => {
                return Err(Error::Handshake { address, why: Failed::Io(error).why() });
            }
            Err(failed) => {
                without[version] = is_about_version(&failed);
                first.get_or_insert(failed);
            }
        }
    }
    if offers.suites.is_empty() {
        let why = first.map_or_else(|| "no suite was tried".to_owned(), |failed| failed.why());
        return Err(Error::Handshake { address, why });
    }
    offers.look_at_groups(site);
    offers.look_at_keys(site);
    Ok(offers)
}

impl Offers {
    fn add(&mut self, suite: Suite, facts: &Facts, leaf: Option<Certificate>) {
        self.suites.push(suite);
        self.lacks_certificate |=
            facts.client_certificate_asked && facts.client_signature.is_none();
        if !suite.is_tls13() {
            self.tickets_tls12 = self.tickets_tls12.max(facts.tickets);
        }
        if let Some(leaf) = leaf.filter(|leaf| self.leaves.iter().all(|l| l.key != leaf.key)) {
            self.leaves.push(leaf);
        }
    }

    /// Each group alone, with the first suite that uses one.
    fn look_at_groups(&mut self, site: &Site) {
        let tls13 = self.suites.iter().copied().find(|suite| suite.is_tls13());
        let curve =
            |s: &Suite| matches!(s.exchange(), KeyExchange::EcdheRsa | KeyExchange::EcdheEcdsa);
        let tls12 = self.suites.iter().copied().find(curve);
        for group in Group::ALL {
            for suite in [tls13, tls12].into_iter().flatten().filter(|suite| group.serves(*suite)) {
                let mut settings = with_every_group(suite);
                // with ECDSA the others name the certificate's curve
                match suite.exchange() {
                    KeyExchange::EcdheEcdsa => {
                        settings.groups.retain(|other| *other != group);
                        settings.groups.insert(0, group);
                    }
                    _ => settings.groups = vec![group],
                }
                self.tried += 1;
                let Ok((facts, _)) = handshake(site, &settings) else { continue };
                if facts.group == Some(group) {
                    let known = if suite.is_tls13() { &mut self.groups } else { &mut self.curves };
                    known.push(group);
                }
            }
        }
    }

    /// TLS 1.3 shows one key for each kind of signature.
    fn look_at_keys(&mut self, site: &Site) {
        let Some(suite) = self.suites.iter().copied().find(|suite| suite.is_tls13()) else {
            return;
        };
        for schemes in [&SignatureScheme::RSA[..], &SignatureScheme::CURVES] {
            let settings = Settings { schemes: schemes.to_vec(), ..with_every_group(suite) };
            self.tried += 1;
            let Ok((_, Some(leaf))) = handshake(site, &settings) else { continue };
            if self.leaves.iter().all(|known| known.key != leaf.key) {
                self.leaves.push(leaf);
            }
        }
    }
}

/// Settings that ask for nothing but the suite.
pub(crate) fn with_every_group(suite: Suite) -> Settings {
    let mut settings = Settings::new(suite);
    match suite.exchange() {
        // what the server has
        KeyExchange::DheRsa => settings.groups.clear(),
        KeyExchange::Rsa => {}
        KeyExchange::EcdheRsa | KeyExchange::EcdheEcdsa => {
            settings.groups = vec![Group::X25519, Group::P256, Group::P384];
        }
        KeyExchange::Tls13 => {
            settings.groups = vec![Group::X25519, Group::P256, Group::P384];
            settings.schemes.extend(SignatureScheme::CURVES);
        }
    }
    settings.verify_signature = VerifySignature::Never;
    settings
}

/// One handshake, to the server's Finished.
fn handshake(site: &Site, settings: &Settings) -> Result<(Facts, Option<Certificate>), Failed> {
    let own = Own::connect(site, settings)?;
    let leaf = own.connection().leaf().and_then(Certificate::read);
    Ok((*own.connection().facts(), leaf))
}

/// Not the suite's fault: nobody is there.
fn is_final(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused | ErrorKind::TimedOut | ErrorKind::WouldBlock
    )
}

fn is_about_version(failed: &Failed) -> bool {
    let Failed::Tls(TlsError::Alert { description, .. }) = failed else { return false };
    *description == AlertDescription::PROTOCOL_VERSION
}
