//! Key agreement, on X25519 and P-256.

use aws_lc_rs::agreement::{self, ECDH_P256, PrivateKey, UnparsedPublicKey, X25519};
use zeroize::Zeroizing;

use crate::error::{Unavailable, Violation};
use crate::suite::Group;

/// What two sides agree on: 32 bytes in both groups.
pub(crate) type Shared = Zeroizing<[u8; 32]>;

/// A key pair for agreement.
#[derive(Debug)]
pub(crate) struct KeyPair {
    group: Group,
    private: PrivateKey,
    public: agreement::PublicKey,
}

impl KeyPair {
    pub(crate) fn generate(group: Group) -> Result<Self, Unavailable> {
        PrivateKey::generate(algorithm(group))
            .and_then(|private| {
                let public = private.compute_public_key()?;
                Ok(Self { group, private, public })
            })
            .map_err(|_| Unavailable::KeyGeneration)
    }

    pub(crate) const fn group(&self) -> Group {
        self.group
    }

    /// As it stands on the wire: [`Group::public_bytes`] bytes.
    pub(crate) fn public(&self) -> &[u8] {
        self.public.as_ref()
    }

    /// The shared secret with the owner of `peer`: an X coordinate or a u coordinate.
    pub(crate) fn agree(&self, peer: &[u8]) -> Result<Shared, Violation> {
        // RFC 8446 §4.2.8.2: uncompressed points alone; the library would take compressed ones too
        let form = match self.group {
            Group::P256 => peer.first() == Some(&4),
            Group::X25519 => true,
        };
        if peer.len() != self.group.public_bytes() || !form {
            return Err(Violation::KeyShare);
        }
        let peer = UnparsedPublicKey::new(self.private.algorithm(), peer);
        agreement::agree(&self.private, peer, Violation::KeyShare, |secret| {
            let secret = secret.try_into().map_err(|_| Violation::KeyShare)?;
            Ok(Shared::new(secret))
        })
    }
}

const fn algorithm(group: Group) -> &'static agreement::Algorithm {
    match group {
        Group::P256 => &ECDH_P256,
        Group::X25519 => &X25519,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn both_sides_agree_and_bad_keys_are_refused() {
        for group in Group::ALL {
            let [ours, theirs] = [(); 2].map(|()| KeyPair::generate(group).unwrap());
            assert_eq!(ours.public().len(), group.public_bytes());
            assert_eq!(ours.agree(theirs.public()).unwrap(), theirs.agree(ours.public()).unwrap());
            let bad = vec![4; group.public_bytes()];
            let zero = vec![0; group.public_bytes()];
            for peer in [&zero[..], &zero[1..], &[], &bad[..31]] {
                assert_eq!(ours.agree(peer), Err(Violation::KeyShare), "{group} {peer:?}");
            }
        }
        let p256 = KeyPair::generate(Group::P256).unwrap();
        assert_eq!(p256.agree(&[4; 65]), Err(Violation::KeyShare), "a point off the curve");
    }
}
