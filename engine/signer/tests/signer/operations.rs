//! Each operation, and requests of many clients at once.

use std::thread;

use openssl::rsa::Padding;
use tollgate_keyless::{ErrorCode, Operation};
use tollgate_rsa::Hash;

use crate::rig::{MESSAGE, Rig, SIGN, digest, is_valid, is_valid_for, key, request, ski};

const ALL: &str = r#"["sign", "decrypt"]"#;

#[test]
fn signatures_of_each_kind_are_valid() {
    let rig = Rig::start(r#"["site", "curve"]"#, ALL);
    let mut client = rig.connect();
    let rsa: Vec<Operation> = [Hash::Sha224, Hash::Sha256, Hash::Sha384, Hash::Sha512]
        .into_iter()
        .flat_map(|hash| [Operation::SignPkcs1v15(hash), Operation::SignPss(hash)])
        .filter_map(Operation::if_known)
        .collect();
    let ecdsa = [Hash::Sha224, Hash::Sha256, Hash::Sha384, Hash::Sha512].map(Operation::SignEcdsa);
    assert_eq!(rsa.len(), 7);
    for (key, operations) in [("rsa-2048.pem", &rsa[..]), ("ec-p256.pem", &ecdsa)] {
        for operation in operations {
            let (Operation::SignPkcs1v15(hash)
            | Operation::SignPss(hash)
            | Operation::SignEcdsa(hash)) = *operation
            else {
                panic!()
            };
            let signature = client.run(key, *operation, hash.digest(MESSAGE).as_ref()).unwrap();
            assert!(is_valid(key, *operation, &signature), "{operation:?}");
        }
    }
    let counts = rig.running.counts();
    assert_eq!((counts.requests_of("sign", "done"), counts.unix_connections), (11, 1));
}

/// Ciphertexts with a valid padding and with invalid ones get answers of the same form.
#[test]
fn decryption_rejects_implicitly() {
    let rig = Rig::start(r#"["site"]"#, ALL);
    let mut client = rig.connect();
    let rsa = key("rsa-2048.pem").rsa().unwrap();
    let encrypt = |em: &[u8], padding| {
        let mut ciphertext = vec![0; 256];
        rsa.public_encrypt(em, &mut ciphertext, padding).unwrap();
        ciphertext
    };
    let good = encrypt(&[7; 48], Padding::PKCS1);
    let mut em = [9; 256];
    em[0] = 0;
    em[1] = 1; // a signature's padding
    let bad = encrypt(&em, Padding::NONE);
    em[1] = 2;
    let endless = encrypt(&em, Padding::NONE); // no zero byte ends the padding
    em[9] = 0;
    let short = encrypt(&em, Padding::NONE); // seven bytes of padding
    (em[0], em[9], em[20]) = (1, 9, 0);
    let first = encrypt(&em, Padding::NONE);
    let zero = vec![0; 256];
    let mut answers = Vec::new();
    for ciphertext in [&good, &bad, &bad, &endless, &short, &first, &zero] {
        let em = client.run("rsa-2048.pem", Operation::Decrypt, ciphertext).unwrap();
        assert_eq!((em.len(), &em[..2]), (256, &[0, 2][..]));
        let end = 2 + em[2..].iter().position(|byte| *byte == 0).unwrap();
        assert!(end >= 10);
        answers.push(em[end + 1..].to_vec());
    }
    assert_eq!(answers[0], [7; 48]);
    assert_ne!(answers[1], em[..answers[1].len()], "the true plaintext does not leave");
    assert_eq!(answers[1], answers[2], "the same ciphertext has the same random message");
    assert!(answers[3..].iter().all(|answer| !em.ends_with(answer) || answer.is_empty()));
    for wrong in [&good[1..], &[0xff; 256], &[]] {
        let answer = client.run("rsa-2048.pem", Operation::Decrypt, wrong);
        assert_eq!(answer, Err(ErrorCode::Crypto));
    }
}

#[test]
fn payloads_that_do_not_suit_are_refused() {
    let rig = Rig::start(r#"["site", "curve"]"#, ALL);
    let mut client = rig.connect();
    let pss = Operation::SignPss(Hash::Sha512);
    let ecdsa = Operation::SignEcdsa(Hash::Sha256);
    let digest = digest();
    let long = [1; 2000];
    for (key, operation, payload) in [
        ("rsa-2048.pem", SIGN, &digest[1..]),
        ("rsa-2048.pem", SIGN, &[]),
        ("rsa-2048.pem", SIGN, &long[..]),
        ("rsa-2048.pem", pss, &digest),
        ("ec-p256.pem", ecdsa, &digest[1..]),
        ("ec-p256.pem", ecdsa, &[]),
        ("ec-p256.pem", SIGN, &digest),
        ("ec-p256.pem", Operation::Decrypt, &digest),
        ("rsa-2048.pem", ecdsa, &digest),
    ] {
        assert_eq!(client.run(key, operation, payload), Err(ErrorCode::Crypto), "{operation:?}");
    }
    assert!(is_valid("rsa-2048.pem", SIGN, &client.run("rsa-2048.pem", SIGN, &digest).unwrap()));
}

/// Twelve connections with four requests each at a time, each for a message of its own: every
/// answer is that of its request, and operations shared batches.
#[test]
fn requests_of_many_connections_meet_in_batches() {
    let rig = Rig::start(r#"["site", "curve"]"#, ALL);
    let (name, curve) = (ski("rsa-2048.pem"), ski("ec-p256.pem"));
    thread::scope(|scope| {
        let rig = &rig;
        for number in 0..12 {
            scope.spawn(move || {
                let mut client = rig.connect();
                let ecdsa = Operation::SignEcdsa(Hash::Sha256);
                for round in 0..10 {
                    let message = |at| format!("client {number}, round {round}, request {at}");
                    let bytes: Vec<u8> = (0..4)
                        .flat_map(|at| {
                            let digest = Hash::Sha256.digest(message(at).as_bytes());
                            match (number + at) % 4 {
                                0 => request(at, Some(curve), ecdsa.code(), digest.as_ref()),
                                _ => request(at, Some(name), SIGN.code(), digest.as_ref()),
                            }
                        })
                        .collect();
                    client.send(&bytes);
                    let mut seen = [false; 4];
                    for _ in 0..4 {
                        let (id, opcode, signature) = client.receive().expect("an answer");
                        assert_eq!(opcode, tollgate_keyless::RESPONSE, "round {round}");
                        let is_ecdsa = (number + id) % 4 == 0;
                        let (key, operation) = match is_ecdsa {
                            true => ("ec-p256.pem", ecdsa),
                            false => ("rsa-2048.pem", SIGN),
                        };
                        let message = message(id);
                        assert!(is_valid_for(message.as_bytes(), key, operation, &signature));
                        assert!(!core::mem::replace(&mut seen[id as usize], true));
                    }
                }
            });
        }
    });
    assert_eq!(rig.running.counts().requests_of("sign", "done"), 480);
    let (batches, operations) = rig.running.counts().batches();
    assert!(batches > 0 && operations > batches, "{batches} batches of {operations}");
}
