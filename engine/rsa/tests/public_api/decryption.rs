//! Compares encryption and decryption with OpenSSL, in both directions. Compares implicit rejection
//! with the results of OpenSSL and of the crate `rsa`. Operations run single and in batches, on
//! every kernel of this machine.

use openssl::encrypt::{Decrypter, Encrypter};
use openssl::hash::MessageDigest;
use openssl::rsa::Padding;
use rsa::pkcs8::DecodePrivateKey as _;
use rsa::{Pkcs1v15Encrypt, RsaPrivateKey};
use tollgate_rsa::{
    Error, Hash, Misuse, Oaep, PrivateRequest, Rejected, TlsVersions, Workspace, eme_pkcs1v15,
    implicit_rejection, private_batch,
};

use crate::{Key, workspaces};

impl Key {
    /// Returns keys of all kinds: the smallest, one with a partial top byte, one bit more than full
    /// bytes, e = 3.
    fn all() -> Vec<Self> {
        let files = ["rsa-512", "rsa-1024", "rsa-2047", "rsa-2048-e3", "rsa-4096"];
        let mut keys: Vec<_> =
            files.into_iter().map(|name| Self::read(&format!("{name}.pem"))).collect();
        keys.push(Self::generated(1025));
        keys
    }

    /// Returns the ciphertext of any number below n.
    fn encrypt_raw(&self, em: &[u8]) -> Vec<u8> {
        let mut c = vec![0; em.len()];
        self.theirs.rsa().unwrap().public_encrypt(em, &mut c, Padding::NONE).unwrap();
        c
    }
}

#[test]
fn pkcs1v15_round_trips_between_the_libraries() {
    let mut ws = Workspace::new().unwrap();
    for Key { ours, theirs } in Key::all() {
        let (size, rsa) = (ours.size(), theirs.rsa().unwrap());
        for len in [0, 1, 48, size - 11] {
            let message = vec![7; len];
            let mut ciphertext = vec![0; size];
            ours.public().encrypt_pkcs1v15_with(&mut ws, &message, &mut ciphertext).unwrap();
            let mut back = vec![0; size];
            let n = rsa.private_decrypt(&ciphertext, &mut back, Padding::PKCS1).unwrap();
            assert_eq!(back[..n], message);

            rsa.public_encrypt(&message, &mut ciphertext, Padding::PKCS1).unwrap();
            assert_eq!(
                ours.decrypt_pkcs1v15_with(&mut ws, &ciphertext, &mut back).unwrap(),
                message
            );
        }
        let long =
            ours.public().encrypt_pkcs1v15_with(&mut ws, &vec![7; size - 10], &mut vec![0; size]);
        let (found_bytes, limit_bytes) = (size - 10, size - 11);
        assert_eq!(long, Err(Rejected::MessageLong { found_bytes, limit_bytes }.into()));
    }
}

#[test]
fn oaep_round_trips_between_the_libraries() {
    let mut ws = Workspace::new().unwrap();
    let hashes = [
        (Hash::Sha1, MessageDigest::sha1()),
        (Hash::Sha256, MessageDigest::sha256()),
        (Hash::Sha512, MessageDigest::sha512()),
        (Hash::Sha3_384, MessageDigest::sha3_384()),
    ];
    for Key { ours, theirs } in Key::all() {
        let size = ours.size();
        for ((hash, md), (mgf_hash, mgf_md)) in
            hashes.into_iter().flat_map(|a| hashes.into_iter().map(move |b| (a, b)))
        {
            let Some(longest) = size.checked_sub(2 * hash.len() + 2) else {
                continue;
            };
            for label in [&b""[..], b"label"] {
                let message = vec![7; longest];
                let mut ciphertext = vec![0; size];
                ours.public()
                    .encrypt_oaep_with(
                        &mut ws,
                        Oaep::new(hash).with_mgf_hash(mgf_hash).with_label(label),
                        &message,
                        &mut ciphertext,
                    )
                    .unwrap();
                let mut decrypter = Decrypter::new(&theirs).unwrap();
                decrypter.set_rsa_padding(Padding::PKCS1_OAEP).unwrap();
                decrypter.set_rsa_oaep_md(md).unwrap();
                decrypter.set_rsa_mgf1_md(mgf_md).unwrap();
                if !label.is_empty() {
                    decrypter.set_rsa_oaep_label(label).unwrap(); // refuses an empty label
                }
                let mut back = vec![0; size];
                let n = decrypter.decrypt(&ciphertext, &mut back).unwrap();
                assert_eq!(back[..n], message);

                let mut encrypter = Encrypter::new(&theirs).unwrap();
                encrypter.set_rsa_padding(Padding::PKCS1_OAEP).unwrap();
                encrypter.set_rsa_oaep_md(md).unwrap();
                encrypter.set_rsa_mgf1_md(mgf_md).unwrap();
                if !label.is_empty() {
                    encrypter.set_rsa_oaep_label(label).unwrap(); // refuses an empty label
                }
                encrypter.encrypt(&message, &mut ciphertext).unwrap();
                let mut decrypt = |label: &[u8]| {
                    ours.decrypt_oaep_with(
                        &mut ws,
                        Oaep::new(hash).with_mgf_hash(mgf_hash).with_label(label),
                        &ciphertext,
                        &mut back,
                    )
                    .map(<[u8]>::to_vec)
                };
                assert_eq!(decrypt(label), Ok(message));
                assert_eq!(decrypt(b"another"), Err(Rejected::DecryptionFailed.into()));
                assert!(
                    back.iter().all(|&byte| byte == 0),
                    "the buffer of a refused ciphertext is zeroed"
                );
            }
        }
    }
}

/// The cases of OpenSSL's test suite: see `vectors/decryption/README.md`.
#[test]
fn synthetic_messages_equal_openssls() {
    let key = Key::new(include_str!("../../../../vectors/decryption/rsa-2048.pem")).ours;
    let cases = include_str!("../../../../vectors/decryption/implicit-rejection.txt");
    let lines: Vec<_> = cases.lines().collect();
    let (cases, []) = lines.as_chunks::<3>() else {
        panic!("three lines per case");
    };
    assert_eq!(cases.len(), 13);
    for (name, mut ws) in workspaces() {
        for [what, ciphertext, message] in cases {
            let [ciphertext, message] = [ciphertext, message].map(|hex| hex::decode(hex).unwrap());
            let mut buffer = vec![0; key.size()];
            let got = key.decrypt_pkcs1v15_with(&mut ws, &ciphertext, &mut buffer).unwrap();
            assert_eq!(got, message, "{what}, {name}");
        }
    }
}

/// Returns valid and invalid encoded messages below n.
fn encoded(rng: &mut fastrand::Rng, size: usize) -> Vec<Vec<u8>> {
    let mut good: Vec<u8> = (0..size).map(|_| rng.u8(1..)).collect();
    good[..2].copy_from_slice(&[0, 2]);
    let mut changes = vec![good.clone()]; // no separator
    for at in [2, 9, 10, 11, size - 49, size - 1] {
        let mut em = good.clone();
        em[at] = 0;
        changes.push(em.clone());
        for (at, byte) in [(0, 1), (1, 1), (1, 0)] {
            let mut em = em.clone();
            em[at] = byte;
            changes.push(em);
        }
    }
    changes.push(vec![0; size]);
    changes.push((0..size).map(|i| u8::from(i == size - 1)).collect());
    changes
}

/// The crate `rsa` rejects implicitly too, by the same draft.
#[test]
fn decryption_agrees_with_the_crate_rsa_single_and_in_a_batch() {
    let mut rng = fastrand::Rng::with_seed(31);
    for (name, mut ws) in workspaces() {
        for key in Key::all().iter().filter(|key| key.ours.bits() <= 2048) {
            let der = key.theirs.private_key_to_pkcs8().unwrap();
            let theirs = RsaPrivateKey::from_pkcs8_der(&der).unwrap();
            let messages = encoded(&mut rng, key.ours.size());
            // some n are below a message whose first byte is 01
            let messages = messages.into_iter().filter(|em| em[0] == 0 || key.ours.bits() % 8 == 0);
            let cases: Vec<_> = messages
                .map(|em| key.encrypt_raw(&em))
                .map(|ciphertext| (theirs.decrypt(Pkcs1v15Encrypt, &ciphertext), ciphertext))
                .map(|(message, ciphertext)| (message.unwrap(), ciphertext))
                .collect();
            for (expected, ciphertext) in &cases {
                let mut buffer = vec![0; ciphertext.len()];
                let got = key.ours.decrypt_pkcs1v15_with(&mut ws, ciphertext, &mut buffer).unwrap();
                assert_eq!(got, expected, "{name}, {} bits", key.ours.bits());
            }
            let mut buffers: Vec<_> = cases.iter().map(|(_, c)| c.clone()).collect();
            let keys: Vec<_> = buffers.iter().map(|c| key.ours.rejection_key(c).unwrap()).collect();
            let mut requests: Vec<_> =
                buffers.iter_mut().map(|buffer| PrivateRequest::new(&key.ours, buffer)).collect();
            private_batch(&mut ws, &mut requests);
            for ((request, rejection), (expected, _)) in requests.iter_mut().zip(&keys).zip(&cases)
            {
                request.outcome().unwrap();
                let got = implicit_rejection::decode(request.buffer(), rejection).unwrap();
                assert_eq!(got, expected, "{name}, {} bits, batch", key.ours.bits());
            }
        }
    }
}

#[test]
fn premaster_secrets_always_have_48_bytes() {
    let key = Key::read("rsa-1024.pem");
    let mut ws = Workspace::new().unwrap();
    let versions = TlsVersions { client: 0x0303, negotiated: None };
    let premaster: Vec<u8> = [3, 3].into_iter().chain(1..47).collect();
    let mut em = vec![0; 128];
    eme_pkcs1v15::encode(&mut em, &premaster).unwrap();
    let ciphertext = key.encrypt_raw(&em);
    let mut decrypt =
        |c: &[u8]| key.ours.decrypt_tls_premaster(&mut ws, versions, c).unwrap().to_vec();
    assert_eq!(decrypt(&ciphertext), premaster);
    em[1] = 1;
    let bad = key.encrypt_raw(&em);
    let mut answers = Vec::new();
    for c in [&bad[..], &[0xff; 128], &ciphertext[1..], &[], &[0; 128]] {
        answers.extend([decrypt(c), decrypt(c)]);
    }
    assert!(!answers.contains(&premaster));
    let count = answers.len();
    answers.sort();
    answers.dedup();
    assert_eq!(answers.len(), count, "substitutes are random");
}

#[test]
fn publicly_invalid_ciphertexts_have_one_error() {
    let key = Key::read("rsa-1024.pem").ours;
    let mut ws = Workspace::new().unwrap();
    let hash = Hash::Sha256;
    let failed: Error = Rejected::DecryptionFailed.into();
    for c in [&[][..], &[0; 127], &[0; 129], &[0xff; 128], &key.public().modulus()] {
        let mut buffer = vec![7; 128]; // an earlier message
        assert_eq!(key.decrypt_pkcs1v15_with(&mut ws, c, &mut buffer), Err(failed.clone()));
        assert_eq!(buffer, [0; 128]);
        buffer.fill(7);
        let oaep = key.decrypt_oaep_with(&mut ws, Oaep::new(hash), c, &mut buffer);
        assert_eq!(oaep, Err(failed.clone()));
        assert_eq!(buffer, [0; 128]);
    }
    let misuse: Error = Misuse::BufferLength { found_bytes: 127, expected_bytes: 128 }.into();
    let short = &mut [0; 127];
    assert_eq!(key.decrypt_pkcs1v15_with(&mut ws, &[0; 128], short), Err(misuse.clone()));
    let oaep = key.decrypt_oaep_with(&mut ws, Oaep::new(hash), &[0; 128], short);
    assert_eq!(oaep, Err(misuse.clone()));
    assert_eq!(key.public().encrypt_pkcs1v15_with(&mut ws, b"", short), Err(misuse.clone()));
    assert_eq!(key.public().encrypt_oaep_with(&mut ws, Oaep::new(hash), b"", short), Err(misuse));
}
