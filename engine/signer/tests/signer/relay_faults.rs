//! Upstream signers that end, hang, are slow, answer nonsense, or are not who they should be.

use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use core::time::Duration;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use openssl::rsa::Padding;
use tollgate_keyless::{ErrorCode, Message, Operation, REFUSAL, RESPONSE};

use crate::relay_rig::{
    RELAY, Reaction, Script, Site, answer, connected, eventually, relay_settings, signed,
};
use crate::rig::{Rig, SIGN, digest, is_valid, key, key_file, read, request, ski};
use crate::tls::{CLIENT, DAY, Pair, Subject, TlsRig, tables};

const SIGNER: Subject<'_> = Subject { dns: &["signer"], ..CLIENT };

/// A limit that a busy machine keeps.
const LONG: &str = "limit = 30";

#[track_caller]
fn signs(relay: &Rig, why: &str) {
    let signature = relay.connect().run("rsa-2048.pem", SIGN, &digest());
    assert!(is_valid("rsa-2048.pem", SIGN, &signature.expect(why)), "{why}");
}

fn address(upstream: &TlsRig) -> core::net::SocketAddr {
    upstream.rig.running.addr().unwrap()
}

#[test]
fn the_next_signer_does_the_operations_of_one_that_has_ended() {
    let site = Site::new();
    let [first, second] = [(); 2].map(|()| site.upstream());
    let relay = site.relay(&[address(&first), address(&second)], LONG);
    connected(&relay, 2);
    (0..5).for_each(|_| signs(&relay, "both are there"));
    let done =
        |relay: &Rig| ["up0", "up1"].map(|it| relay.running.counts().upstream(it).unwrap().done);
    assert_eq!(done(&relay), [5, 0], "the first one is preferred");
    // Requests are in flight while it ends.
    let mut client = relay.connect();
    for id in 0..64 {
        client.send(&request(id, Some(ski("rsa-2048.pem")), SIGN.code(), &digest()));
    }
    drop(first);
    for _ in 0..64 {
        let (_, _, signature) = client.receive().unwrap();
        assert!(is_valid("rsa-2048.pem", SIGN, &signature));
    }
    (0..5).for_each(|_| signs(&relay, "one is there"));
    assert_eq!(done(&relay).iter().sum::<u64>(), 74);
    assert!(done(&relay)[1] >= 5);
    drop(second);
    eventually("both have ended", || {
        relay.connect().run("rsa-2048.pem", SIGN, &digest()) == Err(ErrorCode::Internal)
    });
    let said = relay.said.lock().unwrap().join("\n");
    assert!(said.contains("the signer up1 "), "{said}");
}

/// Signers that answer anything but what was asked. No wrong signature leaves; the other signer does the
/// operation.
#[test]
fn nonsense_never_leaves_the_relay() {
    let site = Site::new();
    let wrong: [fn(&Message<'_>) -> Vec<u8>; 8] = [
        |it| answer(it.id, RESPONSE, &[3; 256]),
        |it| answer(it.id, RESPONSE, &[]),
        |it| signed(&Message { payload: &[9; 32], ..*it }), // a signature of something else
        |it| signed(&Message { id: it.id ^ 1, ..*it }),
        |it| [signed(it), signed(it)].concat()[100..].to_vec(),
        |_| vec![0xff; 1024],
        |it| answer(it.id, 0xf2, &[]),
        |it| answer(it.id, REFUSAL, &[99]),
    ];
    for (number, wrong) in wrong.into_iter().enumerate() {
        let script = Script::start(&site.pair(SIGNER), move |_, it| Reaction::Bytes(wrong(it)));
        let alone = site.relay(&[script.address], LONG);
        connected(&alone, 1);
        let refused = alone.connect().run("rsa-2048.pem", SIGN, &digest());
        assert_eq!(refused, Err(ErrorCode::Internal), "{number}");
        let upstream = site.upstream();
        let relay = site.relay(&[script.address, address(&upstream)], LONG);
        connected(&relay, 2);
        signs(&relay, &number.to_string());
        let counts = relay.running.counts();
        let [bad, good] = ["up0", "up1"].map(|it| counts.upstream(it).unwrap().clone());
        assert_eq!((bad.done, bad.wrong + bad.lost, good.done), (0, 1, 1), "{number}: {counts:?}");
        assert_eq!(bad.wrong, u64::from(number < 3), "{number}");
    }
}

/// A decrypted message of another length is none. The right one comes from the other signer.
#[test]
fn decrypted_messages_have_the_length_of_the_key() {
    let site = Site::new();
    let script = Script::start(&site.pair(SIGNER), |_, it| {
        Reaction::Bytes(answer(it.id, RESPONSE, &[7; 48]))
    });
    let upstream = site.upstream();
    let relay = site.relay(&[script.address, address(&upstream)], LONG);
    connected(&relay, 2);
    let mut ciphertext = vec![0; 256];
    let rsa = key("rsa-2048.pem").rsa().unwrap();
    rsa.public_encrypt(&[5; 48], &mut ciphertext, Padding::PKCS1).unwrap();
    let em = relay.connect().run("rsa-2048.pem", Operation::Decrypt, &ciphertext).unwrap();
    assert!(em.len() == 256 && em.ends_with(&[5; 48]));
    assert_eq!(relay.running.counts().upstream("up0").unwrap().wrong, 1);
}

/// A signer that accepts requests and says nothing: its connection is given up after half of the limit,
/// and the other signer does the operations.
#[test]
fn a_signer_that_hangs_is_left() {
    let site = Site::new();
    let script = Script::start(&site.pair(SIGNER), |_, _| Reaction::Silence);
    let upstream = site.upstream();
    let relay =
        site.relay(&[script.address, address(&upstream)], "limit = 4\nhedge_percent_max = 0");
    connected(&relay, 2);
    let mut client = relay.connect();
    for id in 0..8 {
        client.send(&request(id, Some(ski("rsa-2048.pem")), SIGN.code(), &digest()));
    }
    let begin = Instant::now();
    for _ in 0..8 {
        let (_, _, signature) = client.receive().unwrap();
        assert!(is_valid("rsa-2048.pem", SIGN, &signature));
    }
    assert!(begin.elapsed() > Duration::from_millis(1500), "nobody asked the second one before");
    let counts = relay.running.counts();
    assert_eq!(counts.upstream("up0").unwrap().lost, 8);
    assert_eq!((counts.hedges, counts.hedges_withheld), (0, 8));
    let said = relay.said.lock().unwrap().join("\n");
    assert!(said.contains("the signer up0 did not answer in time"), "{said}");

    let alone = site.relay(&[script.address], "limit = 0.2");
    connected(&alone, 1);
    let refused = alone.connect().run("rsa-2048.pem", SIGN, &digest());
    assert_eq!(refused, Err(ErrorCode::Internal));
}

/// While a signer is late, others get the operations to come.
#[test]
fn a_late_signer_is_the_last_choice() {
    let site = Site::new();
    let script = Script::start(&site.pair(SIGNER), |_, _| Reaction::Silence);
    let upstream = site.upstream();
    let lines = "limit = 60\nhedge_after = 0.05\nhedge_percent_max = 0";
    let relay = site.relay(&[script.address, address(&upstream)], lines);
    connected(&relay, 2);
    let mut waiting = relay.connect();
    waiting.send(&request(1, Some(ski("rsa-2048.pem")), SIGN.code(), &digest()));
    eventually("it is late", || relay.running.counts().hedges_withheld == 1);
    thread::sleep(Duration::from_millis(100)); // twice the delay
    (0..20).for_each(|_| signs(&relay, "the other one"));
    let counts = relay.running.counts();
    assert_eq!((counts.upstream("up1").unwrap().done, counts.hedges), (20, 0));
    assert_eq!(script.asked.load(SeqCst), 1);
}

/// A signer that never completes its handshake costs nothing while another one is there.
#[test]
fn a_signer_that_only_accepts_is_not_waited_for() {
    let site = Site::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = site.upstream();
    let relay = site.relay(&[silent.local_addr().unwrap(), address(&upstream)], LONG);
    connected(&relay, 1);
    (0..20).for_each(|_| signs(&relay, "the other one"));
    let counts = relay.running.counts();
    assert_eq!((counts.upstream("up1").unwrap().done, counts.hedges), (20, 0));
}

/// The second signer is asked if the first one is slow, for at most a share of the requests.
#[test]
fn slow_requests_are_hedged_within_their_share() {
    let site = Site::new();
    // One of twenty requests gets no answer, and does not end the connection either.
    let script = Script::start(&site.pair(SIGNER), |number, _| {
        if number % 20 == 19 { Reaction::Silence } else { Reaction::Sign(Duration::ZERO) }
    });
    let upstream = site.upstream();
    let lines = "limit = 60\nhedge_after = 0.2\nhedge_percent_max = 10";
    let relay = site.relay(&[script.address, address(&upstream)], lines);
    connected(&relay, 2);
    let mut client = relay.connect();
    for _ in 0..60 {
        let signature = client.run("rsa-2048.pem", SIGN, &digest()).unwrap();
        assert!(is_valid("rsa-2048.pem", SIGN, &signature));
    }
    let counts = relay.running.counts();
    let [first, second] = ["up0", "up1"].map(|it| counts.upstream(it).unwrap().done);
    assert_eq!(first + second, 60);
    // On a busy machine others may be slow too, and the second signer may be the first choice.
    let won = counts.hedges_won;
    assert!((1..=6).contains(&counts.hedges), "{counts:?}");
    assert!((1..=second).contains(&won), "{counts:?}");
    let page = relay.metrics();
    let line = format!(r#"tollgate_signer_hedges_total{{outcome="won"}} {won}"#);
    assert!(page.contains(&line), "{page}");
}

/// A refusal of the second signer does not end an operation that the first one still works on.
#[test]
fn a_refusal_waits_for_the_other_signer() {
    let site = Site::new();
    let slow = Script::start(&site.pair(SIGNER), |_, _| Reaction::Sign(Duration::from_millis(600)));
    let refusing = Script::start(&site.pair(SIGNER), |_, it| {
        Reaction::Bytes(answer(it.id, REFUSAL, &[ErrorCode::KeyNotFound as u8]))
    });
    let lines = "limit = 30\nhedge_after = 0.1\nhedge_percent_max = 50";
    let relay = site.relay(&[slow.address, refusing.address], lines);
    connected(&relay, 2);
    let mut client = relay.connect();
    for _ in 0..4 {
        assert!(client.run("rsa-2048.pem", SIGN, &digest()).is_ok());
    }
    let counts = relay.running.counts();
    assert_eq!(counts.upstream("up0").unwrap().done, 4);
    assert!((1..=counts.hedges).contains(&counts.upstream("up1").unwrap().refused));
    assert_eq!(counts.hedges_won, 0);
}

/// An operation whose connections all end is not sent forever.
#[test]
fn a_signer_that_closes_each_time_is_asked_a_few_times() {
    let site = Site::new();
    let script = Script::start(&site.pair(SIGNER), |_, _| Reaction::Close);
    let relay = site.relay(&[script.address], LONG);
    connected(&relay, 1);
    let refused = relay.connect().run("rsa-2048.pem", SIGN, &digest());
    assert_eq!(refused, Err(ErrorCode::Internal));
    assert!((1..=4).contains(&script.asked.load(SeqCst)));
}

#[test]
fn signers_and_relays_prove_who_they_are() {
    let site = Site::new();
    let other = Site::new();
    let relay = Subject { dns: &["relay"], ..CLIENT };
    let good = site.pair(relay);
    let expired = Subject { valid_s: -DAY, ..SIGNER };
    for (signer, why) in [
        (site.pair(Subject { dns: &["another"], ..CLIENT }), "another name"),
        (site.pair(expired), "certificate has expired"),
        (other.pair(SIGNER), "certificate that was refused"),
        (Pair::new(SIGNER, None), "certificate that was refused"),
    ] {
        let script = Script::start(&signer, |_, _| Reaction::Sign(Duration::ZERO));
        let relay = site.relay_as(&good, &[script.address], LONG, "");
        let refused = relay.connect().run("rsa-2048.pem", SIGN, &digest());
        assert_eq!(refused, Err(ErrorCode::Internal), "{why}");
        eventually(why, || relay.said.lock().unwrap().iter().any(|line| line.contains(why)));
        assert_eq!(script.asked.load(SeqCst), 0, "{why}");
    }
    // The upstream signer refuses these relays.
    let upstream = site.upstream();
    for (own, why) in [
        (site.pair(Subject { dns: &["stranger"], ..CLIENT }), "no client"),
        (site.pair(Subject { valid_s: -DAY, ..relay }), "expired"),
        (other.pair(relay), "another authority"),
    ] {
        let relay = site.relay_as(&own, &[address(&upstream)], LONG, "");
        let refused = relay.connect().run("rsa-2048.pem", SIGN, &digest());
        assert_eq!(refused, Err(ErrorCode::Internal), "{why}");
        let is = |line: &String| line.contains("give this machine's certificate a table");
        eventually(why, || relay.said.lock().unwrap().iter().any(is));
    }
    let relay = site.relay_as(&good, &[address(&upstream)], LONG, "");
    signs(&relay, "the right one");
    assert_eq!(upstream.rig.running.counts().requests_of("sign", "done"), 1);
}

/// Connections end with the validity of either certificate, although both were verified before.
#[test]
fn connections_end_when_a_certificate_expires() {
    let site = Site::new();
    let relay = Subject { dns: &["relay"], ..CLIENT };
    let upstream = site.upstream();
    // Long enough for the start on a busy machine.
    const VALID_S: i64 = 8;
    let signer = site.pair(Subject { valid_s: VALID_S, ..SIGNER });
    let script = Script::start(&signer, |_, _| Reaction::Sign(Duration::ZERO));
    let of_signer = site.relay_as(&site.pair(relay), &[script.address], LONG, "");
    let own = site.pair(Subject { valid_s: VALID_S, ..relay });
    let of_relay = site.relay_as(&own, &[address(&upstream)], LONG, "");
    for relay in [&of_signer, &of_relay] {
        connected(relay, 1);
        signs(relay, "valid");
    }
    for (relay, why) in [(&of_signer, "certificate has expired"), (&of_relay, "table [[client]]")] {
        eventually(why, || relay.said.lock().unwrap().iter().any(|line| line.contains(why)));
        let refused = relay.connect().run("rsa-2048.pem", SIGN, &digest());
        assert_eq!(refused, Err(ErrorCode::Internal), "{why}");
    }
    upstream.rig.logged("certificate expired");
}

/// The fallback is used if no signer does an operation, and never against a refusal.
#[test]
fn a_fallback_signs_while_no_signer_does() {
    let site = Site::new();
    let upstream = site.upstream();
    let own = site.pair(Subject { dns: &["relay"], ..CLIENT });
    let fallback = format!("fallback = {:?}", key_file("rsa-2048.pem"));
    let relay = site.relay_as(&own, &[address(&upstream)], LONG, &fallback);
    connected(&relay, 1);
    signs(&relay, "the signer is there");
    let clients = RELAY.replace(r#"["sign", "decrypt"]"#, r#"["decrypt"]"#);
    upstream.rig.reload(&tables(&upstream.files, &clients)).unwrap();
    let refused = relay.connect().run("rsa-2048.pem", SIGN, &digest());
    assert_eq!(refused, Err(ErrorCode::BadOpcode), "it may not");
    assert_eq!(relay.running.counts().fallbacks, 0);
    drop(upstream);
    (0..5).for_each(|_| signs(&relay, "no signer"));
    let mut ciphertext = vec![0; 256];
    let rsa = key("rsa-2048.pem").rsa().unwrap();
    rsa.public_encrypt(&[5; 48], &mut ciphertext, Padding::PKCS1).unwrap();
    let em = relay.connect().run("rsa-2048.pem", Operation::Decrypt, &ciphertext).unwrap();
    assert!(em.len() == 256 && em.ends_with(&[5; 48]));
    let mut other = relay.connect();
    let ecdsa = Operation::SignEcdsa(tollgate_rsa::Hash::Sha256);
    assert_eq!(other.run("ec-p256.pem", ecdsa, &digest()), Err(ErrorCode::Internal));
    assert_eq!(relay.running.counts().fallbacks, 6);
    assert_eq!(relay.audit().matches(r#""signer":"fallback","outcome":"done""#).count(), 6);
    assert!(relay.metrics().contains("tollgate_signer_fallbacks_total 6"));
}

/// A refusal stays final if the second signer never answers: no fallback, and no other error.
#[test]
fn a_fallback_is_not_used_after_a_refusal() {
    let site = Site::new();
    let is_hedged = Arc::new(AtomicBool::new(false));
    let of_script = Arc::clone(&is_hedged);
    // Two requests earn the second request of the third one.
    let refusing = Script::start(&site.pair(SIGNER), move |number, it| match number {
        0 | 1 => Reaction::Sign(Duration::ZERO),
        2 => {
            eventually("the other one is asked", || of_script.load(SeqCst));
            Reaction::Bytes(answer(it.id, REFUSAL, &[ErrorCode::KeyNotFound as u8]))
        }
        _ => Reaction::Silence,
    });
    let forgetful = Script::start(&site.pair(SIGNER), |number, _| match number {
        0 => Reaction::Silence,
        _ => Reaction::Sign(Duration::ZERO),
    });
    let own = site.pair(Subject { dns: &["relay"], ..CLIENT });
    let fallback = format!("fallback = {:?}", key_file("rsa-2048.pem"));
    let lines = "limit = 6\nhedge_after = 0.1\nhedge_percent_max = 50";
    let relay = site.relay_as(&own, &[refusing.address, forgetful.address], lines, &fallback);
    connected(&relay, 2);
    (0..2).for_each(|_| signs(&relay, "the first one"));
    let refused = thread::scope(|threads| {
        let client = threads.spawn(|| relay.connect().run("rsa-2048.pem", SIGN, &digest()));
        eventually("the second one is asked", || relay.running.counts().hedges == 1);
        is_hedged.store(true, SeqCst);
        // It answers others meanwhile, so that its connection is not given up.
        while !client.is_finished() {
            let _ = relay.connect().run("rsa-2048.pem", SIGN, &digest());
            thread::sleep(Duration::from_millis(20));
        }
        client.join().unwrap()
    });
    assert_eq!(refused, Err(ErrorCode::KeyNotFound));
}

/// More operations than the queue takes at once fall back together, when all signers have gone.
#[test]
fn every_operation_in_flight_falls_back() {
    let site = Site::new();
    let script = Script::start(&site.pair(SIGNER), |_, _| Reaction::Silence);
    let own = site.pair(Subject { dns: &["relay"], ..CLIENT });
    let fallback = format!("fallback = {:?}", key_file("rsa-2048.pem"));
    let relay = site.relay_as(&own, &[script.address], "limit = 6", &fallback);
    connected(&relay, 1);
    let mut clients = [(); 4].map(|()| relay.connect());
    for client in &mut clients {
        for id in 0..60 {
            client.send(&request(id, Some(ski("rsa-2048.pem")), SIGN.code(), &digest()));
        }
    }
    for client in &mut clients {
        for _ in 0..60 {
            let (_, opcode, signature) = client.receive().unwrap();
            assert_eq!(opcode, RESPONSE);
            assert!(is_valid("rsa-2048.pem", SIGN, &signature));
        }
    }
    assert_eq!(relay.running.counts().fallbacks, 240);
}

/// A permission that is taken away while a signer works holds for its answer.
#[test]
fn a_revoked_permission_holds_for_operations_in_flight() {
    let site = Site::new();
    let may = Arc::new(AtomicBool::new(false));
    let of_script = Arc::clone(&may);
    let script = Script::start(&site.pair(SIGNER), move |_, _| {
        eventually("it may", || of_script.load(SeqCst));
        Reaction::Sign(Duration::ZERO)
    });
    let relay = site.relay(&[script.address], LONG);
    connected(&relay, 1);
    let mut client = relay.connect();
    client.send(&request(1, Some(ski("rsa-2048.pem")), SIGN.code(), &digest()));
    eventually("it is asked", || script.asked.load(SeqCst) == 1);
    let text = relay_settings(&relay.folder, &[script.address], LONG, "");
    let text = text.replace(r#"["sign", "decrypt"]"#, r#"["decrypt"]"#);
    relay.running.reload(&read(&relay.folder, &text).unwrap()).unwrap();
    may.store(true, SeqCst);
    let (_, opcode, why) = client.receive().unwrap();
    assert_eq!((opcode, &*why), (REFUSAL, &[ErrorCode::BadOpcode as u8][..]));
}
