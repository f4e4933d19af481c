//! What a handshake is made of: suites, groups, signature schemes.

use core::fmt;

use crate::wire::{TLS12, TLS13};

/// A cipher suite together with the protocol version it belongs to. A client offers exactly one, so
/// that a measurement knows what it measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// TLS 1.2, RSA key exchange: the client encrypts the premaster secret to the certificate.
    Tls12Rsa,
    /// TLS 1.2, ephemeral Diffie-Hellman on a curve, signed with RSA.
    Tls12EcdheRsa,
    /// TLS 1.3.
    Tls13,
}

impl Suite {
    /// Every suite.
    pub const ALL: [Self; 3] = [Self::Tls12Rsa, Self::Tls12EcdheRsa, Self::Tls13];

    /// The registered name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tls12Rsa => "TLS_RSA_WITH_AES_128_GCM_SHA256",
            Self::Tls12EcdheRsa => "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            Self::Tls13 => "TLS_AES_128_GCM_SHA256",
        }
    }

    /// The number on the wire.
    pub const fn number(self) -> u16 {
        match self {
            Self::Tls12Rsa => 0x009C,
            Self::Tls12EcdheRsa => 0xC02F,
            Self::Tls13 => 0x1301,
        }
    }

    /// `TLSv1.2` or `TLSv1.3`, as servers log it.
    pub const fn version(self) -> &'static str {
        if self.is_tls13() { "TLSv1.3" } else { "TLSv1.2" }
    }

    pub(crate) const fn is_tls13(self) -> bool {
        matches!(self, Self::Tls13)
    }

    pub(crate) const fn wire_version(self) -> u16 {
        if self.is_tls13() { TLS13 } else { TLS12 }
    }

    /// Whether the keys come from an agreement on a curve.
    pub const fn has_group(self) -> bool {
        !matches!(self, Self::Tls12Rsa)
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A group for key agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// NIST P-256, uncompressed points of 65 bytes.
    P256,
    /// Curve25519, keys of 32 bytes.
    X25519,
}

impl Group {
    /// Every group.
    pub const ALL: [Self; 2] = [Self::P256, Self::X25519];

    /// The registered name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P256 => "secp256r1",
            Self::X25519 => "x25519",
        }
    }

    /// The number on the wire.
    pub const fn number(self) -> u16 {
        match self {
            Self::P256 => 23,
            Self::X25519 => 29,
        }
    }

    pub(crate) fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.number() == number)
    }

    /// Bytes of a public key on the wire.
    pub(crate) const fn public_bytes(self) -> usize {
        match self {
            Self::P256 => 65,
            Self::X25519 => 32,
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An RSA signature scheme (RFC 8446 §4.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignatureScheme {
    /// RSASSA-PSS with SHA-256.
    PssSha256,
    /// RSASSA-PSS with SHA-384.
    PssSha384,
    /// RSASSA-PSS with SHA-512.
    PssSha512,
    /// RSASSA-PKCS1-v1_5 with SHA-256; TLS 1.2 only.
    Pkcs1Sha256,
    /// RSASSA-PKCS1-v1_5 with SHA-384; TLS 1.2 only.
    Pkcs1Sha384,
    /// RSASSA-PKCS1-v1_5 with SHA-512; TLS 1.2 only.
    Pkcs1Sha512,
}

impl SignatureScheme {
    /// Every scheme, in the order in which a client offers them.
    pub const ALL: [Self; 6] = [
        Self::PssSha256,
        Self::PssSha384,
        Self::PssSha512,
        Self::Pkcs1Sha256,
        Self::Pkcs1Sha384,
        Self::Pkcs1Sha512,
    ];

    /// The registered name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PssSha256 => "rsa_pss_rsae_sha256",
            Self::PssSha384 => "rsa_pss_rsae_sha384",
            Self::PssSha512 => "rsa_pss_rsae_sha512",
            Self::Pkcs1Sha256 => "rsa_pkcs1_sha256",
            Self::Pkcs1Sha384 => "rsa_pkcs1_sha384",
            Self::Pkcs1Sha512 => "rsa_pkcs1_sha512",
        }
    }

    /// The number on the wire.
    pub const fn number(self) -> u16 {
        match self {
            Self::PssSha256 => 0x0804,
            Self::PssSha384 => 0x0805,
            Self::PssSha512 => 0x0806,
            Self::Pkcs1Sha256 => 0x0401,
            Self::Pkcs1Sha384 => 0x0501,
            Self::Pkcs1Sha512 => 0x0601,
        }
    }

    pub(crate) fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.number() == number)
    }

    pub(crate) const fn is_pss(self) -> bool {
        matches!(self, Self::PssSha256 | Self::PssSha384 | Self::PssSha512)
    }
}

impl fmt::Display for SignatureScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
