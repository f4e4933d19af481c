//! The kinds of engines and of keys.

use core::ffi::CStr;
use core::fmt;
use core::str::FromStr;

use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Private};

/// Finds the value with this name. Each value has N names. If no value has the name, the error
/// lists the last name of each value.
pub(crate) fn find<T: Copy, S: Into<String>, const N: usize>(
    what: &str,
    name: &str,
    all: &[T],
    names: impl Fn(T) -> [S; N],
) -> Result<T, String> {
    let names = |value: &T| names(*value).map(Into::into);
    let found = all.iter().find(|value| names(value).iter().any(|known| known == name));
    found.copied().ok_or_else(|| {
        let known = all.iter().filter_map(|value| names(value).into_iter().last());
        format!("no {what} {name:?} here: choose from {}", known.collect::<Vec<_>>().join(", "))
    })
}

/// The implementation of a server's private-key operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// OpenSSL's default provider.
    OpenSsl,
    /// The provider of crate `tollgate-provider`, linked in, for RSA keys. For keys on P-256 too,
    /// if the processor has AVX-512 IFMA, or AVX2, BMI2 and ADX.
    Tollgate,
}

impl Engine {
    /// Returns the name in flags, logs and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenSsl => "openssl",
            Self::Tollgate => "tollgate",
        }
    }

    /// Returns the name of the engine's provider in OpenSSL.
    pub(crate) const fn provider(self) -> &'static str {
        match self {
            Self::OpenSsl => "default",
            Self::Tollgate => "tollgate",
        }
    }

    /// Returns the property query for all fetches.
    pub(crate) const fn query(self) -> &'static CStr {
        match self {
            Self::OpenSsl => c"provider=default",
            // Optional: digests, curves and ciphers come from the default provider.
            Self::Tollgate => c"?provider=tollgate",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        find("engine", name, &[Self::OpenSsl, Self::Tollgate], |engine| [engine.name()])
    }
}

/// The kind of a server's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// ECDSA on P-256, "ecdsa-p256".
    EcdsaP256,
    /// ECDSA on P-384, "ecdsa-p384".
    EcdsaP384,
    /// Ed25519, "ed25519".
    Ed25519,
    /// RSA, "rsa-2048".
    Rsa {
        /// The size of the modulus in bits; self-signed certificates have 1024, 2048, 3072 or 4096.
        bits: u32,
    },
}

impl KeyKind {
    /// The kinds that [`Certificate::SelfSigned`](crate::Certificate::SelfSigned) generates.
    pub const SELF_SIGNED: [Self; 6] = [
        Self::Rsa { bits: 2048 },
        Self::Rsa { bits: 3072 },
        Self::Rsa { bits: 4096 },
        Self::EcdsaP256,
        Self::EcdsaP384,
        Self::Ed25519,
    ];

    /// RSA-1024, as servers used in 2001: insecure, and for comparisons with papers only.
    pub const OF_2001: Self = Self::Rsa { bits: 1024 };

    /// Returns the kind of a key; `None` if it is not supported.
    pub(crate) fn new(key: &PKey<Private>) -> Option<Self> {
        match key.id() {
            Id::RSA => Some(Self::Rsa { bits: key.bits() }),
            Id::EC => match key.ec_key().ok()?.group().curve_name()? {
                Nid::X9_62_PRIME256V1 => Some(Self::EcdsaP256),
                Nid::SECP384R1 => Some(Self::EcdsaP384),
                _ => None,
            },
            Id::ED25519 => Some(Self::Ed25519),
            _ => None,
        }
    }

    /// Returns OpenSSL's number of the algorithm.
    pub(crate) const fn id(self) -> Id {
        match self {
            Self::EcdsaP256 | Self::EcdsaP384 => Id::EC,
            Self::Ed25519 => Id::ED25519,
            Self::Rsa { .. } => Id::RSA,
        }
    }

    /// Returns whether the key is an RSA key.
    #[must_use]
    pub const fn is_rsa(self) -> bool {
        matches!(self, Self::Rsa { .. })
    }

    /// Returns OpenSSL's name of the digest of the key's signatures; `None` if the signature has
    /// none of its own.
    #[must_use]
    pub const fn digest(self) -> Option<&'static CStr> {
        match self {
            Self::EcdsaP256 | Self::Rsa { .. } => Some(c"SHA256"),
            Self::EcdsaP384 => Some(c"SHA384"),
            Self::Ed25519 => None,
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EcdsaP256 => f.write_str("ecdsa-p256"),
            Self::EcdsaP384 => f.write_str("ecdsa-p384"),
            Self::Ed25519 => f.write_str("ed25519"),
            Self::Rsa { bits } => write!(f, "rsa-{bits}"),
        }
    }
}

/// Parses a kind that [`Certificate::SelfSigned`](crate::Certificate::SelfSigned) generates.
impl FromStr for KeyKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        find("key", name, &Self::SELF_SIGNED, |kind| [kind.to_string()])
    }
}
