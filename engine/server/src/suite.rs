//! Cipher suites, groups and protocol versions.

use core::fmt;
use core::str::FromStr;

use crate::kinds::KeyKind;
use crate::unknown_name::UnknownName;

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// TLS 1.2, RFC 5246.
    Tls12,
    /// TLS 1.3, RFC 8446.
    Tls13,
}

/// The key exchange and authentication of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exchange {
    /// Ephemeral ECDH, signed by an ECDSA key.
    EcdheEcdsa,
    /// Ephemeral ECDH, signed by an RSA key.
    EcdheRsa,
    /// The client's secret is encrypted to the RSA key; no forward secrecy.
    Rsa,
    /// TLS 1.3: not part of the suite.
    Tls13,
}

macro_rules! suites {
    ($($suite:ident, $exchange:ident, $iana:literal, $openssl:literal;)*) => {
        /// A cipher suite, by its name in the IANA registry.
        ///
        /// Suites of TLS 1.2 include the key exchange, those of TLS 1.3 do not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Suite {
            $(#[doc = concat!("`", $iana, "`")] $suite,)*
        }

        impl Suite {
            /// All supported suites.
            pub const ALL: &[Self] = &[$(Self::$suite,)*];

            /// Returns the name in the IANA registry, which is also used in the access log.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$suite => $iana,)* }
            }

            /// Returns OpenSSL's name, which is the IANA name for TLS 1.3.
            #[must_use]
            pub const fn openssl_name(self) -> &'static str {
                match self { $(Self::$suite => $openssl,)* }
            }

            const fn exchange(self) -> Exchange {
                match self { $(Self::$suite => Exchange::$exchange,)* }
            }
        }
    };
}

suites! {
    Aes128Gcm, Tls13, "TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256";
    Aes256Gcm, Tls13, "TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384";
    Chacha20, Tls13, "TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256";
    EcdheEcdsaAes128Gcm, EcdheEcdsa,
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256";
    EcdheEcdsaAes256Gcm, EcdheEcdsa,
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384";
    EcdheEcdsaChacha20, EcdheEcdsa,
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305";
    EcdheRsaAes128Gcm, EcdheRsa,
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256";
    EcdheRsaAes256Gcm, EcdheRsa,
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384";
    EcdheRsaChacha20, EcdheRsa,
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305";
    EcdheRsaAes128Sha, EcdheRsa,
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA";
    RsaAes128Gcm, Rsa, "TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256";
    RsaAes256Gcm, Rsa, "TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384";
    RsaAes128Sha, Rsa, "TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA";
    RsaAes256Sha, Rsa, "TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA";
}

impl Suite {
    /// Returns the version of TLS.
    #[must_use]
    pub const fn protocol(self) -> Protocol {
        match self.exchange() {
            Exchange::Tls13 => Protocol::Tls13,
            _ => Protocol::Tls12,
        }
    }

    /// Returns whether the suite has RSA key exchange, which lacks forward secrecy.
    #[must_use]
    pub fn is_rsa_key_exchange(self) -> bool {
        self.exchange() == Exchange::Rsa
    }

    /// Returns whether a key of this kind can serve the suite.
    pub(crate) fn suits(self, key: KeyKind) -> bool {
        match self.exchange() {
            Exchange::EcdheEcdsa => key == KeyKind::EcdsaP256,
            Exchange::EcdheRsa | Exchange::Rsa => matches!(key, KeyKind::Rsa { .. }),
            Exchange::Tls13 => true,
        }
    }

    /// Returns the default suites: AES-128-GCM first, no CBC, and RSA key exchange last and only if
    /// allowed.
    pub(crate) fn defaults(allow_rsa_kx: bool) -> Vec<Self> {
        let mut suites = vec![
            Self::Aes128Gcm,
            Self::Aes256Gcm,
            Self::Chacha20,
            Self::EcdheRsaAes128Gcm,
            Self::EcdheRsaAes256Gcm,
            Self::EcdheRsaChacha20,
            Self::EcdheEcdsaAes128Gcm,
            Self::EcdheEcdsaAes256Gcm,
            Self::EcdheEcdsaChacha20,
        ];
        if allow_rsa_kx {
            suites.extend([Self::RsaAes128Gcm, Self::RsaAes128Sha]);
        }
        suites
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Parses the IANA name or OpenSSL's.
impl FromStr for Suite {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        UnknownName::find("cipher suite", name, Self::ALL, |it| [it.name(), it.openssl_name()])
    }
}

/// A group for ephemeral Diffie-Hellman, by its name in the IANA registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// `secp256r1`, also called P-256.
    P256,
    /// `secp384r1`, also called P-384.
    P384,
    /// `x25519`, RFC 7748.
    X25519,
}

impl Group {
    /// All supported groups.
    pub const ALL: &[Self] = &[Self::P256, Self::P384, Self::X25519];

    /// Returns the name in the IANA registry, which is also used in the access log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::P256 => "secp256r1",
            Self::P384 => "secp384r1",
            Self::X25519 => "x25519",
        }
    }

    pub(crate) const fn openssl_name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::X25519 => "X25519",
        }
    }
}

/// Parses the IANA name or OpenSSL's.
impl FromStr for Group {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        UnknownName::find("group", name, Self::ALL, |it| [it.openssl_name(), it.name()])
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
        let unknown = "RC4-MD5".parse::<Suite>().unwrap_err().to_string();
        assert!(unknown.starts_with("no cipher suite \"RC4-MD5\" here"), "{unknown}");
    }

    #[test]
    fn rsa_key_exchange_is_never_a_default() {
        assert!(!Suite::defaults(false).iter().any(|suite| suite.is_rsa_key_exchange()));
        assert!(Suite::defaults(true).iter().any(|suite| suite.is_rsa_key_exchange()));
        assert_eq!(Suite::defaults(false)[0], Suite::Aes128Gcm);
    }
}
