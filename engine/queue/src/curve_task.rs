//! The tasks of jobs on curves, and their classes.

use core::fmt;
use std::sync::Arc;

use tollgate_curves::{PublicKey, SecretKey, p256};

use crate::job::Class;

/// The key of a job on a curve, and what cannot be secret of its input.
pub(crate) enum CurveTask {
    Agree {
        secret: Arc<SecretKey>,
        peer: PublicKey,
    },
    /// The input is 32 random bytes and the digest.
    Sign {
        key: Arc<p256::SecretKey>,
    },
}

/// Numbers that no RSA key has as its size in bits.
pub(crate) const CLASS_OF_AGREEMENTS: Class = Class(25519);
pub(crate) const CLASS_OF_SIGNATURES: Class = Class(256);

impl fmt::Debug for CurveTask {
    /// Shows no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agree { .. } => "Agree(..)",
            Self::Sign { .. } => "Sign(..)",
        })
    }
}

impl CurveTask {
    pub(crate) const fn class(&self) -> Class {
        match self {
            Self::Agree { .. } => CLASS_OF_AGREEMENTS,
            Self::Sign { .. } => CLASS_OF_SIGNATURES,
        }
    }

    /// Each handshake has a key of X25519 of its own. If they counted as different keys, the
    /// schedule would prefer handshakes to the operations of an RSA key.
    pub(crate) fn key(&self) -> u64 {
        match self {
            Self::Agree { .. } => CLASS_OF_AGREEMENTS.0,
            Self::Sign { key } => Arc::as_ptr(key).addr() as u64,
        }
    }
}
