//! What a client offers, where it is not the protocol's own.

use serde::{Deserialize, Serialize};
use tollgate_client::{Group, KeyExchange, Settings, Suite};
use tollgate_record::vocabulary as word;
use tollgate_record::{BadSubject, Subject};

use crate::plan::Protocol;

/// One cipher suite and one group, by their registered names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// The suite; with one, it says version and key exchange, and the plan's protocol does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// The group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

impl Offer {
    /// Whether it leaves all to the protocol.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.suite.is_none() && self.group.is_none()
    }

    /// The client's settings; `None` for a name that it does not know, or a group that does not fit
    /// the suite.
    pub(crate) fn settings(&self, protocol: Protocol) -> Option<Settings> {
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
        let mut settings = Settings::new(suite);
        let group = match &self.group {
            Some(name) => Some(Group::from_name(name).filter(|group| group.serves(suite))?),
            None => group.filter(|_| self.suite.is_none()),
        };
        if let Some(group) = group {
            // the others stay behind it: with ECDSA they name the certificate's curve
            settings
                .groups
                .retain(|other| *other != group && suite.exchange() == KeyExchange::EcdheEcdsa);
            settings.groups.insert(0, group);
        }
        Some(settings)
    }

    /// Version and key exchange, as subjects of records spell them: `tls12-rsa`.
    pub(crate) fn word(&self, protocol: Protocol) -> &'static str {
        let Some(settings) = self.settings(protocol) else { return protocol.word() };
        match (settings.suite.exchange(), settings.groups.first()) {
            (KeyExchange::Rsa, _) => Protocol::Tls12Rsa.word(),
            (KeyExchange::DheRsa, _) => "tls12-dhe",
            (KeyExchange::Tls13, _) => Protocol::Tls13.word(),
            (_, Some(Group::P256)) => Protocol::Tls12P256.word(),
            (_, Some(Group::P384)) => "tls12-p384",
            _ => Protocol::Tls12X25519.word(),
        }
    }

    /// A subject with the names.
    pub(crate) fn subject(&self, mut subject: Subject) -> Result<Subject, BadSubject> {
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
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::plan::Plan;

    fn offer(suite: &str, group: &str) -> Offer {
        let some = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        Offer { suite: some(suite), group: some(group) }
    }

    #[test]
    fn an_empty_offer_is_the_protocol_s_own_and_is_not_in_the_json() {
        for protocol in Protocol::ALL {
            assert_eq!(offer("", "").word(protocol), protocol.word());
            let json = serde_json::to_string(&Plan::new(protocol)).unwrap();
            assert!(!json.contains("offer"), "{json}");
        }
    }

    #[test]
    fn names_say_version_and_key_exchange() {
        for (suite, group, word) in [
            ("TLS_RSA_WITH_3DES_EDE_CBC_SHA", "", "tls12-rsa"),
            ("TLS_DHE_RSA_WITH_AES_128_CBC_SHA", "ffdhe3072", "tls12-dhe"),
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
    fn strange_names_and_groups_that_do_not_fit_are_refused() {
        for (suite, group) in [
            ("TLS_NULL_WITH_NULL_NULL", ""),
            ("", "x448"),
            ("TLS_RSA_WITH_AES_128_CBC_SHA", "X25519MLKEM768"),
            ("TLS_DHE_RSA_WITH_AES_128_CBC_SHA", "x25519"),
        ] {
            let plan = Plan { offer: offer(suite, group), ..Plan::new(Protocol::Tls13) };
            let error = plan.check().unwrap_err().to_string();
            assert!(error.contains("suite"), "{error}");
        }
    }
}
