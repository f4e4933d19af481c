//! Cipher suites: one row each.

use core::fmt;

use crate::hash::Hash;

/// A cipher suite with its protocol version. A client offers exactly one suite, so each measurement
/// covers one suite.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Suite {
    number: u16,
    name: &'static str,
    exchange: KeyExchange,
    cipher: Cipher,
    hash: Hash,
}

/// Key exchange methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyExchange {
    /// TLS 1.2: the client encrypts the premaster secret to the certificate's RSA key.
    Rsa,
    /// TLS 1.2: ephemeral Diffie-Hellman on a curve, signed with RSA.
    EcdheRsa,
    /// TLS 1.2: ephemeral Diffie-Hellman on a curve, signed with ECDSA or Ed25519.
    EcdheEcdsa,
    /// TLS 1.3, which negotiates group and signature separately.
    Tls13,
}

/// Record ciphers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cipher {
    /// AES-128 in Galois/Counter Mode.
    Aes128Gcm,
    /// AES-256 in Galois/Counter Mode.
    Aes256Gcm,
    /// `ChaCha20` with Poly1305.
    ChaCha20Poly1305,
    /// AES-128 in CBC mode, with HMAC-SHA1.
    Aes128Cbc,
    /// AES-256 in CBC mode, with HMAC-SHA1.
    Aes256Cbc,
    /// Triple DES in CBC mode, with HMAC-SHA1.
    TripleDesCbc,
    /// RC4, with HMAC-SHA1.
    Rc4,
}

impl Cipher {
    /// The length in bytes of the nonce of an AEAD.
    pub(crate) const NONCE_BYTES: usize = 12;

    /// Returns the length of the key in bytes.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::Aes128Gcm | Self::Aes128Cbc | Self::Rc4 => 16,
            Self::TripleDesCbc => 24,
            Self::Aes256Gcm | Self::Aes256Cbc | Self::ChaCha20Poly1305 => 32,
        }
    }

    /// Returns the length in bytes of the IV in the key block of TLS 1.2.
    pub const fn iv_bytes(self) -> usize {
        match self {
            Self::Aes128Gcm | Self::Aes256Gcm => 4,
            Self::ChaCha20Poly1305 => Self::NONCE_BYTES,
            // each CBC record carries its own IV, and RC4 has none
            Self::Aes128Cbc | Self::Aes256Cbc | Self::TripleDesCbc | Self::Rc4 => 0,
        }
    }

    /// Returns the hash function of the HMAC; `None` for an AEAD.
    pub const fn mac(self) -> Option<Hash> {
        match self {
            Self::Aes128Gcm | Self::Aes256Gcm | Self::ChaCha20Poly1305 => None,
            Self::Aes128Cbc | Self::Aes256Cbc | Self::TripleDesCbc | Self::Rc4 => Some(Hash::Sha1),
        }
    }

    /// Returns the block length in bytes of a block cipher in CBC mode, which is also that of its
    /// IV.
    pub const fn block_bytes(self) -> Option<usize> {
        match self {
            Self::Aes128Cbc | Self::Aes256Cbc => Some(16),
            Self::TripleDesCbc => Some(8),
            _ => None,
        }
    }

    /// Returns whether the cipher is a block cipher in CBC mode, for encrypt-then-MAC (RFC 7366).
    pub const fn is_cbc(self) -> bool {
        self.block_bytes().is_some()
    }
}

macro_rules! suites {
    ($($name:ident = $number:literal $exchange:ident, $cipher:expr, $hash:expr;)*) => {
        impl Suite {
            $(
                #[doc = concat!("`", stringify!($name), "` (", stringify!($number), ").")]
                pub const $name: Self = Self {
                    number: $number,
                    name: stringify!($name),
                    exchange: KeyExchange::$exchange,
                    cipher: $cipher,
                    hash: $hash,
                };
            )*

            /// Every suite, in the order of this table.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$name),*];
        }
    };
}

use Cipher::{Aes128Cbc, Aes128Gcm, Aes256Cbc, Aes256Gcm, ChaCha20Poly1305, Rc4, TripleDesCbc};
use Hash::{Sha256, Sha384};

suites! {
    TLS_RSA_WITH_RC4_128_SHA = 0x0005 Rsa, Rc4, Sha256;
    TLS_RSA_WITH_3DES_EDE_CBC_SHA = 0x000A Rsa, TripleDesCbc, Sha256;
    TLS_RSA_WITH_AES_128_CBC_SHA = 0x002F Rsa, Aes128Cbc, Sha256;
    TLS_RSA_WITH_AES_256_CBC_SHA = 0x0035 Rsa, Aes256Cbc, Sha256;
    TLS_RSA_WITH_AES_128_GCM_SHA256 = 0x009C Rsa, Aes128Gcm, Sha256;
    TLS_RSA_WITH_AES_256_GCM_SHA384 = 0x009D Rsa, Aes256Gcm, Sha384;
    TLS_ECDHE_RSA_WITH_RC4_128_SHA = 0xC011 EcdheRsa, Rc4, Sha256;
    TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA = 0xC012 EcdheRsa, TripleDesCbc, Sha256;
    TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA = 0xC013 EcdheRsa, Aes128Cbc, Sha256;
    TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA = 0xC014 EcdheRsa, Aes256Cbc, Sha256;
    TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 = 0xC02F EcdheRsa, Aes128Gcm, Sha256;
    TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 = 0xC030 EcdheRsa, Aes256Gcm, Sha384;
    TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 = 0xCCA8 EcdheRsa, ChaCha20Poly1305, Sha256;
    TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA = 0xC009 EcdheEcdsa, Aes128Cbc, Sha256;
    TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA = 0xC00A EcdheEcdsa, Aes256Cbc, Sha256;
    TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 = 0xC02B EcdheEcdsa, Aes128Gcm, Sha256;
    TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 = 0xC02C EcdheEcdsa, Aes256Gcm, Sha384;
    TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 = 0xCCA9 EcdheEcdsa, ChaCha20Poly1305, Sha256;
    TLS_AES_128_GCM_SHA256 = 0x1301 Tls13, Aes128Gcm, Sha256;
    TLS_AES_256_GCM_SHA384 = 0x1302 Tls13, Aes256Gcm, Sha384;
    TLS_CHACHA20_POLY1305_SHA256 = 0x1303 Tls13, ChaCha20Poly1305, Sha256;
}

impl Suite {
    /// Returns the suite with a registered name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|suite| suite.name == name)
    }

    /// Returns the registered name.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Returns the number on the wire.
    pub const fn number(self) -> u16 {
        self.number
    }

    /// Returns the key exchange method.
    pub const fn exchange(self) -> KeyExchange {
        self.exchange
    }

    /// Returns the record cipher.
    pub const fn cipher(self) -> Cipher {
        self.cipher
    }

    /// Returns the hash function of transcript and key derivation.
    pub const fn hash(self) -> Hash {
        self.hash
    }

    /// Returns `TLSv1.2` or `TLSv1.3`, as servers log it.
    pub const fn version(self) -> &'static str {
        if self.is_tls13() { "TLSv1.3" } else { "TLSv1.2" }
    }

    /// Returns whether the suite belongs to TLS 1.3.
    pub const fn is_tls13(self) -> bool {
        matches!(self.exchange, KeyExchange::Tls13)
    }

    /// Returns whether the suite has a key agreement in a group.
    pub const fn has_group(self) -> bool {
        !matches!(self.exchange, KeyExchange::Rsa)
    }
}

impl fmt::Debug for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
