//! Signature schemes.

use crate::registry::registry;

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

    /// Whether TLS 1.3 allows it in a handshake (RFC 8446 §4.4.3).
    pub(crate) const fn signs_tls13(self) -> bool {
        !matches!(self, Self::Pkcs1Sha256 | Self::Pkcs1Sha384 | Self::Pkcs1Sha512)
    }
}
