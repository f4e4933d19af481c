//! The groups X25519 and secp256r1 for rustls.

use rustls::crypto::{ActiveKeyExchange, GetRandomFailed, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved};
use tollgate_curves::p256::{self, P256};
use tollgate_curves::{PublicKey, SecretKey, Unavailable, X25519};
use zeroize::Zeroizing;

/// The group of X25519, on the engine's kernels (RFC 7748). Each handshake computes alone, in its
/// own thread.
#[derive(Clone, Copy, Debug)]
pub struct X25519Group;

impl SupportedKxGroup for X25519Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut random = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *random).map_err(|_| GetRandomFailed)?;
        let (curve, secret) = (X25519::best(), SecretKey::from_bytes(&random));
        let public = curve.public_key(&secret);
        Ok(Box::new(Exchange { curve, secret, public }))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// An exchange that waits for the peer's public key.
struct Exchange {
    curve: X25519,
    secret: SecretKey,
    public: PublicKey,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer = PublicKey(peer.try_into().map_err(|_| invalid())?);
        let shared = self.curve.agree(&self.secret, &peer).map_err(|_| invalid())?;
        Ok(SharedSecret::from(&shared.as_bytes()[..]))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public.0
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// The group secp256r1, on the engine's kernels. Each handshake computes alone, in its own thread.
///
/// The peer's point must be on the curve. That is a full validation: the order of the curve is
/// prime (its cofactor is 1), so each of its points but the neutral one, which has no encoding as
/// coordinates, has this order. A multiplication by the order would show nothing more.
#[derive(Clone, Copy, Debug)]
pub struct Secp256r1Group;

impl SupportedKxGroup for Secp256r1Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let curve = P256::best().map_err(no_kernels)?;
        let secret = loop {
            let mut random = Zeroizing::new([0; 32]);
            getrandom::fill(&mut *random).map_err(|_| GetRandomFailed)?;
            // refused once in 2^32 times
            if let Ok(secret) = p256::SecretKey::from_bytes(&random) {
                break secret;
            }
        };
        let public = curve.public_key(&secret).to_bytes();
        Ok(Box::new(Secp256r1Exchange { curve, secret, public }))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::secp256r1
    }
}

/// An exchange that waits for the peer's public key.
struct Secp256r1Exchange {
    curve: P256,
    secret: p256::SecretKey,
    public: [u8; p256::POINT_BYTES],
}

impl ActiveKeyExchange for Secp256r1Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer = p256::PublicKey::from_bytes(peer).map_err(|_| invalid())?;
        Ok(SharedSecret::from(&self.curve.agree(&self.secret, &peer).as_bytes()[..]))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::secp256r1
    }
}

/// The error of a processor for which [`provider`](crate::provider) leaves keys and groups to
/// aws-lc-rs.
pub(crate) fn no_kernels(why: Unavailable) -> Error {
    Error::General(why.to_string())
}

/// The error of a peer's key share that cannot be used.
pub(crate) fn invalid() -> Error {
    PeerMisbehaved::InvalidKeyShare.into()
}
