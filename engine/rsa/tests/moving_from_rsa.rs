//! The crate `rsa` and this one through the same traits: generic code accepts both, and each
//! verifies the other's signatures. The doc tests of `lib.rs` test the guide's own code.

#![allow(clippy::unwrap_used, reason = "tests")]

use core::error::Error as _;

use rsa::RsaPrivateKey;
use rsa::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey};
use sha1::Sha1;
use sha2::{Sha256, Sha384};
use tollgate_rsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use tollgate_rsa::signature::{Keypair, SignatureEncoding, Signer, Verifier};
use tollgate_rsa::{HashFunction, Oaep, PrivateKey, Workspace, pkcs1v15, pss};

const PEM: &str = include_str!("../../../vectors/keys/rsa-1024.pem");
const MESSAGE: &[u8] = b"signed by one, verified by the other";

fn keys() -> (PrivateKey, RsaPrivateKey) {
    (PrivateKey::from_pem(PEM).unwrap(), RsaPrivateKey::from_pkcs8_pem(PEM).unwrap())
}

/// Signs through each of the traits.
fn signatures<K, S, D>(key: &K) -> Vec<S>
where
    D: HashFunction,
    K: Signer<S> + PrehashSigner<S>,
{
    let digest = D::HASH.digest(MESSAGE);
    vec![key.sign(MESSAGE), key.sign_prehash(digest.as_ref()).unwrap()]
}

/// Verifies through each of the traits, with re-read signature bytes.
fn verify<K, S, D>(key: &K, signature: &[u8])
where
    D: HashFunction,
    S: SignatureEncoding,
    K: Verifier<S> + PrehashVerifier<S>,
{
    let read = |bytes: &[u8]| S::try_from(bytes).unwrap_or_else(|_| panic!("a signature's bytes"));
    let good = read(signature);
    key.verify(MESSAGE, &good).unwrap();
    key.verify_prehash(D::HASH.digest(MESSAGE).as_ref(), &good).unwrap();
    let mut bytes = signature.to_vec();
    bytes[17] ^= 4;
    key.verify(MESSAGE, &read(&bytes)).unwrap_err();
    bytes.truncate(17);
    key.verify(MESSAGE, &read(&bytes)).unwrap_err();
    key.verify(b"another message", &good).unwrap_err();
}

macro_rules! both_ways {
    ($padding:ident, $hash:ty) => {{
        let (ours, theirs) = keys();
        let ours = tollgate_rsa::$padding::SigningKey::<$hash>::from(ours);
        let theirs = rsa::$padding::SigningKey::<$hash>::new(theirs);
        let from_ours: Vec<tollgate_rsa::$padding::Signature> = signatures::<_, _, $hash>(&ours);
        let from_theirs: Vec<rsa::$padding::Signature> = signatures::<_, _, $hash>(&theirs);
        for signature in
            from_ours.iter().map(|s| s.to_vec()).chain(from_theirs.iter().map(|s| s.to_vec()))
        {
            verify::<_, tollgate_rsa::$padding::Signature, $hash>(
                &ours.verifying_key(),
                &signature,
            );
            verify::<_, rsa::$padding::Signature, $hash>(&theirs.verifying_key(), &signature);
        }
        (from_ours, from_theirs)
    }};
}

#[test]
fn pkcs1v15_signatures_are_the_same() {
    let (ours, theirs) = both_ways!(pkcs1v15, Sha256);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours.to_bytes(), theirs.to_bytes());
    }
    both_ways!(pkcs1v15, Sha384);
}

#[test]
fn pss_signatures_work_in_both_directions() {
    let (ours, _) = both_ways!(pss, Sha256);
    assert_ne!(ours[0], ours[1], "each has another salt");
    both_ways!(pss, Sha384);
}

/// Keys of `rsa` still sign with SHA-1.
macro_rules! verified_only {
    ($padding:ident, $hash:ty) => {{
        let (ours, theirs) = keys();
        let ours = tollgate_rsa::$padding::SigningKey::<$hash>::from(ours);
        let theirs = rsa::$padding::SigningKey::<$hash>::new(theirs);
        for signature in signatures::<_, rsa::$padding::Signature, $hash>(&theirs) {
            let signature = signature.to_vec();
            verify::<_, tollgate_rsa::$padding::Signature, $hash>(
                &ours.verifying_key(),
                &signature,
            );
        }
        ours.try_sign(MESSAGE).unwrap_err();
    }};
}

#[test]
fn sha_1_signatures_are_verified_but_not_made() {
    verified_only!(pkcs1v15, Sha1);
    verified_only!(pss, Sha1);
}

#[test]
fn salts_have_the_requested_length() {
    for salt_len in [0, 13, 94] {
        let (key, theirs) = keys();
        let key = pss::SigningKey::<Sha256>::new_with_salt_len(key, salt_len);
        assert_eq!((key.salt_len(), key.verifying_key().salt_len()), (salt_len, Some(salt_len)));
        {
            let signature = key.sign(MESSAGE);
            key.verifying_key().verify(MESSAGE, &signature).unwrap();
            let public = key.as_ref().public();
            let verify = |key: pss::VerifyingKey<Sha256>| key.verify(MESSAGE, &signature);
            verify(pss::VerifyingKey::new_with_auto_salt_len(public.clone())).unwrap();
            verify(pss::VerifyingKey::new(public.clone())).unwrap_err();
            let theirs = theirs.to_public_key();
            let theirs = rsa::pss::VerifyingKey::<Sha256>::new_with_salt_len(theirs, salt_len);
            let signature = rsa::pss::Signature::try_from(signature.as_ref()).unwrap();
            theirs.verify(MESSAGE, &signature).unwrap();
        }
    }
    // the modulus has 128 bytes; a digest of 32 bytes, 2 bytes and a salt of 95 bytes do not fit
    let key = pss::SigningKey::<Sha256>::new_with_salt_len(keys().0, 95);
    let error = key.try_sign(MESSAGE).unwrap_err();
    assert!(error.source().unwrap().to_string().contains("a shorter salt"), "{error:?}");
}

#[test]
fn errors_say_why() {
    let key = pss::SigningKey::<Sha256>::new(keys().0);
    let error = key.sign_prehash(&[0; 31]).unwrap_err();
    assert!(error.source().unwrap().to_string().contains("31 bytes"), "{error:?}");
    let text = format!("{key:?}");
    assert!(text.contains("bits: 1024") && text.contains("Sha256"), "{text}");

    assert!(pkcs1v15::Signature::try_from(&[0; pkcs1v15::Signature::MAX_LEN][..]).is_ok());
    assert!(pkcs1v15::Signature::try_from(&[0; pkcs1v15::Signature::MAX_LEN + 1][..]).is_err());
}

macro_rules! read_and_written {
    ($padding:ident) => {{
        let ours = tollgate_rsa::$padding::SigningKey::<Sha256>::from_pkcs8_pem(PEM).unwrap();
        let theirs = rsa::$padding::SigningKey::<Sha256>::from_pkcs8_pem(PEM).unwrap();
        let written = (ours.to_pkcs8_der().unwrap(), ours.verifying_key());
        assert_eq!(written.0.as_bytes(), theirs.to_pkcs8_der().unwrap().as_bytes());
        let public = written.1.to_public_key_der().unwrap();
        assert_eq!(public, theirs.verifying_key().to_public_key_der().unwrap());
        let read =
            tollgate_rsa::$padding::VerifyingKey::<Sha256>::from_public_key_der(public.as_bytes());
        read.unwrap().verify(MESSAGE, &ours.sign(MESSAGE)).unwrap();
        let of_a_curve = include_str!("../../../vectors/keys/ec-p256.pem");
        assert!(tollgate_rsa::$padding::SigningKey::<Sha256>::from_pkcs8_pem(of_a_curve).is_err());
    }};
}

#[test]
fn signing_keys_are_read_and_written() {
    read_and_written!(pkcs1v15);
    read_and_written!(pss);
}

/// Each crate decrypts the ciphertexts of the other.
#[test]
fn ciphertexts_work_in_both_directions() {
    let (ours, theirs) = keys();
    let mut workspace = Workspace::new().unwrap();
    let mut rng = rsa::rand_core::UnwrapErr(getrandom::SysRng);
    let hash = Sha256::HASH;
    let (mut c, mut buffer) = (vec![0; ours.size()], vec![0; ours.size()]);
    ours.public()
        .encrypt_oaep_with(&mut workspace, Oaep::new(hash).with_label(b"label"), MESSAGE, &mut c)
        .unwrap();
    let oaep = || rsa::Oaep::<Sha256>::new_with_label(*b"label");
    assert_eq!(theirs.decrypt(oaep(), &c).unwrap(), MESSAGE);
    let c = theirs.to_public_key().encrypt(&mut rng, oaep(), MESSAGE).unwrap();
    let message = ours.decrypt_oaep_with(
        &mut workspace,
        Oaep::new(hash).with_label(b"label"),
        &c,
        &mut buffer,
    );
    assert_eq!(message, Ok(MESSAGE));

    let padding = rsa::Pkcs1v15Encrypt;
    let c = theirs.to_public_key().encrypt(&mut rng, padding, MESSAGE).unwrap();
    assert_eq!(ours.decrypt_pkcs1v15_with(&mut workspace, &c, &mut buffer), Ok(MESSAGE));
}
