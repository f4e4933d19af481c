//! Every key of `vectors/keys`: valid keys load, each invalid one has its own error.

use std::collections::BTreeSet;
use std::path::Path;

use tollgate_rsa::{Error, Expected, Found, Hash, PrivateKey, Pss, Rejected, Salt, Workspace};

use crate::{FOLDER, KEYS, read};

/// A valid key in the other format of private keys.
const PKCS1: (&str, usize) = ("rsa-2048-pkcs1.pem", 2048);

/// Returns files without a usable private key, and their errors.
fn bad() -> Vec<(&'static str, Rejected)> {
    let not_rsa = |algorithm: &str| Rejected::NotRsa { algorithm: algorithm.into() };
    let public = Rejected::Unexpected { found: Found::PublicKey, expected: Expected::PrivateKey };
    vec![
        ("bad/bad-dp.pem", Rejected::DP),
        ("bad/bad-qinv.pem", Rejected::QInv),
        ("bad/e1.pem", Rejected::ExponentSmall),
        ("bad/even-n.pem", Rejected::ModulusEven),
        ("bad/pq-swapped-n.pem", Rejected::Product),
        ("bad/rsa-9000.pem", Rejected::Size { bits: 9000 }),
        ("bad/truncated.pem", Rejected::PemTruncated { label: "PRIVATE KEY".into() }),
        ("bad/zero-length.der", Rejected::NotAKey),
        ("ec-p256.pem", not_rsa("elliptic curves (1.2.840.10045.2.1)")),
        ("ed25519.pem", not_rsa("Ed25519 (1.3.101.112)")),
        ("rsa-16384.pem", Rejected::Size { bits: 16384 }),
        ("rsa-2048-3primes.pem", Rejected::MultiPrime),
        ("rsa-2048-encrypted.pem", Rejected::Encrypted),
        ("rsa-2048.pub.pem", public),
    ]
}

#[test]
fn valid_keys_load() {
    for (name, bits) in KEYS.into_iter().chain([PKCS1]) {
        let key = PrivateKey::from_pem(&read(name)).unwrap();
        assert_eq!((key.bits(), key.size()), (bits, bits.div_ceil(8)), "{name}");
        assert_eq!(key.is_insecure(), bits < 2048, "{name}");
        assert_eq!((key.public().bits(), key.public().size()), (bits, key.size()), "{name}");
    }
}

#[test]
fn invalid_keys_have_their_own_errors() {
    for (name, expected) in bad() {
        let pem = read(name);
        let error = PrivateKey::from_bytes(pem.as_bytes()).map(|_| ()).unwrap_err();
        assert_eq!(error, Error::Rejected(expected), "{name}");
        let line = error.to_string();
        assert!(!line.is_empty() && !line.chars().any(char::is_control), "{name}: {line}");
    }
}

#[test]
fn every_file_of_the_folder_is_tested() {
    let good = KEYS.into_iter().chain([PKCS1]).map(|(name, _)| name);
    let listed: BTreeSet<_> =
        good.chain(bad().into_iter().map(|(name, _)| name)).map(String::from).collect();
    let mut found = BTreeSet::new();
    for (folder, prefix) in [(FOLDER.into(), ""), (Path::new(FOLDER).join("bad"), "bad/")] {
        for entry in std::fs::read_dir::<std::path::PathBuf>(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".pem") || name.ends_with(".der") {
                found.insert(format!("{prefix}{name}"));
            }
        }
    }
    assert_eq!(listed, found);
}

#[test]
fn parameters_of_other_lengths_are_refused() {
    let key = PrivateKey::from_pem(&read("rsa-512.pem")).unwrap();
    let mut ws = Workspace::new().unwrap();
    let mut signature = [0; 64];
    let digest = Hash::Sha512.digest(b"abc");
    assert_eq!(
        key.sign_pkcs1v15_with(&mut ws, Hash::Sha512, digest.as_ref(), &mut signature),
        Err(Rejected::ModulusSmall { found_bytes: 64, needed_bytes: 94 }.into())
    );
    assert_eq!(
        key.sign_pkcs1v15_with(&mut ws, Hash::Sha256, digest.as_ref(), &mut signature),
        Err(Rejected::DigestLength { found_bytes: 64, expected_bytes: 32 }.into())
    );
    let digest = Hash::Sha256.digest(b"abc");
    for length in [0, 63, 65] {
        let mut signature = vec![0; length];
        assert!(matches!(
            key.sign_pkcs1v15_with(&mut ws, Hash::Sha256, digest.as_ref(), &mut signature),
            Err(Error::Misuse(_))
        ));
        // A signature of wrong length is invalid input, not misuse.
        assert_eq!(
            key.public().verify_pkcs1v15_with(&mut ws, Hash::Sha256, digest.as_ref(), &signature),
            Err(Rejected::SignatureInvalid.into())
        );
    }
    let (hash, salt) = (Hash::Sha256, Salt::Auto);
    assert!(matches!(
        key.sign_pss_with(&mut ws, Pss::new(hash).with_salt(salt), digest.as_ref(), &mut signature),
        Err(Error::Misuse(_))
    ));
}
