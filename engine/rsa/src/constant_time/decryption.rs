//! Memcheck runs the decoding of decrypted messages with every byte marked as secret. It also runs
//! whole decryptions, on every limb kernel.

use tollgate_cpu::memcheck;
use tollgate_mont::{LaneKernel, LimbKernel};
use tollgate_rerun as rerun;
use zeroize::Zeroizing;

use super::secret_key;
use crate::oaep::Oaep;
use crate::premaster::PREMASTER_LEN;
use crate::{Hash, TlsVersions, Workspace, eme_pkcs1v15, implicit_rejection, oaep, premaster};

const VERSIONS: TlsVersions = TlsVersions { client: 0x0303, negotiated: Some(0x0302) };

/// Returns a padded premaster secret, and the same with invalid padding. Each has 64 bytes.
fn messages() -> [Vec<u8>; 2] {
    let mut good = vec![0; 64];
    eme_pkcs1v15::encode(&mut good, &[3; PREMASTER_LEN]).expect("it fits");
    let mut bad = good.clone();
    bad[1] = 1;
    [good, bad]
}

fn secret(em: &mut [u8]) -> &mut [u8] {
    memcheck::mark_secret(em);
    em
}

/// The validity of a message shows only where it is an error, and never its length.
#[test]
fn messages_are_decoded_in_constant_time() {
    rerun::constant_time(
        "constant_time::decryption::messages_are_decoded_in_constant_time",
        || {
            let key = secret_key("rsa-512");
            for (mut em, is_good) in messages().into_iter().zip([true, false]) {
                let em = secret(&mut em);
                premaster::decode(em, VERSIONS, Zeroizing::new([7; PREMASTER_LEN]));
                assert_eq!(eme_pkcs1v15::decode(em).is_ok(), is_good);
                let rejection = key.rejection_key(&[9; 64]).expect("of the key's size");
                let renewed = &mut em.to_vec();
                implicit_rejection::renew(renewed, &rejection).expect("of the key's size");
                assert!(eme_pkcs1v15::decode(renewed).is_ok(), "its result is public");
                implicit_rejection::decode(em, &rejection).expect("of the key's size");
            }
            for hash in [Hash::Sha1, Hash::Sha256, Hash::Sha3_512] {
                let mut good = vec![0; 192];
                oaep::encode(&mut good, Oaep::new(hash), b"a message").expect("it fits");
                let mut bad = good.clone();
                bad[100] ^= 1;
                for (mut em, is_good) in [(good, true), (bad, false)] {
                    assert_eq!(oaep::decode(secret(&mut em), Oaep::new(hash)).is_ok(), is_good);
                }
            }
        },
    );
}

/// Checks whole decryptions. Only the ciphertext is public.
#[test]
fn whole_decryptions_are_constant_time() {
    rerun::constant_time("constant_time::decryption::whole_decryptions_are_constant_time", || {
        let key = secret_key("rsa-512");
        let hash = Hash::Sha1;
        for kernel in LimbKernel::all() {
            let mut workspace = Workspace::with_kernels(kernel, LaneKernel::Portable);
            let ciphertexts = messages().map(|mut em| {
                key.public().public(&mut workspace, &mut em).expect("below n");
                em
            });
            let mut buffer = vec![0; key.size()];
            for c in &ciphertexts {
                key.decrypt_pkcs1v15_with(&mut workspace, c, &mut buffer).expect("below n");
                key.decrypt_tls_premaster(&mut workspace, VERSIONS, c).expect("random bytes");
                let refused =
                    key.decrypt_oaep_with(&mut workspace, Oaep::new(hash), c, &mut buffer);
                assert!(refused.is_err());
            }
        }
    });
}
