//! Topics of subjects as types. Each is written as a path, and every path can be read as a topic.

use core::convert::Infallible;
use core::fmt;
use core::str::FromStr;

/// An enum of known words; any other word is kept as `Other`.
macro_rules! words {
    (
        $(#[$about:meta])*
        $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
            /// Any other word.
            Other(String),
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl FromStr for $name {
            type Err = Infallible;

            fn from_str(word: &str) -> Result<Self, Infallible> {
                Ok(word.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                })
            }
        }
    };
}

words! {
    /// The protocol of a session, with the key exchange.
    Protocol {
        /// TLS 1.3.
        Tls13 = "tls13",
        /// TLS 1.2 with X25519.
        Tls12X25519 = "tls12-x25519",
        /// TLS 1.2 with P-256.
        Tls12P256 = "tls12-p256",
        /// TLS 1.2 with P-384.
        Tls12P384 = "tls12-p384",
        /// TLS 1.2 with Diffie-Hellman in a prime field.
        Tls12Dhe = "tls12-dhe",
        /// TLS 1.2 with RSA key exchange.
        Tls12Rsa = "tls12-rsa",
        /// TLS 1.0 with RSA key exchange, in papers.
        TlsRsa = "tls-rsa",
        /// SSL 3.0 with RSA key exchange, in papers.
        Ssl3Rsa = "ssl3-rsa",
        /// No TLS.
        Http = "http",
    }
}

words! {
    /// An operation with a key.
    Operation {
        /// A signature.
        Sign = "sign",
        /// The check of a signature.
        Verify = "verify",
        /// A public key is read, checks one signature, and is dropped.
        VerifyOnce = "verify-once",
        /// The bare private-key operation.
        Private = "private",
        /// The bare public-key operation.
        Public = "public",
        /// A decryption.
        Decrypt = "decrypt",
        /// A new key pair for a key agreement.
        Generate = "generate",
        /// A shared secret from a secret key and the peer's public key.
        Agree = "agree",
        /// A new secret, encapsulated to the peer's encoded public key (FIPS 203).
        Encaps = "encaps",
        /// The secret of a ciphertext.
        Decaps = "decaps",
    }
}

/// The type and the size of a key: `rsa-2048`, `ecdsa-p256`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// RSA with a modulus of this many bits.
    Rsa(u32),
    /// ECDSA on P-256.
    EcdsaP256,
    /// ECDSA on P-384.
    EcdsaP384,
    /// Ed25519.
    Ed25519,
    /// X25519, for key agreement.
    X25519,
    /// ECDH on P-256.
    EcdhP256,
    /// ML-KEM-768, for key encapsulation.
    MlKem768,
    /// ML-KEM-768 and X25519 together, the group of TLS 1.3.
    X25519MlKem768,
    /// No key.
    None,
    /// Any other word.
    Other(String),
}

impl Key {
    /// Returns the bits of an RSA modulus; `None` for other keys.
    #[must_use]
    pub const fn rsa_bits(&self) -> Option<u32> {
        match self {
            Self::Rsa(bits) => Some(*bits),
            _ => None,
        }
    }
}

impl From<&str> for Key {
    fn from(word: &str) -> Self {
        match word {
            "ecdsa-p256" => Self::EcdsaP256,
            "ecdsa-p384" => Self::EcdsaP384,
            "ed25519" => Self::Ed25519,
            "x25519" => Self::X25519,
            "ecdh-p256" => Self::EcdhP256,
            "ml-kem-768" => Self::MlKem768,
            "x25519mlkem768" => Self::X25519MlKem768,
            "none" => Self::None,
            other => {
                let bits = other.strip_prefix("rsa-").and_then(|bits| bits.parse().ok());
                // `rsa-02048` is kept as `Other`, because `Rsa(2048)` would not be written as it
                // was read.
                let rsa = bits.map(Self::Rsa).filter(|key| key.to_string() == other);
                rsa.unwrap_or_else(|| Self::Other(other.to_owned()))
            }
        }
    }
}

impl FromStr for Key {
    type Err = Infallible;

    fn from_str(word: &str) -> Result<Self, Infallible> {
        Ok(word.into())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rsa(bits) => write!(f, "rsa-{bits}"),
            Self::EcdsaP256 => f.write_str("ecdsa-p256"),
            Self::EcdsaP384 => f.write_str("ecdsa-p384"),
            Self::Ed25519 => f.write_str("ed25519"),
            Self::X25519 => f.write_str("x25519"),
            Self::EcdhP256 => f.write_str("ecdh-p256"),
            Self::MlKem768 => f.write_str("ml-kem-768"),
            Self::X25519MlKem768 => f.write_str("x25519mlkem768"),
            Self::None => f.write_str("none"),
            Self::Other(word) => f.write_str(word),
        }
    }
}

/// The service of sessions, servers and fleets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Sessions of a protocol with a key: `rsa-2048/tls13`.
    Tls {
        /// The server's key.
        key: Key,
        /// The protocol.
        protocol: Protocol,
    },
    /// A suite of a paper, or a figure given on the command line: `tls-rsa-1024-aes-128-gcm`.
    Named(String),
}

impl Service {
    fn new(segments: &[&str]) -> Self {
        match segments {
            [key, protocol] => Self::Tls { key: (*key).into(), protocol: (*protocol).into() },
            other => Self::Named(other.join("/")),
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tls { key, protocol } => write!(f, "{key}/{protocol}"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

words! {
    /// The first segment of a path: the rung that a figure belongs to, or a study outside the
    /// rungs.
    Area {
        /// Rung 0: a bound of a described processor.
        Model = "model",
        /// Rung 1: a kernel.
        Kernel = "kernel",
        /// Rung 2: an operation with a key.
        Operation = "operation",
        /// Rung 3: a session, or a primitive from which sessions are predicted.
        Session = "session",
        /// Rung 4: a server under load.
        Server = "server",
        /// Rung 5: cores, costs and response times for a demand.
        Fleet = "fleet",
        /// The queue of the engine.
        Queue = "engine",
        /// Algorithms for products and exponentiations, for comparison only.
        Variant = "variant",
        /// Programs on a simulated processor.
        Simulation = "simulation",
    }
}

/// The topic of a figure: the path of a [`Subject`](crate::Subject).
///
/// Every path can be read as one of these, and is written exactly as it was read.
///
/// ```
/// use tollgate_record::{Key, Operation, Topic};
///
/// let topic = Topic::from("operation/rsa-2048/sign");
/// assert_eq!(topic, Topic::Operation { key: Key::Rsa(2048), operation: Operation::Sign });
/// assert_eq!(topic.to_string(), "operation/rsa-2048/sign");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// A routine on a described processor: `model/itanium/amm`, `model/itanium/rsa-1024`.
    Model {
        /// The processor, as in its machine file.
        machine: String,
        /// The routine.
        routine: String,
    },
    /// A kernel: `kernel/amm52_mb8_ifma`.
    Kernel(String),
    /// An algorithm for a product or an exponentiation: `variant/amm64_cios`.
    Variant(String),
    /// An operation: `operation/rsa-2048/sign`.
    Operation {
        /// The key.
        key: Key,
        /// The operation.
        operation: Operation,
    },
    /// An operation through the engine's queue: `engine/rsa-2048/sign`.
    Queue {
        /// The key.
        key: Key,
        /// The operation.
        operation: Operation,
    },
    /// A session: `session/rsa-2048/tls13`.
    Session(Service),
    /// A primitive from which sessions are predicted: `session/primitive/x25519/agree`. The text
    /// follows `session/primitive/`.
    Primitive(String),
    /// A server under load: `server/rsa-2048/tls13`.
    Server(Service),
    /// Servers for a demand: `fleet/rsa-2048/tls13`.
    Fleet(Service),
    /// A routine on a simulated processor: `simulation/leon-2/fips`.
    Simulation {
        /// The processor.
        processor: String,
        /// The routine.
        routine: String,
    },
    /// Any other path.
    Other(String),
}

impl Topic {
    /// Returns the area that the path begins with.
    #[must_use]
    pub fn area(&self) -> Area {
        match self {
            Self::Model { .. } => Area::Model,
            Self::Kernel(_) => Area::Kernel,
            Self::Variant(_) => Area::Variant,
            Self::Operation { .. } => Area::Operation,
            Self::Queue { .. } => Area::Queue,
            Self::Session(_) | Self::Primitive(_) => Area::Session,
            Self::Server(_) => Area::Server,
            Self::Fleet(_) => Area::Fleet,
            Self::Simulation { .. } => Area::Simulation,
            Self::Other(path) => path.split('/').next().unwrap_or(path).into(),
        }
    }

    /// Returns the service of a session, a server or a fleet.
    #[must_use]
    pub const fn service(&self) -> Option<&Service> {
        match self {
            Self::Session(service) | Self::Server(service) | Self::Fleet(service) => Some(service),
            _ => None,
        }
    }

    /// Returns the key of an operation or a service.
    #[must_use]
    pub const fn key(&self) -> Option<&Key> {
        match self {
            Self::Operation { key, .. } | Self::Queue { key, .. } => Some(key),
            _ => match self.service() {
                Some(Service::Tls { key, .. }) => Some(key),
                _ => None,
            },
        }
    }

    /// Returns the protocol of a service.
    #[must_use]
    pub const fn protocol(&self) -> Option<&Protocol> {
        match self.service() {
            Some(Service::Tls { protocol, .. }) => Some(protocol),
            _ => None,
        }
    }

    /// Returns the name of a kernel or a variant.
    #[must_use]
    pub fn kernel(&self) -> Option<&str> {
        match self {
            Self::Kernel(name) | Self::Variant(name) => Some(name),
            _ => None,
        }
    }
}

impl From<&str> for Topic {
    fn from(path: &str) -> Self {
        let segments: Vec<&str> = path.split('/').collect();
        match segments.as_slice() {
            ["model", machine, routine] => {
                Self::Model { machine: (*machine).to_owned(), routine: (*routine).to_owned() }
            }
            ["kernel", name] => Self::Kernel((*name).to_owned()),
            ["variant", name] => Self::Variant((*name).to_owned()),
            ["operation", key, operation] => {
                Self::Operation { key: (*key).into(), operation: (*operation).into() }
            }
            ["engine", key, operation] => {
                Self::Queue { key: (*key).into(), operation: (*operation).into() }
            }
            ["session", "primitive", first, rest @ ..] => {
                Self::Primitive([&[*first], rest].concat().join("/"))
            }
            ["session", service @ ..] if !service.is_empty() => {
                Self::Session(Service::new(service))
            }
            ["server", service @ ..] if !service.is_empty() => Self::Server(Service::new(service)),
            ["fleet", service @ ..] if !service.is_empty() => Self::Fleet(Service::new(service)),
            ["simulation", processor, routine] => Self::Simulation {
                processor: (*processor).to_owned(),
                routine: (*routine).to_owned(),
            },
            _ => Self::Other(path.to_owned()),
        }
    }
}

impl FromStr for Topic {
    type Err = Infallible;

    fn from_str(path: &str) -> Result<Self, Infallible> {
        Ok(path.into())
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { machine, routine } => write!(f, "model/{machine}/{routine}"),
            Self::Kernel(name) => write!(f, "kernel/{name}"),
            Self::Variant(name) => write!(f, "variant/{name}"),
            Self::Operation { key, operation } => write!(f, "operation/{key}/{operation}"),
            Self::Queue { key, operation } => write!(f, "engine/{key}/{operation}"),
            Self::Session(service) => write!(f, "session/{service}"),
            Self::Primitive(name) => write!(f, "session/primitive/{name}"),
            Self::Server(service) => write!(f, "server/{service}"),
            Self::Fleet(service) => write!(f, "fleet/{service}"),
            Self::Simulation { processor, routine } => {
                write!(f, "simulation/{processor}/{routine}")
            }
            Self::Other(path) => f.write_str(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_written_as_it_was_read() {
        for path in [
            "model/itanium/amm",
            "model/itanium/rsa-1024",
            "kernel/amm52_mb8_ifma",
            "variant/amm64_cios",
            "operation/rsa-2048/sign",
            "operation/ecdsa-p256/verify",
            "operation/x25519/agree",
            "operation/ecdh-p256/generate",
            "operation/ml-kem-768/encaps",
            "operation/x25519mlkem768/decaps",
            "operation/rsa-1024/private",
            "operation/ed448/sign",
            "engine/rsa-2048/sign",
            "session/rsa-2048/tls13",
            "session/primitive/in-memory/rsa-2048/tls13",
            "session/primitive/sha-256",
            "server/rsa-1024/ssl3-rsa",
            "server/none/http",
            "server/session",
            "fleet/tls-rsa-1024-aes-128-cbc-sha1",
            "fleet/rsa-3072/tls12-x25519",
            "simulation/leon-2/fips",
        ] {
            let topic = Topic::from(path);
            assert!(!matches!(topic, Topic::Other(_)), "{path} is not known");
            assert_eq!(topic.to_string(), path);
            assert_eq!(topic.area().to_string(), path.split('/').next().unwrap_or_default());
        }
        for path in ["clock", "server", "session/primitive", "kernel/a/b", "operation/x", "a/b/c"] {
            assert_eq!(Topic::from(path).to_string(), path);
        }
    }

    #[test]
    fn only_the_plain_spelling_of_a_size_is_an_rsa_key() {
        assert_eq!(Key::from("rsa-2048"), Key::Rsa(2048));
        for other in ["rsa-02048", "rsa-+1", "rsa-", "rsa-99999999999", "rsa-2048-pss"] {
            assert_eq!(Key::from(other), Key::Other(other.to_owned()));
            assert_eq!(Key::from(other).to_string(), other);
        }
    }
}
