//! Key agreement.

use core::fmt;
use core::ops::Deref;

use aws_lc_rs::agreement::{
    self, ECDH_P256, ECDH_P384, PrivateKey, PublicKey, UnparsedPublicKey, X25519,
};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::kem::{DecapsulationKey, ML_KEM_768};
use zeroize::Zeroizing;

use crate::error::{Unavailable, Violation};
use crate::registry::Group;

/// The length in bytes of a ciphertext of ML-KEM-768 (FIPS 203, table 3).
const CIPHERTEXT: usize = 1088;

pub(crate) struct KeyPair {
    pub(crate) group: Group,
    private: Private,
    /// The encoded public value: [`Group::public_bytes`] bytes.
    pub(crate) public: Public,
}

enum Private {
    Curve(PrivateKey),
    /// ML-KEM-768 and X25519.
    Hybrid(DecapsulationKey, PrivateKey),
}

/// An encoded public value; a point is copied without an allocation.
#[derive(Clone)]
pub(crate) enum Public {
    Bytes(Vec<u8>),
    Point(PublicKey),
}

impl Deref for Public {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Point(point) => point.as_ref(),
        }
    }
}

/// Prints the group, not the key.
impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyPair").field("group", &self.group).finish_non_exhaustive()
    }
}

impl KeyPair {
    pub(crate) fn generate(group: Group) -> Result<Self, Unavailable> {
        let (private, public) = match group {
            Group::P256 => curve(&ECDH_P256),
            Group::P384 => curve(&ECDH_P384),
            Group::X25519 => curve(&X25519),
            Group::X25519MlKem768 => hybrid(),
        }
        .map_err(|_| Unavailable::KeyGeneration)?;
        Ok(Self { group, private, public })
    }

    /// Agrees with the owner of `peer`, and passes the shared secret to `make`.
    pub(crate) fn agree<T>(
        &self,
        peer: &[u8],
        make: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Violation> {
        match &self.private {
            Private::Curve(private) => agree_on_curve(self.group, private, peer, make),
            Private::Hybrid(kem, x25519) => {
                let (ciphertext, point) =
                    peer.split_at_checked(CIPHERTEXT).ok_or(Violation::KeyShare)?;
                let first = kem.decapsulate(ciphertext.into()).map_err(|_| Violation::KeyShare)?;
                agree_on_curve(Group::X25519, x25519, point, |second| {
                    make(&Zeroizing::new([first.as_ref(), second].concat()))
                })
            }
        }
    }
}

fn curve(algorithm: &'static agreement::Algorithm) -> Result<(Private, Public), Unspecified> {
    let private = PrivateKey::generate(algorithm)?;
    let public = Public::Point(private.compute_public_key()?);
    Ok((Private::Curve(private), public))
}

fn hybrid() -> Result<(Private, Public), Unspecified> {
    let kem = DecapsulationKey::generate(&ML_KEM_768)?;
    let x25519 = PrivateKey::generate(&X25519)?;
    let point = x25519.compute_public_key()?;
    let public = [kem.encapsulation_key()?.key_bytes()?.as_ref(), point.as_ref()].concat();
    Ok((Private::Hybrid(kem, x25519), Public::Bytes(public)))
}

/// Agrees on a curve. The secret is an X coordinate, or a u coordinate.
fn agree_on_curve<T>(
    group: Group,
    private: &PrivateKey,
    peer: &[u8],
    make: impl FnOnce(&[u8]) -> T,
) -> Result<T, Violation> {
    // RFC 8446 §4.2.8.2: uncompressed points only; the library also accepts compressed ones
    let form = group == Group::X25519 || peer.first() == Some(&4);
    if peer.len() != group.public_bytes() || !form {
        return Err(Violation::KeyShare);
    }
    let peer = UnparsedPublicKey::new(private.algorithm(), peer);
    agreement::agree(private, peer, Violation::KeyShare, |secret| Ok(make(secret)))
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::kem::EncapsulationKey;

    use super::*;

    fn agree(ours: &KeyPair, peer: &[u8]) -> Result<Vec<u8>, Violation> {
        ours.agree(peer, <[u8]>::to_vec)
    }

    #[test]
    fn both_sides_agree_and_invalid_keys_are_refused() {
        for group in [Group::P256, Group::P384, Group::X25519] {
            let [ours, theirs] = [(); 2].map(|()| KeyPair::generate(group).unwrap());
            assert_eq!(ours.public.len(), group.public_bytes());
            let [secret, same] =
                [(&ours, &theirs), (&theirs, &ours)].map(|(a, b)| agree(a, &b.public));
            assert_eq!(secret.unwrap(), same.unwrap());
            let bad = vec![4; group.public_bytes()];
            let zero = vec![0; group.public_bytes()];
            for peer in [&zero[..], &zero[1..], &[], &bad[..31]] {
                assert_eq!(agree(&ours, peer), Err(Violation::KeyShare), "{group} {peer:?}");
            }
        }
        let p256 = KeyPair::generate(Group::P256).unwrap();
        assert_eq!(agree(&p256, &[4; 65]), Err(Violation::KeyShare), "a point off the curve");
    }

    #[test]
    fn the_hybrid_secret_equals_the_servers() {
        let ours = KeyPair::generate(Group::X25519MlKem768).unwrap();
        assert_eq!(ours.public.len(), Group::X25519MlKem768.public_bytes());
        let (first, second) = ours.public.split_at(1184);
        let kem = EncapsulationKey::new(&ML_KEM_768, first).unwrap();
        let (ciphertext, secret) = kem.encapsulate().unwrap();
        let theirs = KeyPair::generate(Group::X25519).unwrap();
        let share = [ciphertext.as_ref(), &theirs.public].concat();
        let expected = [secret.as_ref(), &agree(&theirs, second).unwrap()].concat();
        assert_eq!(agree(&ours, &share).unwrap(), expected);
        for length in [0, 32, 1088, share.len() - 1] {
            assert_eq!(agree(&ours, &share[..length]), Err(Violation::KeyShare), "{length}");
        }
        let zero = [ciphertext.as_ref(), &[0; 32]].concat();
        assert_eq!(agree(&ours, &zero), Err(Violation::KeyShare));
    }
}
