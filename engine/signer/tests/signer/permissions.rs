//! Clients get their keys and operations, and nothing else.

use openssl::rsa::Padding;
use tollgate_keyless::{ErrorCode, Operation, PING, PONG, Ski};

use crate::rig::{Rig, SIGN, digest, is_valid, key, own_client, own_uid, request, ski};

#[test]
fn keys_of_others_are_as_unknown_ones() {
    let rig = Rig::start(r#"["site"]"#, r#"["sign", "decrypt"]"#);
    let mut client = rig.connect();
    let digest = digest();
    let unknown = Ski::new([1; 20]);
    for operation in [SIGN, Operation::Decrypt, Operation::Raw] {
        // all the same: no key, a key that does not exist, a key of nobody, a key of another type
        for name in [None, Some(unknown), Some(ski("rsa-4096.pem")), Some(ski("ec-p256.pem"))] {
            let answer = client.ask(name, operation.code(), &digest);
            assert_eq!(answer, Err(ErrorCode::KeyNotFound), "{operation:?} {name:?}");
        }
    }
    assert!(client.run("rsa-2048.pem", SIGN, &digest).is_ok());
}

#[test]
fn operations_that_are_not_allowed_are_refused() {
    let digest = digest();
    let raw = vec![1; 256];
    let ciphertext = {
        let mut ciphertext = vec![0; 256];
        let rsa = key("rsa-2048.pem").rsa().unwrap();
        rsa.public_encrypt(&[7; 48], &mut ciphertext, Padding::PKCS1).unwrap();
        ciphertext
    };
    let requests = [(SIGN, &digest), (Operation::Decrypt, &ciphertext), (Operation::Raw, &raw)];
    for (allow, allowed) in [
        (r#"["sign"]"#, [true, false, false]),
        (r#"["decrypt"]"#, [false, true, false]),
        (r#"["sign", "decrypt"]"#, [true, true, false]),
    ] {
        let rig = Rig::start(r#"["site"]"#, allow);
        let mut client = rig.connect();
        for ((operation, payload), allowed) in requests.into_iter().zip(allowed) {
            let answer = client.run("rsa-2048.pem", operation, payload);
            match allowed {
                true => assert!(answer.is_ok(), "{allow} {operation:?}"),
                false => assert_eq!(answer, Err(ErrorCode::BadOpcode), "{allow} {operation:?}"),
            }
        }
        let log = rig.audit();
        let done = log.lines().filter(|line| line.contains(r#""outcome":"done""#)).count();
        assert_eq!(done, allowed.into_iter().filter(|is_allowed| *is_allowed).count(), "{log}");
        assert_eq!(log.matches("bad-opcode").count(), 3 - done, "{log}");
    }
}

#[test]
fn the_raw_operation_needs_the_key_s_permission_and_the_client_s() {
    let rig = Rig::start(r#"["raw"]"#, r#"["sign", "raw"]"#);
    let mut client = rig.connect();
    let number = [&[0][..], &[5; 383]].concat();
    let result = client.run("rsa-3072.pem", Operation::Raw, &number).unwrap();
    let mut back = vec![0; 384];
    key("rsa-3072.pem").rsa().unwrap().public_encrypt(&result, &mut back, Padding::NONE).unwrap();
    assert_eq!(back, number);
    drop(rig);
    // the key allows it, but the client does not have it
    let rig = Rig::start(r#"["raw"]"#, r#"["sign", "decrypt"]"#);
    let answer = rig.connect().run("rsa-3072.pem", Operation::Raw, &number);
    assert_eq!(answer, Err(ErrorCode::BadOpcode));
}

/// Another user's number stands in the settings.
#[test]
fn a_user_who_is_no_client_gets_nothing() {
    let other = own_uid() + 1;
    let table = format!("[[client]]\nname = \"x\"\nuid = {other}\nkeys = [\"site\"]\n");
    let rig = Rig::with("", &table);
    let mut client = rig.connect();
    client.send(&request(1, Some(ski("rsa-2048.pem")), SIGN.code(), &digest()));
    assert_eq!(client.receive(), None);
    rig.logged("refused: no client");
    let log = rig.audit();
    assert!(!log.contains("operation"), "{log}");
    assert!(log.contains(&format!("uid {}, process", own_uid())), "{log}");
    let counts = rig.running.counts();
    assert_eq!((counts.connections_refused, counts.connections_open), (1, 0));
}

#[test]
fn other_opcodes_are_refused() {
    let rig = Rig::start(r#"["site", "curve"]"#, r#"["sign", "decrypt"]"#);
    let mut client = rig.connect();
    let known: Vec<u8> =
        [1, 8].into_iter().chain(4..=7).chain(0x14..=0x17).chain(0x35..=0x37).collect();
    for opcode in (0..=u8::MAX).filter(|code| !known.contains(code) && *code != PING) {
        let expected = match opcode {
            0xf0 | 0xf2 | 0xff => ErrorCode::UnexpectedOpcode,
            _ => ErrorCode::BadOpcode,
        };
        let answer = client.ask(Some(ski("rsa-2048.pem")), opcode, &digest());
        assert_eq!(answer, Err(expected), "{opcode}");
    }
    client.send(&request(5, None, PING, b"are you there?"));
    assert_eq!(client.receive(), Some((5, PONG, b"are you there?".to_vec())));
}

#[test]
fn a_revoked_permission_holds_for_open_connections() {
    let rig = Rig::start(r#"["site", "curve"]"#, r#"["sign"]"#);
    let mut client = rig.connect();
    let digest = digest();
    assert!(client.run("rsa-2048.pem", SIGN, &digest).is_ok());
    // nothing changes with settings that are not usable
    assert!(rig.reload(&own_client(r#"["missing"]"#, r#"["sign"]"#)).is_err());
    assert!(client.run("rsa-2048.pem", SIGN, &digest).is_ok());

    rig.reload(&own_client(r#"["curve"]"#, r#"["sign"]"#)).unwrap();
    let answer = client.run("rsa-2048.pem", SIGN, &digest);
    assert_eq!(answer, Err(ErrorCode::KeyNotFound));

    rig.reload(&own_client(r#"["site"]"#, r#"["sign"]"#)).unwrap();
    let signature = client.run("rsa-2048.pem", SIGN, &digest).unwrap();
    assert!(is_valid("rsa-2048.pem", SIGN, &signature));

    let other = own_uid() + 1;
    rig.reload(&format!("[[client]]\nname = \"x\"\nuid = {other}\nkeys = [\"site\"]\n")).unwrap();
    client.send(&request(1, Some(ski("rsa-2048.pem")), SIGN.code(), &digest));
    assert_eq!(client.receive(), None);
    rig.logged("not allowed any more");
}
