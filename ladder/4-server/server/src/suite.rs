//! Cipher suites, groups and protocol versions.

use core::fmt;
use core::str::FromStr;

use crate::kinds::{KeyKind, find};

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// TLS 1.2, RFC 5246.
    Tls12,
    /// TLS 1.3, RFC 8446.
    Tls13,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tls12 => "tls12",
            Self::Tls13 => "tls13",
        })
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let all = [Self::Tls12, Self::Tls13];
        find("protocol", name, &all, |protocol: Self| [protocol.to_string()])
    }
}

/// Defines an enum by the names of its values in the IANA registry and in OpenSSL.
macro_rules! registered {
    ($(#[$doc:meta])* $type:ident { $($variant:ident = $iana:literal, $openssl:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $(#[doc = concat!("`", $iana, "`, in OpenSSL `", $openssl, "`")] $variant,)*
        }

        impl $type {
            /// All supported values.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the name in the IANA registry, which is also used in the access log.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $iana,)* }
            }

            /// Returns OpenSSL's name.
            #[must_use]
            pub const fn openssl_name(self) -> &'static str {
                match self { $(Self::$variant => $openssl,)* }
            }
        }
    };
}

registered! {
    /// A cipher suite. Suites of TLS 1.2 include the key exchange, those of TLS 1.3 do not.
    Suite {
        Aes128Gcm = "TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256";
        Aes256Gcm = "TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384";
        Chacha20 = "TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256";
        EcdheEcdsaAes128Gcm =
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256";
        EcdheEcdsaAes256Gcm =
            "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384";
        EcdheEcdsaChacha20 =
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305";
        EcdheRsaAes128Gcm =
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256";
        EcdheRsaAes256Gcm =
            "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384";
        EcdheRsaChacha20 =
            "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305";
        EcdheEcdsaAes128Sha = "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA";
        EcdheEcdsaAes256Sha = "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA";
        EcdheRsaAes128Sha = "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA";
        EcdheRsaAes256Sha = "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA";
        RsaAes128Gcm = "TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256";
        RsaAes256Gcm = "TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384";
        RsaAes128Sha = "TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA";
        RsaAes256Sha = "TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA";
    }
}

registered! {
    /// A group for an ephemeral key agreement. Before version 3.5, OpenSSL lacks ML-KEM.
    Group {
        P256 = "secp256r1", "P-256";
        P384 = "secp384r1", "P-384";
        X25519 = "x25519", "X25519";
        X25519MlKem768 = "X25519MLKEM768", "X25519MLKEM768";
    }
}

// A name states the key exchange and the kind of the key before `_WITH_`.
impl Suite {
    /// Returns the version of TLS.
    #[must_use]
    pub fn protocol(self) -> Protocol {
        if self.name().contains("_WITH_") { Protocol::Tls12 } else { Protocol::Tls13 }
    }

    /// Returns whether the suite has RSA key exchange, which lacks forward secrecy.
    #[must_use]
    pub fn is_rsa_key_exchange(self) -> bool {
        self.name().starts_with("TLS_RSA_WITH_")
    }

    /// Returns whether a key of this kind can serve the suite.
    pub(crate) fn suits(self, key: KeyKind) -> bool {
        let needs_ecdsa = self.name().contains("_ECDSA_WITH_");
        self.protocol() == Protocol::Tls13 || needs_ecdsa != key.is_rsa()
    }

    /// The default suites: AES-128-GCM first, ECDSA before RSA, and RSA key exchange last.
    pub(crate) const DEFAULTS: [Self; 11] = [
        Self::Aes128Gcm,
        Self::Aes256Gcm,
        Self::Chacha20,
        Self::EcdheEcdsaAes128Gcm,
        Self::EcdheEcdsaAes256Gcm,
        Self::EcdheEcdsaChacha20,
        Self::EcdheRsaAes128Gcm,
        Self::EcdheRsaAes256Gcm,
        Self::EcdheRsaChacha20,
        Self::RsaAes128Gcm,
        Self::RsaAes128Sha,
    ];
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Parses the IANA name or OpenSSL's.
impl FromStr for Suite {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        find("cipher suite", name, Self::ALL, |suite| [suite.name(), suite.openssl_name()])
    }
}

/// Parses the IANA name or OpenSSL's.
impl FromStr for Group {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        find("group", name, Self::ALL, |group| [group.openssl_name(), group.name()])
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn names_are_read_back_in_both_spellings() {
        for suite in Suite::ALL {
            assert_eq!(suite.name().parse(), Ok(*suite));
            assert_eq!(suite.openssl_name().parse(), Ok(*suite));
        }
        for group in Group::ALL {
            assert_eq!(group.name().parse(), Ok(*group));
            assert_eq!(group.openssl_name().parse(), Ok(*group));
        }
        let unknown = "RC4-MD5".parse::<Suite>().unwrap_err();
        assert!(unknown.starts_with("no cipher suite \"RC4-MD5\" here"), "{unknown}");
    }
}
