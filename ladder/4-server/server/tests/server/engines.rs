//! Two engines in one process. The counters show which engine signed.

use crate::rig::{self, ONE_REQUEST, Rig, bytes, fetch, s_client};
use tollgate_cpu::{HaveAdxBmi2, HaveAvx2, HaveIfma};
use tollgate_server::log::Line;
use tollgate_server::{Certificate, Config, Engine, KeyKind, Resumption, Server, SignerOperations};

fn start(engine: Engine, kind: KeyKind) -> Rig {
    let certificate = Certificate::SelfSigned(kind);
    Rig::start(Config {
        engine,
        certificate,
        resumption: Resumption::Tickets,
        workers: 2,
        ..Config::default()
    })
}

/// Each server counts its own work, from its start.
#[test]
fn two_servers_on_one_engine_do_not_share_counters() {
    let kind = KeyKind::Rsa { bits: 2048 };
    let servers = [start(Engine::Tollgate, kind), start(Engine::Tollgate, kind)];
    for times in 0..3 {
        for (server, n) in servers.iter().zip([0, times]) {
            let expected = SignerOperations { signatures: n, ..SignerOperations::default() };
            let counters = server.running.counters();
            assert_eq!((counters.signer.operations, counters.handshakes_full), (Some(expected), n));
        }
        fetch(&[&servers[1].url("/bytes/10")]);
    }
}

#[test]
fn each_server_s_engine_signs_its_handshakes() {
    for kind in KeyKind::SELF_SIGNED {
        let stock = start(Engine::OpenSsl, kind);
        if !kind.is_rsa() {
            assert_eq!(fetch(&[&stock.url("/bytes/10")]), bytes(10));
            continue;
        }
        let ours = start(Engine::Tollgate, kind);
        for server in [&stock, &ours, &ours, &stock] {
            let ca = server.folder.path("chain.pem");
            let ca = ca.to_str().unwrap();
            for version in [["--tls-max", "1.2"], ["--tlsv1.3", "--tlsv1.3"]] {
                // curl verifies: a wrong signature would fail the handshake.
                let url = server.url("/bytes/14336");
                let args = [&version[..], &["--cacert", ca, &url]].concat();
                let output =
                    rig::run("curl", &[&["--silent", "--show-error"], &*args].concat(), b"");
                let words = String::from_utf8_lossy(&output.stderr);
                assert!(output.stdout == bytes(14_336), "{kind}: {words}");
            }
            let args = ["-tls1_2", "-cipher", "AES128-SHA"];
            let (_, words) = s_client(server.running.addr(), &args, ONE_REQUEST);
            assert!(words.contains("HTTP/1.1 200 OK"), "{kind}: {words}");
        }
        let (theirs, mine) = (stock.running.counters(), ours.running.counters());
        assert_eq!((theirs.handshakes_full, mine.handshakes_full), (6, 6));
        assert_eq!((theirs.signer.provider.as_str(), theirs.signer.operations), ("default", None));
        assert_eq!(mine.signer.provider, "tollgate");
        // Six operations for six handshakes: the operations of the other server are not counted.
        let (signatures, decryptions) = (4, 2);
        let expected = SignerOperations { signatures, decryptions, ..SignerOperations::default() };
        assert_eq!(mine.signer.operations, Some(expected), "{kind}");

        // A resumed session costs no private-key operation.
        let file = ours.folder.path("session.pem");
        let file = file.to_str().unwrap();
        for way in ["-sess_out", "-sess_in"] {
            s_client(ours.running.addr(), &["-tls1_3", way, file], ONE_REQUEST);
        }
        let counters = ours.running.counters();
        assert_eq!((counters.handshakes_full, counters.handshakes_resumed), (7, 1));
        assert_eq!(counters.signer.operations.unwrap().total(), 7);
        for (rig, engine, provider) in
            [(stock, "openssl", "default"), (ours, "tollgate", "tollgate")]
        {
            let log = rig.finish();
            let Line::Start(start) = &log.0[0] else { panic!("no start line") };
            assert_eq!((start.engine.as_str(), start.provider.as_str()), (engine, provider));
            assert_eq!(start.key, kind.to_string());
        }
    }
}

/// Where the provider has fast kernels, it signs with keys on P-256. Elsewhere the server does not
/// start, because OpenSSL would sign.
#[test]
fn keys_on_p256_sign_with_the_engine_where_it_is_faster() {
    let config = Config {
        engine: Engine::Tollgate,
        certificate: Certificate::SelfSigned(KeyKind::EcdsaP256),
        ..Config::default()
    };
    // its kernels with MULX read tables with AVX2
    let is_fast = HaveAdxBmi2::check().is_some() && HaveAvx2::check().is_some();
    if !is_fast && HaveIfma::check().is_none() {
        let error = Server::start(config).err().unwrap().to_string();
        assert!(error.contains("does not support this ecdsa-p256 key"), "{error}");
        return;
    }
    let server = Rig::with_own_key(config);
    for version in ["1.2", "1.3"] {
        let url = server.url("/bytes/10");
        assert_eq!(fetch(&["--tls-max", version, &url]), bytes(10));
    }
    let expected = SignerOperations { signatures: 2, ..SignerOperations::default() };
    assert_eq!(server.running.counters().signer.operations, Some(expected));
}

/// Handshakes that arrive together share batches, and no handshake waits for others that never
/// come.
#[test]
fn handshakes_of_several_connections_run_as_batches() {
    if HaveIfma::check().is_none() {
        return; // the plan may prefer single operations
    }
    let server = start(Engine::Tollgate, KeyKind::Rsa { bits: 2048 });
    let counted = || server.running.counters().signer.operations.unwrap();
    rig::eventually("a batch", || {
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| drop(rig::connect(server.running.addr())));
            }
        });
        counted().batches > 0
    });
    server.until_closed(); // counts are exact only then
    let SignerOperations { signatures, batches, batched, .. } = counted();
    assert!((2 * batches..=8 * batches).contains(&batched) && batched <= signatures);
    assert_eq!(fetch(&[&server.url("/bytes/10")]), bytes(10), "alone");
    server.until_closed();
    let counters = server.running.counters();
    assert_eq!(counters.handshakes_failed_total(), 0);
    assert_eq!(counted().total(), counters.handshakes_full);
}
