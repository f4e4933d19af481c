//! Private-key operations through a queue, checked by public-key operations and by OpenSSL.

use std::sync::Arc;

use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::{RsaPssSaltlen, Verifier};
use tollgate_queue::{Error, PrivateError, Work};
use tollgate_rsa::{Error as Refusal, Hash, Misuse, PrivateKey, Pss, Rejected, Salt};

use crate::{queue, run_together};

const PEMS: [&str; 5] = [
    include_str!("../../../../vectors/keys/rsa-512.pem"),
    include_str!("../../../../vectors/keys/rsa-1024.pem"),
    include_str!("../../../../vectors/keys/rsa-2048.pem"),
    include_str!("../../../../vectors/keys/rsa-3072.pem"),
    include_str!("../../../../vectors/keys/rsa-4096.pem"),
];

const MESSAGE: &[u8] = b"a message";

const PKCS1V15: Work = Work::SignPkcs1v15 { hash: Hash::Sha256 };
const PSS: Work = Work::SignPss(Pss::new(Hash::Sha256).with_salt(Salt::Exactly(20)));

/// Verifies with OpenSSL.
fn verifies(pem: &str, work: Work, signature: &[u8]) -> bool {
    let key = PKey::private_key_from_pem(pem.as_bytes()).unwrap();
    let mut verifier = Verifier::new(MessageDigest::sha256(), &key).unwrap();
    if let Work::SignPss(_) = work {
        verifier.set_rsa_padding(openssl::rsa::Padding::PKCS1_PSS).unwrap();
        verifier.set_rsa_pss_saltlen(RsaPssSaltlen::custom(20)).unwrap();
    }
    verifier.update(MESSAGE).unwrap();
    verifier.verify(signature).unwrap()
}

#[test]
fn many_signatures_of_keys_of_all_sizes_verify() {
    let caller = queue().caller().unwrap();
    let keys = PEMS.map(|pem| Arc::new(PrivateKey::from_pem(pem).unwrap()));
    let digest = Hash::Sha256.digest(MESSAGE);
    // more of the small sizes than fit one batch
    let order: Vec<_> =
        (0..60).map(|i| (if i % 6 < 3 { i % 3 } else { i % 5 }, [PKCS1V15, PSS][i % 2])).collect();
    let signatures = run_together(&caller, order.len(), |i, job| {
        let (key, work) = order[i];
        job.load(&keys[key], work, digest.as_ref())
    });
    for ((key, work), signature) in order.into_iter().zip(signatures) {
        assert!(verifies(PEMS[key], work, &signature.unwrap()), "key {key}, {work:?}");
    }
}

#[test]
fn a_raw_operation_equals_the_keys_own() {
    let caller = queue().caller().unwrap();
    let key = Arc::new(PrivateKey::from_pem(PEMS[1]).unwrap());
    let mut input = vec![0x5a; key.size()];
    input[0] = 0;
    let mut output = vec![0; key.size()];
    caller.private(&key, Work::Raw, &input, &mut output).unwrap();
    let mut workspace = tollgate_rsa::Workspace::new().unwrap();
    key.public().public(&mut workspace, &mut output).unwrap();
    assert_eq!(output, input);
}

/// Signs with SHA-1 as [`Work`] describes for programs that must.
#[test]
fn a_raw_operation_signs_with_sha1() {
    let caller = queue().caller().unwrap();
    let key = Arc::new(PrivateKey::from_pem(PEMS[1]).unwrap());
    let digest = Hash::Sha1.digest(MESSAGE);
    let (mut em, mut signature) = (vec![0; key.size()], vec![0; key.size()]);
    tollgate_rsa::pkcs1v15::encode(&mut em, Hash::Sha1, digest.as_ref()).unwrap();
    caller.private(&key, Work::Raw, &em, &mut signature).unwrap();
    let theirs = PKey::private_key_from_pem(PEMS[1].as_bytes()).unwrap();
    let mut verifier = Verifier::new(MessageDigest::sha1(), &theirs).unwrap();
    verifier.update(MESSAGE).unwrap();
    assert!(verifier.verify(&signature).unwrap());
}

#[test]
fn impossible_requests_are_refused_without_affecting_others() {
    let queue = queue();
    let caller = queue.caller().unwrap();
    let key = Arc::new(PrivateKey::from_pem(PEMS[0]).unwrap());
    let digest = Hash::Sha256.digest(MESSAGE);
    let long = Hash::Sha512.digest(MESSAGE);
    let rejected = |why: Refusal| -> Result<(), PrivateError> { Err(Error::Rejected(why)) };
    let small = rejected(Rejected::ModulusSmall { found_bytes: 64, needed_bytes: 94 }.into());
    let length = Rejected::DigestLength { found_bytes: 64, expected_bytes: 32 };
    let buffer = Misuse::BufferLength { found_bytes: 32, expected_bytes: 64 };
    let sha1 = Hash::Sha1.digest(MESSAGE);
    let broken = rejected(Rejected::HashBroken(Hash::Sha1).into());
    let asked: [(Work, &[u8], Result<(), PrivateError>); 7] = [
        (PKCS1V15, digest.as_ref(), Ok(())),
        (Work::SignPkcs1v15 { hash: Hash::Sha512 }, long.as_ref(), small), // refused by the unit
        (PKCS1V15, long.as_ref(), rejected(length.into())),
        (Work::SignPkcs1v15 { hash: Hash::Sha1 }, sha1.as_ref(), broken),
        (Work::Raw, &[0xff; 64], rejected(Rejected::MessageRange.into())), // by the operation
        (Work::Raw, digest.as_ref(), rejected(buffer.into())),
        (PKCS1V15, digest.as_ref(), Ok(())),
    ];
    let results = run_together(&caller, asked.len(), |i, job| {
        let (work, input, _) = &asked[i];
        job.load(&key, *work, input)
    });
    for (result, (.., expected)) in results.iter().zip(&asked) {
        assert_eq!(&result.clone().map(drop), expected);
    }
    assert!(verifies(PEMS[0], PKCS1V15, results[0].as_ref().unwrap()) && results[0] == results[6]);
    let mut short = [0; 63];
    let refused = caller.private(&key, PKCS1V15, digest.as_ref(), &mut short).unwrap_err();
    let buffer = Misuse::BufferLength { found_bytes: 63, expected_bytes: 64 };
    assert_eq!(refused, Error::Rejected(buffer.into()));
    assert_eq!(queue.stats().unwrap().quarantines, 0, "a refusal does not quarantine the unit");
}
