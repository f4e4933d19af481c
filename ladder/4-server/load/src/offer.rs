//! Protocol version, suite and group that the client offers.

use serde::{Deserialize, Serialize};
use tollgate_record::vocabulary as word;
use tollgate_record::{BadSubject, Subject};
use tollgate_tls_client::{Group, KeyExchange, Settings, SignatureScheme, Suite};

use crate::messages::words;

words! {
    /// Protocol version and key exchange. The suite is AES-128-GCM with SHA-256, unless an
    /// [`Offer`] names another.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    Protocol {
        /// TLS 1.2, the premaster secret encrypted to the server's RSA key.
        Tls12Rsa = "tls12-rsa",
        /// TLS 1.2, ECDHE on X25519, signed with RSA.
        Tls12X25519 = "tls12-x25519",
        /// TLS 1.2, ECDHE on P-256, signed with RSA.
        Tls12P256 = "tls12-p256",
        /// TLS 1.3, X25519, signed with RSA.
        Tls13 = "tls13",
    }
}

/// One cipher suite and one group, by their registered names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// The suite; it overrides version and key exchange of the plan's protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// The group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// True if the server has an elliptic-curve key: its signatures are ECDSA or Ed25519, not RSA.
    #[serde(default, skip_serializing_if = "is_false")]
    pub curve_key: bool,
}

/// Returns the opposite of `flag`, for `skip_serializing_if`.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Offer {
    /// Returns whether the offer changes nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.suite.is_none() && self.group.is_none() && !self.curve_key
    }

    /// Returns the suite and the preferred group; `None` if a name is unknown, or they do not fit
    /// each other.
    #[must_use]
    pub fn suite_and_group(&self, protocol: Protocol) -> Option<(Suite, Option<Group>)> {
        let settings = self.settings(protocol)?;
        let group = settings.groups.first().copied().filter(|_| settings.suite.has_group());
        Some((settings.suite, group))
    }

    /// Returns the names of all suites of the client.
    pub fn suites() -> impl Iterator<Item = &'static str> {
        Suite::ALL.into_iter().map(Suite::name)
    }

    /// Returns the client's settings; `None` if a name is unknown or the group does not fit the
    /// suite.
    #[must_use]
    pub fn settings(&self, protocol: Protocol) -> Option<Settings> {
        let (suite, group) = match protocol {
            Protocol::Tls12P256 => {
                (Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, Some(Group::P256))
            }
            Protocol::Tls12Rsa => (Suite::TLS_RSA_WITH_AES_128_GCM_SHA256, None),
            Protocol::Tls12X25519 => (Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, None),
            Protocol::Tls13 => (Suite::TLS_AES_128_GCM_SHA256, None),
        };
        let suite = match &self.suite {
            Some(name) => Suite::from_name(name)?,
            None => suite,
        };
        let suite = match (suite, self.curve_key) {
            (Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, true) if self.suite.is_none() => {
                Suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
            }
            (suite, _) => suite,
        };
        let is_fit = match suite.exchange() {
            KeyExchange::Rsa | KeyExchange::EcdheRsa => !self.curve_key,
            KeyExchange::EcdheEcdsa | KeyExchange::Tls13 => true,
        };
        let mut settings = Some(Settings::new(suite)).filter(|_| is_fit)?;
        if self.curve_key {
            settings.schemes = SignatureScheme::CURVES.to_vec();
        }
        if suite.exchange() == KeyExchange::EcdheEcdsa {
            settings.groups.push(Group::P384); // for certificates with a P-384 key
        }
        let group = match &self.group {
            Some(name) => Some(Group::from_name(name).filter(|group| group.serves(suite))?),
            None => group.filter(|_| self.suite.is_none()),
        };
        if let Some(group) = group {
            // An ECDSA certificate must use the curve of an offered group. Therefore, offer the
            // other groups too, after this one. With the hybrid, browsers offer X25519 too.
            let has_others = suite.exchange() == KeyExchange::EcdheEcdsa || group.is_kem();
            settings.groups.retain(|other| *other != group && has_others);
            settings.groups.insert(0, group);
        }
        Some(settings)
    }

    /// Returns the protocol version and key exchange as record subjects spell them, such as
    /// `tls12-rsa`.
    #[must_use]
    pub fn word(&self, protocol: Protocol) -> &'static str {
        let Some(settings) = self.settings(protocol) else { return protocol.word() };
        match (settings.suite.exchange(), settings.groups.first()) {
            (KeyExchange::Rsa, _) => Protocol::Tls12Rsa.word(),
            (KeyExchange::Tls13, _) => Protocol::Tls13.word(),
            (_, Some(Group::P256)) => Protocol::Tls12P256.word(),
            (_, Some(Group::P384)) => "tls12-p384",
            _ => Protocol::Tls12X25519.word(),
        }
    }

    /// Adds the names to the subject of a record.
    ///
    /// # Errors
    ///
    /// A name has a character that is not allowed in a subject.
    pub fn subject(&self, mut subject: Subject) -> Result<Subject, BadSubject> {
        if let Some(suite) = &self.suite {
            subject = subject.with(word::SUITE, suite)?;
        }
        if let Some(group) = &self.group {
            subject = subject.with(word::GROUP, group)?;
        }
        Ok(subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    fn offer(suite: &str, group: &str) -> Offer {
        let some = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        Offer { suite: some(suite), group: some(group), curve_key: false }
    }

    #[test]
    fn an_empty_offer_is_the_default_and_not_in_the_json() {
        for protocol in Protocol::ALL {
            assert_eq!(offer("", "").word(protocol), protocol.word());
            let json = serde_json::to_string(&Plan::new(protocol)).unwrap();
            assert!(!json.contains("offer"), "{json}");
        }
    }

    #[test]
    fn names_determine_version_and_key_exchange() {
        for (suite, group, word) in [
            ("TLS_RSA_WITH_3DES_EDE_CBC_SHA", "", "tls12-rsa"),
            ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "secp384r1", "tls12-p384"),
            ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "", "tls12-x25519"),
            ("TLS_CHACHA20_POLY1305_SHA256", "X25519MLKEM768", "tls13"),
        ] {
            let offer = offer(suite, group);
            assert_eq!(offer.word(Protocol::Tls12P256), word);
            let settings = offer.settings(Protocol::Tls12P256).unwrap();
            assert_eq!(settings.suite.name(), suite);
            assert!(group.is_empty() || settings.groups[0].name() == group);
            let plan = Plan { offer: offer.clone(), ..Plan::new(Protocol::Tls13) };
            plan.check().unwrap();
            let json = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
            let subject = offer.subject("server/rsa-2048/tls13".parse().unwrap()).unwrap();
            assert!(subject.to_string().contains(suite), "{subject}");
        }
    }

    #[test]
    fn the_hybrid_is_offered_with_x25519_as_browsers_do() {
        let groups = |offer: &Offer| offer.settings(Protocol::Tls13).unwrap().groups;
        let hybrid = offer("", "X25519MLKEM768");
        assert_eq!(groups(&hybrid), [Group::X25519MlKem768, Group::X25519]);
        assert_eq!(groups(&Offer { curve_key: true, ..hybrid }).len(), 2);
        assert_eq!(groups(&offer("", "secp256r1")), [Group::P256]);
    }

    #[test]
    fn elliptic_curve_keys_change_signatures_and_suites() {
        let on_curve = Offer { curve_key: true, ..Offer::default() };
        for protocol in [Protocol::Tls13, Protocol::Tls12X25519, Protocol::Tls12P256] {
            let settings = on_curve.settings(protocol).unwrap();
            assert_eq!(settings.schemes, SignatureScheme::CURVES);
            assert_eq!(on_curve.word(protocol), protocol.word());
            let plan = Plan { offer: on_curve.clone(), ..Plan::new(protocol) };
            assert_ne!(plan.hash(), Plan::new(protocol).hash());
        }
        assert_eq!(on_curve.suite_and_group(Protocol::Tls12Rsa), None);
        let (suite, group) = on_curve.suite_and_group(Protocol::Tls12P256).unwrap();
        assert_eq!((suite.exchange(), group), (KeyExchange::EcdheEcdsa, Some(Group::P256)));
    }

    #[test]
    fn unknown_names_and_unfit_groups_are_refused() {
        for (suite, group) in [
            ("TLS_NULL_WITH_NULL_NULL", ""),
            ("", "x448"),
            ("TLS_RSA_WITH_AES_128_CBC_SHA", "X25519MLKEM768"),
            ("TLS_DHE_RSA_WITH_AES_128_CBC_SHA", ""),
            ("", "ffdhe2048"),
        ] {
            let plan = Plan { offer: offer(suite, group), ..Plan::new(Protocol::Tls13) };
            let error = plan.check().unwrap_err().to_string();
            assert!(error.contains("suite"), "{error}");
        }
    }
}
