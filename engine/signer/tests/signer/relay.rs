//! Keys that upstream signers have: operations, permissions, many requests, and settings.

use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use core::time::Duration;
use std::io::Read as _;
use std::net::Shutdown;
use std::sync::Arc;

use openssl::rsa::Padding;
use tollgate_keyless::{ErrorCode, Operation};
use tollgate_rsa::Hash;
use tollgate_signer::Signer;

use crate::relay_rig::{RELAY, Reaction, Script, Site, connected, eventually, relay_settings};
use crate::rig::{
    Folder, MESSAGE, Rig, SIGN, digest, is_valid, is_valid_for, key, key_file, own_client, read,
    request, ski,
};
use crate::tls::{CLIENT, Pair, Subject, tables};

#[test]
fn operations_run_on_an_upstream_signer() {
    let site = Site::new();
    let upstream = site.upstream();
    let relay = site.relay(&[upstream.rig.running.addr().unwrap()], "");
    // Without a wait for the connection: the first request waits for it.
    let mut client = relay.connect();
    let hashes = [Hash::Sha256, Hash::Sha384, Hash::Sha512];
    let rsa =
        hashes.into_iter().flat_map(|it| [Operation::SignPkcs1v15(it), Operation::SignPss(it)]);
    let ecdsa = hashes.into_iter().map(Operation::SignEcdsa);
    let all = rsa.map(|it| ("rsa-2048.pem", it)).chain(ecdsa.map(|it| ("ec-p256.pem", it)));
    for (name, operation) in all {
        let (Operation::SignPkcs1v15(hash) | Operation::SignPss(hash) | Operation::SignEcdsa(hash)) =
            operation
        else {
            panic!()
        };
        let signature = client.run(name, operation, hash.digest(MESSAGE).as_ref()).unwrap();
        assert!(is_valid(name, operation, &signature), "{operation:?}");
    }
    let rsa = key("rsa-2048.pem").rsa().unwrap();
    let mut ciphertext = vec![0; 256];
    rsa.public_encrypt(&[7; 48], &mut ciphertext, Padding::PKCS1).unwrap();
    let em = client.run("rsa-2048.pem", Operation::Decrypt, &ciphertext).unwrap();
    assert!(em.len() == 256 && em.ends_with(&[7; 48]) && em[207] == 0);
    // The relay has this key itself.
    assert!(client.run("rsa-4096.pem", SIGN, &digest()).is_ok());

    let counts = relay.running.counts();
    assert_eq!(
        (counts.requests_of("sign", "done"), counts.requests_of("decrypt", "done")),
        (10, 1)
    );
    let up = counts.upstream("up0").unwrap();
    assert_eq!((up.connected, up.done, up.refused + up.wrong + up.lost), (1, 10, 0));
    assert_eq!((counts.fallbacks, counts.hedges), (0, 0));
    let of_upstream = upstream.rig.running.counts();
    assert_eq!(of_upstream.requests_of("sign", "done"), 9);
    assert!(relay.audit().contains(r#""signer":"up0","outcome":"done""#), "{}", relay.audit());
    assert!(upstream.rig.audit().contains(r#""client":"relay""#), "{}", upstream.rig.audit());
    let page = relay.metrics();
    for line in [
        r#"tollgate_signer_upstream_connected{upstream="up0"} 1"#,
        r#"tollgate_signer_upstream_requests_total{upstream="up0",outcome="done"} 10"#,
        r#"tollgate_signer_hedges_total{outcome="won"} 0"#,
        "tollgate_signer_fallbacks_total 0",
    ] {
        assert!(page.contains(line), "{line} in {page}");
    }
}

/// Inputs that do not suit the key are refused before they are sent: a frame that is too long would end
/// the connection that all clients share.
#[test]
fn refusals_of_either_signer_are_answered() {
    let site = Site::new();
    let upstream = site.upstream();
    let relay = site.relay(&[upstream.rig.running.addr().unwrap()], "");
    connected(&relay, 1);
    let mut client = relay.connect();
    for payload in [&[][..], &[7; 31], &[7; 3000]] {
        assert_eq!(client.run("rsa-2048.pem", SIGN, payload), Err(ErrorCode::Crypto));
    }
    assert_eq!(client.run("rsa-2048.pem", Operation::Decrypt, &[7; 255]), Err(ErrorCode::Crypto));
    let wrong_type = Operation::SignEcdsa(Hash::Sha256);
    assert_eq!(client.run("rsa-2048.pem", wrong_type, &digest()), Err(ErrorCode::Crypto));
    assert_eq!(client.run("rsa-3072.pem", SIGN, &digest()), Err(ErrorCode::KeyNotFound));
    let raw = client.run("rsa-2048.pem", Operation::Raw, &[1; 256]);
    assert_eq!(raw, Err(ErrorCode::BadOpcode));
    assert_eq!(relay.running.counts().upstream("up0").unwrap().refused, 0);
    // A number that is not below the modulus: the upstream signer finds that.
    let large = client.run("rsa-2048.pem", Operation::Decrypt, &[0xff; 256]);
    assert_eq!(large, Err(ErrorCode::Crypto));

    // The permission is revoked there.
    let clients = RELAY.replace(r#"["sign", "decrypt"]"#, r#"["decrypt"]"#);
    upstream.rig.reload(&tables(&upstream.files, &clients)).unwrap();
    assert_eq!(client.run("rsa-2048.pem", SIGN, &digest()), Err(ErrorCode::BadOpcode));
    let clients = RELAY.replace(r#"["site", "curve", "raw"]"#, r#"["curve"]"#);
    upstream.rig.reload(&tables(&upstream.files, &clients)).unwrap();
    assert_eq!(client.run("rsa-2048.pem", SIGN, &digest()), Err(ErrorCode::KeyNotFound));
    upstream.rig.reload(&tables(&upstream.files, &RELAY.replace("relay", "other"))).unwrap();
    assert_eq!(client.run("rsa-2048.pem", SIGN, &digest()), Err(ErrorCode::Internal));
    upstream.rig.reload(&tables(&upstream.files, RELAY)).unwrap();
    eventually("the permission is back", || {
        relay.connect().run("rsa-2048.pem", SIGN, &digest()).is_ok()
    });
    assert!(
        relay.said.lock().unwrap().iter().any(|line| line.contains("up0 closed the connection"))
    );
}

/// A client sends more than the signer takes at a time; the answers of another one come meanwhile.
#[test]
fn many_requests_wait_in_their_connection() {
    let site = Site::new();
    let upstream = site.upstream();
    let folder = Folder::new();
    site.files(&folder, &site.pair(Subject { dns: &["relay"], ..CLIENT }));
    let text = relay_settings(&folder, &[upstream.rig.running.addr().unwrap()], "limit = 30", "");
    let text = text + "[limits]\nrequests_max = 4\n";
    let relay = Rig::of(folder, &text, |config, say| Signer::start(config, say));
    let (mut client, mut other) = (relay.connect(), relay.connect());
    for id in 0..100 {
        client.send(&request(id, Some(ski("rsa-2048.pem")), SIGN.code(), &digest()));
    }
    assert!(other.run("ec-p256.pem", Operation::SignEcdsa(Hash::Sha256), &digest()).is_ok());
    client.stream.shutdown(Shutdown::Write).unwrap();
    let mut ids: Vec<u32> = (0..100)
        .map(|_| {
            let (id, _, signature) = client.receive().unwrap();
            assert!(is_valid("rsa-2048.pem", SIGN, &signature));
            id
        })
        .collect();
    assert_eq!(client.receive(), None);
    ids.sort_unstable();
    assert_eq!(ids, (0..100).collect::<Vec<_>>());
    assert_eq!(relay.running.counts().upstream("up0").unwrap().done, 101);
}

/// A connection ends with requests in flight, and another one takes its place in the signer: it gets
/// the answer to its own request only.
#[test]
fn answers_to_a_connection_that_has_ended_go_nowhere() {
    let site = Site::new();
    let gate = Arc::new(AtomicU32::new(0));
    let of_script = Arc::clone(&gate);
    let signer = site.pair(Subject { dns: &["signer"], ..CLIENT });
    let upstream = Script::start(&signer, move |number, _| {
        while of_script.load(SeqCst) <= number {
            std::thread::sleep(Duration::from_millis(1));
        }
        Reaction::Sign(Duration::ZERO)
    });
    let relay = site.relay(&[upstream.address], "limit = 30");
    connected(&relay, 1);
    let mut client = relay.connect();
    for id in 0..3 {
        client.send(&request(id, Some(ski("rsa-2048.pem")), SIGN.code(), &digest()));
    }
    eventually("the signer is asked", || upstream.asked.load(SeqCst) > 0);
    drop(client);
    gate.store(1, SeqCst); // the answer finds that the client has gone
    eventually("its connection has ended", || relay.running.counts().connections_open == 0);
    assert_eq!(relay.audit().matches(r#""outcome":"abandoned""#).count(), 2);
    let other = Hash::Sha256.digest(b"another message");
    let mut next = relay.connect();
    next.send(&request(77, Some(ski("rsa-2048.pem")), SIGN.code(), other.as_ref()));
    gate.store(4, SeqCst);
    let (id, _, signature) = next.receive().unwrap();
    assert!(id == 77 && is_valid_for(b"another message", "rsa-2048.pem", SIGN, &signature));
    next.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(next.stream.read(&mut [0]).is_err(), "no other answer");
    assert_eq!(relay.running.counts().upstream("up0").unwrap().done, 2);
}

/// A reload with other signers: they get the operations in flight too.
#[test]
fn a_reload_takes_other_signers() {
    let site = Site::new();
    let signer = site.pair(Subject { dns: &["signer"], ..CLIENT });
    let silent = Script::start(&signer, |_, _| Reaction::Silence);
    let upstream = site.upstream();
    let relay = site.relay(&[silent.address], "limit = 30");
    connected(&relay, 1);
    let mut client = relay.connect();
    client.send(&request(5, Some(ski("rsa-2048.pem")), SIGN.code(), &digest()));
    eventually("the first one is asked", || silent.asked.load(SeqCst) == 1);
    let address = upstream.rig.running.addr().unwrap();
    let reload = |lines: &str| {
        let text = relay_settings(&relay.folder, &[address], lines, "");
        relay.running.reload(&read(&relay.folder, &text).unwrap())
    };
    reload("limit = 30").unwrap();
    let (id, _, signature) = client.receive().unwrap();
    assert!(id == 5 && is_valid("rsa-2048.pem", SIGN, &signature));
    // The same settings and files keep the connection.
    let before = upstream.rig.running.counts().tls_connections;
    reload("limit = 30").unwrap();
    assert!(client.run("rsa-2048.pem", SIGN, &digest()).is_ok());
    assert_eq!(upstream.rig.running.counts().tls_connections, before);
    // Another certificate takes a new one.
    site.files(&relay.folder, &site.pair(Subject { dns: &["relay"], ..CLIENT }));
    reload("limit = 30").unwrap();
    assert!(client.run("rsa-2048.pem", SIGN, &digest()).is_ok());
    assert_eq!(upstream.rig.running.counts().tls_connections, before + 1);
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let site = Site::new();
    let folder = Folder::new();
    site.files(&folder, &site.pair(Subject { dns: &["relay"], ..CLIENT }));
    let addresses = ["127.0.0.1:9", "127.0.0.1:10"].map(|it| it.parse().unwrap());
    let check = |text: &str| {
        let checked = read(&folder, text).and_then(|config| Signer::check(&config));
        checked.map_err(|why| why.to_string())
    };
    let good = relay_settings(&folder, &addresses, "limit = 0.3\nhedge_after = 0.1", "");
    assert_eq!(check(&good), Ok(()));
    let start = good.find("[relay]").unwrap();
    let end = good.find("[[key]]").unwrap();
    let without = [&good[..start], &good[end..good.find("[[upstream]]").unwrap()]].concat()
        + &own_client(r#"["site"]"#, r#"["sign"]"#);
    let wrong_pair = Pair::new(CLIENT, None).key.private_key_to_pem_pkcs8().unwrap();
    folder.write("other.key", wrong_pair);
    let fallback = |file: &str| {
        let text = format!("fallback = {:?}", key_file(file));
        relay_settings(&folder, &addresses, "", &text)
    };
    assert_eq!(check(&fallback("rsa-2048.pem")), Ok(()));
    let tls = "[tls]\naddress = \"127.0.0.1:0\"\nchain = \"chain.pem\"\nkey = \"key.pem\"\n\
               client_roots = \"roots.pem\"\n[[client]]\nname = \"a\"\ncertificate = \"a\"\n\
               keys = [\"site\"]\n";
    for (text, why) in [
        (without, "it is a stub: add [relay]"),
        (good.replace("limit = 0.3", "limit = 0"), "`relay.limit`"),
        (good.replace("limit = 0.3", "limit = 61"), "`relay.limit`"),
        (good.replace("hedge_after = 0.1", "hedge_after = 0.3"), "below `relay.limit`"),
        (good.replace("hedge_after = 0.1", "hedge_percent_max = 51"), "from 0 to 50"),
        (good.replace("up1", "up0"), "give each its own"),
        (good.replace(":10\"", ":9\""), "there twice"),
        (good.replace("certificate = \"signer\"", "certificate = \"\""), "upstream.certificate"),
        (relay_settings(&folder, &[], "", ""), "0 signers"),
        (good.replace("\"key.pem\"", "\"other.key\""), "matching pair"),
        (fallback("rsa-3072.pem"), "another key than that of the stub"),
        (good.replace("file = \"rsa-2048.pem\"", "file = \"roots.pem\""), "no usable key"),
        (good.clone() + tls, "only clients on the Unix socket"),
    ] {
        let said = check(&text).expect_err(why);
        assert!(said.contains(why) && !said.contains('\n'), "{why}: {said}");
    }
    let private =
        good.replace("file = \"rsa-2048.pem\"", "file = \"own.key\"\nfallback = \"own.key\"");
    folder.write("own.key", std::fs::read(key_file("rsa-2048.pem")).unwrap());
    assert!(check(&private).unwrap_err().contains("`fallback` has no use"));
    let rig = Rig::start(r#"["site"]"#, r#"["sign"]"#);
    assert!(rig.running.counts().upstreams.is_empty());
}
