//! Groups for key agreement.

use crate::registry::registry;
use crate::suite::{KeyExchange, Suite};

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
        Ffdhe2048 = 256 "ffdhe2048";
        Ffdhe3072 = 257 "ffdhe3072";
        Ffdhe4096 = 258 "ffdhe4096";
    }
}

impl Group {
    /// Bytes of a client's public key on the wire.
    pub(crate) const fn public_bytes(self) -> usize {
        match self {
            Self::P256 => 65,
            Self::P384 => 97,
            Self::X25519 => 32,
            Self::X25519MlKem768 => 1184 + 32,
            Self::Ffdhe2048 => 256,
            Self::Ffdhe3072 => 384,
            Self::Ffdhe4096 => 512,
        }
    }

    /// Whether it fits a suite; every group fits a suite without key agreement.
    pub const fn serves(self, suite: Suite) -> bool {
        match suite.exchange() {
            KeyExchange::Tls13 => true,
            KeyExchange::Rsa | KeyExchange::EcdheRsa | KeyExchange::EcdheEcdsa => {
                matches!(self, Self::P256 | Self::P384 | Self::X25519)
            }
            KeyExchange::DheRsa => {
                matches!(self, Self::Ffdhe2048 | Self::Ffdhe3072 | Self::Ffdhe4096)
            }
        }
    }
}
