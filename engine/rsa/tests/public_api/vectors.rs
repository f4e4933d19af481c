//! Published test vectors of NIST and RSA Laboratories. Signatures (`vectors/signatures`) are
//! recomputed if the primes are known, and verified or refused as the files say; OAEP
//! ciphertexts (`vectors/decryption`) are decrypted.

use std::collections::BTreeMap;

use tollgate_rsa::{
    Error, Form, Hash, KeyParts, Oaep, Plans, PrivateKey, PrivateRequest, Pss, PublicKey, Salt,
    Workspace, oaep, pkcs1v15, private_batch, pss,
};
use zeroize::Zeroizing;

use crate::is_refusal;

/// The fields of a block.
type Block = BTreeMap<&'static str, &'static str>;

/// Returns the cases of a file, each with its key.
fn cases(file: &'static str) -> Vec<(Block, Block)> {
    let mut key = Block::new();
    let mut cases = Vec::new();
    for block in file.split("\n\n") {
        let lines = block.lines().filter(|line| !line.starts_with('#'));
        let block: Block =
            lines.map(|line| line.split_once(" = ").expect("name = value")).collect();
        if block.contains_key("n") {
            key = block;
        } else if !block.is_empty() {
            cases.push((key.clone(), block));
        }
    }
    cases
}

fn bytes(block: &Block, field: &str) -> Vec<u8> {
    hex::decode(block[field]).unwrap()
}

fn hash(case: &Block) -> Hash {
    match case.get("hash") {
        None | Some(&"SHA1") => Hash::Sha1,
        Some(&"SHA224") => Hash::Sha224,
        Some(&"SHA256") => Hash::Sha256,
        Some(&"SHA384") => Hash::Sha384,
        Some(&"SHA512") => Hash::Sha512,
        Some(other) => panic!("a hash function {other}"),
    }
}

fn public(key: &Block) -> PublicKey {
    PublicKey::from_components(&bytes(key, "n"), &bytes(key, "e")).unwrap()
}

/// Returns the private key of a block with all numbers.
fn private(key: &Block) -> PrivateKey {
    let secret = |field| Zeroizing::new(bytes(key, field));
    let parts = KeyParts {
        n: bytes(key, "n"),
        e: bytes(key, "e"),
        d: secret("d"),
        p: secret("p"),
        q: secret("q"),
        d_p: secret("d_p"),
        d_q: secret("d_q"),
        q_inv: secret("q_inv"),
    };
    PrivateKey::from_parts(&parts).unwrap()
}

/// Checks that the encoded message to the power d is the expected signature, single and in lanes.
fn check_signature(key: &PrivateKey, em: &[u8], expected: &[u8], place: &str) {
    let mut workspace = Workspace::new().unwrap().with_plans(Plans::always(Form::Lanes));
    let (mut alone, mut in_lanes) = (em.to_vec(), em.to_vec());
    key.private(&mut workspace, &mut alone).unwrap();
    assert_eq!(alone, expected, "{place}");
    let mut requests = [PrivateRequest::new(key, &mut in_lanes)];
    private_batch(&mut workspace, &mut requests);
    requests[0].outcome().unwrap();
    assert_eq!(in_lanes, expected, "{place}, in lanes");
}

macro_rules! files {
    ($($name:literal: $cases:literal,)*) => {
        [$((
            $name,
            include_str!(concat!("../../../../vectors/signatures/", $name)),
            $cases,
        ),)*]
    };
}

/// Checks each signature of each file. A file comes with its name and its number of cases. `verify`
/// gives the library's verdicts on a message's digest and a signature. If the primes are known, the
/// signature is made again from the message that `encode` writes.
fn check_files<const N: usize>(
    files: [(&str, &'static str, usize); N],
    mut verify: impl FnMut(&PublicKey, Hash, &Block, &[u8], &[u8]) -> Vec<Result<(), Error>>,
    encode: impl Fn(&PrivateKey, Hash, &Block, &[u8], &mut [u8]),
) {
    for (name, file, count) in files {
        let cases = cases(file);
        assert_eq!(cases.len(), count, "{name}");
        for (i, (of, case)) in cases.iter().enumerate() {
            let place = format!("{name}, case {i}");
            let (hash, signature) = (hash(case), bytes(case, "s"));
            let digest = hash.digest(&bytes(case, "msg"));
            for verdict in verify(&public(of), hash, case, digest.as_ref(), &signature) {
                match case.get("result") {
                    None | Some(&"P") => assert_eq!(verdict, Ok(()), "{place}"),
                    _ => assert!(is_refusal(&verdict), "{place}: {verdict:?}"),
                }
            }
            if of.contains_key("p") {
                let key = private(of);
                let mut em = vec![0; key.size()];
                encode(&key, hash, case, digest.as_ref(), &mut em);
                check_signature(&key, &em, &signature, &place);
            }
        }
    }
}

#[test]
fn pkcs1v15() {
    let mut workspace = Workspace::new().unwrap();
    check_files(
        files! {
            "sig-gen-15.txt": 25,
            "sig-gen-15-186-3.txt": 25,
            "sig-ver-15.txt": 90,
            "sig-ver-15-em.txt": 50,
            "pkcs1-15.txt": 30,
        },
        |key, hash, _, digest, signature| {
            vec![key.verify_pkcs1v15_with(&mut workspace, hash, digest, signature)]
        },
        |_, hash, _, digest, em| pkcs1v15::encode(em, hash, digest).unwrap(),
    );
}

#[test]
fn pss() {
    let mut workspace = Workspace::new().unwrap();
    // FIPS 186-3's signatures were generated without salt; only their header says so
    let salt = |case: &Block| case.get("salt").map_or(Vec::new(), |_| bytes(case, "salt"));
    check_files(
        files! {
            "sig-gen-pss.txt": 25,
            "sig-gen-pss-186-3.txt": 25,
            "sig-ver-pss.txt": 90,
            "pkcs1-pss.txt": 60,
        },
        |key, hash, case, digest, signature| {
            [Salt::Exactly(salt(case).len()), Salt::Auto]
                .map(|salt| {
                    key.verify_pss_with(
                        &mut workspace,
                        Pss::new(hash).with_salt(salt),
                        digest,
                        signature,
                    )
                })
                .into()
        },
        |key, hash, case, digest, em| {
            pss::encode(em, key.bits(), Pss::new(hash), &salt(case), digest).unwrap();
        },
    );
}

#[test]
fn oaep() {
    let mut workspace = Workspace::new().unwrap().with_plans(Plans::always(Form::Lanes));
    let hash = Hash::Sha1;
    let cases = cases(include_str!("../../../../vectors/decryption/pkcs1-oaep.txt"));
    assert_eq!(cases.len(), 60);
    for (i, (of, case)) in cases.iter().enumerate() {
        let (key, message, c) = (private(of), bytes(case, "msg"), bytes(case, "c"));
        let mut buffer = vec![0; key.size()];
        let alone = key.decrypt_oaep_with(&mut workspace, Oaep::new(hash), &c, &mut buffer);
        assert_eq!(alone, Ok(&*message), "case {i}");
        let mut in_lanes = c;
        let mut requests = [PrivateRequest::new(&key, &mut in_lanes)];
        private_batch(&mut workspace, &mut requests);
        requests[0].outcome().unwrap();
        let in_lanes = oaep::decode(&mut in_lanes, Oaep::new(hash));
        assert_eq!(in_lanes, Ok(&*message), "case {i}, in lanes");
    }
}
