//! Groups and signature schemes: names and numbers of the registries of TLS, one row each.

use crate::suite::{KeyExchange, Suite};

/// An enumeration whose entries have a registered number and name.
macro_rules! registry {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$row_doc:meta])* $entry:ident = $number:literal $text:literal;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $(
                #[doc = concat!("`", $text, "` (", stringify!($number), ").")]
                $(#[$row_doc])*
                $entry,
            )*
        }

        impl $name {
            /// Every entry, in the order of this table.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$entry),*];

            /// Returns the registered name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$entry => $text,)*
                }
            }

            /// Returns the number on the wire.
            pub const fn number(self) -> u16 {
                match self {
                    $(Self::$entry => $number,)*
                }
            }

            /// Returns the entry with a registered name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|entry| entry.name() == name)
            }

            pub(crate) fn from_number(number: u16) -> Option<Self> {
                Self::ALL.into_iter().find(|entry| entry.number() == number)
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

registry! {
    /// A group for key agreement.
    Group {
        /// Uncompressed points.
        P256 = 23 "secp256r1";
        /// Uncompressed points.
        P384 = 24 "secp384r1";
        X25519 = 29 "x25519";
        /// ML-KEM-768 and X25519 together (draft-ietf-tls-ecdhe-mlkem); TLS 1.3 only.
        X25519MlKem768 = 4588 "X25519MLKEM768";
    }
}

impl Group {
    /// Returns the length in bytes of a client's public key on the wire.
    pub(crate) const fn public_bytes(self) -> usize {
        match self {
            Self::P256 => 65,
            Self::P384 => 97,
            Self::X25519 => 32,
            Self::X25519MlKem768 => 1184 + 32,
        }
    }

    /// Returns whether the server encapsulates the secret to the client's public key, and has no
    /// key pair of its own.
    #[must_use]
    pub const fn is_kem(self) -> bool {
        matches!(self, Self::X25519MlKem768)
    }

    /// Returns whether the group fits a suite; every group fits a suite without key agreement.
    pub const fn serves(self, suite: Suite) -> bool {
        match suite.exchange() {
            KeyExchange::Tls13 => true,
            KeyExchange::Rsa | KeyExchange::EcdheRsa | KeyExchange::EcdheEcdsa => {
                matches!(self, Self::P256 | Self::P384 | Self::X25519)
            }
        }
    }
}

registry! {
    /// A signature scheme (RFC 8446 §4.2.3).
    SignatureScheme {
        PssSha256 = 0x0804 "rsa_pss_rsae_sha256";
        PssSha384 = 0x0805 "rsa_pss_rsae_sha384";
        PssSha512 = 0x0806 "rsa_pss_rsae_sha512";
        /// TLS 1.2 only.
        Pkcs1Sha256 = 0x0401 "rsa_pkcs1_sha256";
        /// TLS 1.2 only.
        Pkcs1Sha384 = 0x0501 "rsa_pkcs1_sha384";
        /// TLS 1.2 only.
        Pkcs1Sha512 = 0x0601 "rsa_pkcs1_sha512";
        /// In TLS 1.2 with a key on any curve.
        EcdsaSha256 = 0x0403 "ecdsa_secp256r1_sha256";
        /// In TLS 1.2 with a key on any curve.
        EcdsaSha384 = 0x0503 "ecdsa_secp384r1_sha384";
        Ed25519 = 0x0807 "ed25519";
    }
}

impl SignatureScheme {
    /// Schemes of RSA keys.
    pub const RSA: [Self; 6] = [
        Self::PssSha256,
        Self::PssSha384,
        Self::PssSha512,
        Self::Pkcs1Sha256,
        Self::Pkcs1Sha384,
        Self::Pkcs1Sha512,
    ];

    /// Schemes of elliptic-curve keys.
    pub const CURVES: [Self; 3] = [Self::EcdsaSha256, Self::EcdsaSha384, Self::Ed25519];

    /// Returns whether TLS 1.3 allows the scheme in a handshake (RFC 8446 §4.4.3).
    pub(crate) const fn signs_tls13(self) -> bool {
        !matches!(self, Self::Pkcs1Sha256 | Self::Pkcs1Sha384 | Self::Pkcs1Sha512)
    }
}
