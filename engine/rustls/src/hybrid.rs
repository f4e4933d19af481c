//! The group X25519MLKEM768 for rustls, with X25519 on the engine.

use rustls::crypto::aws_lc_rs::kx_group::MLKEM768;
use rustls::crypto::{ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, ProtocolVersion};

use crate::key_exchange::{X25519Group, invalid};

/// The group X25519MLKEM768 (draft-ietf-tls-ecdhe-mlkem, section 4): ML-KEM-768 of aws-lc-rs, and
/// X25519 on the engine's kernels. In key shares and in secrets, the part of ML-KEM comes first.
#[derive(Clone, Copy, Debug)]
pub struct X25519MlKem768Group;

/// Bytes of ML-KEM-768 in a client's key share, its encapsulation key, and in a server's, a
/// ciphertext (FIPS 203, table 3).
const CLIENT_BYTES: usize = 1184;
const SERVER_BYTES: usize = 1088;
/// Bytes of X25519 in either.
const X25519_BYTES: usize = 32;

/// Splits a key share.
fn split(share: &[u8], bytes: usize) -> Result<(&[u8], &[u8]), Error> {
    let parts = share.split_at_checked(bytes);
    parts.filter(|(_, x25519)| x25519.len() == X25519_BYTES).ok_or_else(invalid)
}

fn joined(ml_kem: &SharedSecret, x25519: &SharedSecret) -> SharedSecret {
    SharedSecret::from([ml_kem.secret_bytes(), x25519.secret_bytes()].concat())
}

impl SupportedKxGroup for X25519MlKem768Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let (ml_kem, x25519) = (MLKEM768.start()?, X25519Group.start()?);
        let share = [ml_kem.pub_key(), x25519.pub_key()].concat();
        Ok(Box::new(Exchange { ml_kem, x25519, share }))
    }

    fn start_and_complete(&self, peer: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let (ml_kem, x25519) = split(peer, CLIENT_BYTES)?;
        let x25519 = X25519Group.start_and_complete(x25519)?;
        let ml_kem = MLKEM768.start_and_complete(ml_kem)?;
        Ok(CompletedKeyExchange {
            group: self.name(),
            pub_key: [ml_kem.pub_key, x25519.pub_key].concat(),
            secret: joined(&ml_kem.secret, &x25519.secret),
        })
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

/// A client's exchange that waits for the server's share.
struct Exchange {
    ml_kem: Box<dyn ActiveKeyExchange>,
    x25519: Box<dyn ActiveKeyExchange>,
    share: Vec<u8>,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let (ml_kem, x25519) = split(peer, SERVER_BYTES)?;
        let x25519 = self.x25519.complete(x25519)?;
        Ok(joined(&self.ml_kem.complete(ml_kem)?, &x25519))
    }

    /// A client offers its key of X25519 for servers without ML-KEM too.
    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        Some((self.x25519.group(), self.x25519.pub_key()))
    }

    fn complete_hybrid_component(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        self.x25519.complete(peer)
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}
