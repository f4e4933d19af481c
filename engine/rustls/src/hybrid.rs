//! The group X25519MLKEM768 for rustls.

use rustls::crypto::{
    ActiveKeyExchange, CompletedKeyExchange, GetRandomFailed, SharedSecret, SupportedKxGroup,
};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, ProtocolVersion};
use tollgate_kem::hybrid::{
    CIPHERTEXT_BYTES, DecapsulationKey, PUBLIC_BYTES, RANDOM_BYTES, SECRET_BYTES, SEED_BYTES,
    X25519MlKem768,
};
use zeroize::Zeroizing;

use crate::key_exchange::invalid;

/// The group X25519MLKEM768 (draft-ietf-tls-ecdhe-mlkem), on the engine's code. Each handshake
/// computes alone, in its own thread.
#[derive(Clone, Copy, Debug)]
pub struct X25519MlKem768Group;

/// Where the public key of X25519 begins in a client's key share.
const X25519_AT: usize = tollgate_kem::PUBLIC_BYTES;

fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, Error> {
    let mut random = Zeroizing::new([0; N]);
    getrandom::fill(&mut *random).map_err(|_| GetRandomFailed)?;
    Ok(random)
}

impl SupportedKxGroup for X25519MlKem768Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let key = X25519MlKem768::best().decapsulation_key(&*random::<SEED_BYTES>()?);
        let share = key.public_bytes();
        Ok(Box::new(Exchange { key, share }))
    }

    fn start_and_complete(&self, peer: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let key = X25519MlKem768::best().encapsulation_key(peer).map_err(|_| invalid())?;
        let mut share = vec![0; CIPHERTEXT_BYTES];
        let mut secret = Zeroizing::new([0; SECRET_BYTES]);
        let ciphertext = share.first_chunk_mut().expect("as long as a ciphertext");
        key.encapsulate(&*random::<RANDOM_BYTES>()?, ciphertext, &mut secret)
            .map_err(|_| invalid())?;
        let secret = SharedSecret::from(&secret[..]);
        Ok(CompletedKeyExchange { group: self.name(), pub_key: share, secret })
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
    key: DecapsulationKey,
    share: [u8; PUBLIC_BYTES],
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let mut secret = Zeroizing::new([0; SECRET_BYTES]);
        let ciphertext = peer.try_into().map_err(|_| invalid())?;
        self.key.decapsulate(ciphertext, &mut secret).map_err(|_| invalid())?;
        Ok(SharedSecret::from(&secret[..]))
    }

    /// A client offers its key of X25519 for servers without ML-KEM too.
    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        Some((NamedGroup::X25519, &self.share[X25519_AT..]))
    }

    fn complete_hybrid_component(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let mut secret = Zeroizing::new([0; 32]);
        let peer = peer.try_into().map_err(|_| invalid())?;
        self.key.agree(peer, &mut secret).map_err(|_| invalid())?;
        Ok(SharedSecret::from(&secret[..]))
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
