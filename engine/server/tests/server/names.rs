//! Certificates by the name that a client asks for, and their replacement while clients come.

use core::sync::atomic::{AtomicBool, Ordering};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use openssl::bn::BigNumRef;
use openssl::rsa::Rsa;
use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream, SslVerifyMode, SslVersion};
use tollgate_server::{Certificate, Config, Engine, Error, Running, Server};

use crate::rig::{Folder, ONE_REQUEST, TIMEOUT, keys, response, run, tcp};

/// Makes a certificate with this common name and these names for a key of the test vectors.
fn certify(folder: &Folder, name: &str, key: &str, names: &str) -> Certificate {
    let (chain, key) = (folder.path(&format!("{name}.pem")), keys().join(key));
    write_certificate(&chain, &key, name, names);
    Certificate::Files { chain, key }
}

/// Adds a second certificate to the chain.
fn lengthen(folder: &Folder, certificate: &Certificate) {
    let Certificate::Files { chain, .. } = certificate else { unreachable!() };
    let issuer = folder.path("issuer.pem");
    write_certificate(&issuer, &keys().join("rsa-4096.pem"), "issuer", "DNS:issuer");
    fs::write(chain, [fs::read(chain).unwrap(), fs::read(issuer).unwrap()].concat()).unwrap();
}

fn write_certificate(chain: &Path, key: &Path, common_name: &str, names: &str) {
    let [subject, names] = [format!("/CN={common_name}"), format!("subjectAltName={names}")];
    let (key, out) = (key.to_str().unwrap(), chain.to_str().unwrap());
    let args = ["req", "-x509", "-new", "-key", key, "-out", out, "-subj", &subject];
    let output = run("openssl", &[&args[..], &["-addext", &names]].concat(), b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Connects with this name and these signature algorithms; returns the connection.
fn ask(
    running: &Running,
    name: Option<&str>,
    version: SslVersion,
    algorithms: &str,
) -> SslStream<std::net::TcpStream> {
    let mut context = SslContext::builder(SslMethod::tls_client()).unwrap();
    context.set_verify(SslVerifyMode::NONE);
    context.set_max_proto_version(Some(version)).unwrap();
    context.set_sigalgs_list(algorithms).unwrap();
    let mut ssl = Ssl::new(&context.build()).unwrap();
    if let Some(name) = name {
        ssl.set_hostname(name).unwrap();
    }
    let mut stream = SslStream::new(ssl, tcp(running.addr())).unwrap();
    stream.connect().unwrap();
    stream
}

/// Returns the common name of the server's certificate.
fn common_name(stream: &SslStream<std::net::TcpStream>) -> String {
    let certificate = stream.ssl().peer_certificate().unwrap();
    let mut names = certificate.subject_name().entries();
    names.next().unwrap().data().to_string().unwrap()
}

const BOTH: &str = "ECDSA+SHA256:RSA-PSS+SHA256:RSA+SHA256";
const RSA: &str = "RSA-PSS+SHA256:RSA+SHA256";

#[test]
fn clients_get_the_certificate_with_the_name_that_they_ask_for() {
    let folder = Folder::new();
    let config = Config {
        certificate: certify(&folder, "first", "rsa-2048.pem", "DNS:localhost"),
        more_certificates: vec![
            certify(&folder, "a-rsa", "rsa-3072.pem", "DNS:A.example,DNS:*.b.example"),
            certify(&folder, "a-ecdsa", "ec-p256.pem", "DNS:a.example,DNS:A.example"),
        ],
        engine: Engine::OpenSsl,
        ..Config::default()
    };
    lengthen(&folder, &config.certificate);
    let running = Server::start(config).unwrap();
    let cases = [
        (Some("a.example"), BOTH, "a-ecdsa"),
        (Some("a.EXAMPLE."), RSA, "a-rsa"),
        (Some("x.b.example"), BOTH, "a-rsa"),
        (Some("x.y.b.example"), BOTH, "first"), // `*` stands for one label
        (Some("b.example"), BOTH, "first"),
        (Some("localhost"), BOTH, "first"),
        (Some("unknown"), BOTH, "first"),
        (None, BOTH, "first"),
    ];
    for version in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
        for (name, algorithms, expected) in cases {
            let stream = ask(&running, name, version, algorithms);
            assert_eq!(common_name(&stream), expected, "{name:?} {algorithms} {version:?}");
            let chain = stream.ssl().peer_cert_chain().unwrap().len();
            assert_eq!(chain, if expected == "first" { 2 } else { 1 }, "{name:?} {version:?}");
        }
    }
    let _ = running.stop(TIMEOUT);
}

#[test]
fn the_engine_signs_for_every_name() {
    let folder = Folder::new();
    let config = Config {
        certificate: certify(&folder, "first", "rsa-2048.pem", "DNS:localhost"),
        more_certificates: vec![certify(&folder, "second", "rsa-3072.pem", "DNS:a.example")],
        engine: Engine::Tollgate,
        ..Config::default()
    };
    let running = Server::start(config.clone()).unwrap();
    for name in ["a.example", "localhost", "a.example"] {
        let mut stream = ask(&running, Some(name), SslVersion::TLS1_3, RSA);
        stream.write_all(ONE_REQUEST.as_bytes()).unwrap();
        response(&mut stream);
    }
    let report = running.stop(TIMEOUT);
    assert_eq!(report.counters.signer.operations.unwrap().signatures, 3);

    let twice = certify(&folder, "again", "rsa-4096.pem", "DNS:A.example");
    let more_certificates = [config.more_certificates.clone(), vec![twice]].concat();
    let error = Server::start(Config { more_certificates, ..config.clone() }).unwrap_err();
    let expected = "two certificates have the name a.example and a key like rsa-4096";
    assert!(error.to_string().starts_with(expected), "{error}");

    let not_served = certify(&folder, "ed", "ed25519.pem", "DNS:b.example");
    let error =
        Server::start(Config { more_certificates: vec![not_served], ..config }).unwrap_err();
    assert!(
        error.to_string().contains("ed.pem: engine tollgate does not support this ed25519 key")
    );
}

/// Returns the key with another private exponent. Its public half still fits the certificate.
fn damaged(key: &Path) -> Vec<u8> {
    let key = Rsa::private_key_from_pem(&fs::read(key).unwrap()).unwrap();
    let number = |of: &BigNumRef| of.to_owned().unwrap();
    let damage = |of: &BigNumRef| {
        let mut number = number(of);
        number.add_word(2).unwrap();
        number
    };
    let [p, q] = [key.p(), key.q()].map(|prime| number(prime.unwrap()));
    let [dmp1, dmq1] = [key.dmp1(), key.dmq1()].map(|exponent| damage(exponent.unwrap()));
    let (n, e, d, iqmp) =
        (number(key.n()), number(key.e()), damage(key.d()), number(key.iqmp().unwrap()));
    let damaged = Rsa::from_private_components(n, e, d, p, q, dmp1, dmq1, iqmp).unwrap();
    damaged.private_key_to_pem().unwrap()
}

#[track_caller]
fn is_refused(refused: Result<(), Error>, engine: Engine) {
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("key.pem: "), "{engine}: {refused}");
    let reasons = ["its signature is not valid", "signing with it fails"];
    assert!(reasons.iter().any(|reason| refused.contains(reason)), "{engine}: {refused}");
}

#[test]
fn a_reload_renews_the_certificates_of_names() {
    let folder = Folder::new();
    let Certificate::Files { chain, key: first } =
        certify(&folder, "second", "rsa-3072.pem", "DNS:a.example")
    else {
        unreachable!()
    };
    let key = folder.path("key.pem");
    fs::copy(&first, &key).unwrap();
    let running = Server::start(Config {
        certificate: certify(&folder, "first", "rsa-2048.pem", "DNS:localhost"),
        more_certificates: vec![Certificate::Files { chain: chain.clone(), key: key.clone() }],
        ..Config::default()
    })
    .unwrap();
    let served = || {
        let stream = ask(&running, Some("a.example"), SslVersion::TLS1_3, RSA);
        stream.ssl().peer_certificate().unwrap().to_pem().unwrap()
    };
    assert_eq!(served(), fs::read(&chain).unwrap());
    // another certificate for the same key, then one for another key
    for new_key in [&first, &keys().join("rsa-4096.pem")] {
        fs::copy(new_key, &key).unwrap();
        let before = fs::read(&chain).unwrap();
        write_certificate(&chain, &key, "second", "DNS:a.example");
        assert_eq!(served(), before);
        running.reload().unwrap();
        assert_ne!(served(), before);
        assert_eq!(served(), fs::read(&chain).unwrap());
    }
}

#[test]
fn damaged_keys_are_refused_at_the_start_and_by_a_reload() {
    for engine in [Engine::OpenSsl, Engine::Tollgate] {
        let folder = Folder::new();
        let Certificate::Files { chain, key: good } =
            certify(&folder, "second", "rsa-3072.pem", "DNS:a.example")
        else {
            unreachable!()
        };
        let key = folder.path("key.pem");
        fs::copy(&good, &key).unwrap();
        let second = Certificate::Files { chain, key: key.clone() };
        let config = Config {
            certificate: certify(&folder, "first", "rsa-2048.pem", "DNS:localhost"),
            more_certificates: vec![second.clone()],
            engine,
            ..Config::default()
        };
        let running = Server::start(config.clone()).unwrap();
        fs::write(&key, damaged(&good)).unwrap();
        let starts = [Server::start(config.clone()).map(drop), Server::check(config).map(drop)];
        for refused in [running.reload()].into_iter().chain(starts) {
            is_refused(refused, engine);
        }
        let stream = ask(&running, Some("a.example"), SslVersion::TLS1_3, RSA);
        assert_eq!(common_name(&stream), "second");
        let as_default = Config { certificate: second, engine, ..Config::default() };
        is_refused(Server::start(as_default).map(drop), engine);
    }
}

#[test]
fn new_certificates_serve_new_connections_and_no_connection_is_lost() {
    let folder = Folder::new();
    let key = folder.path("key.pem");
    fs::copy(keys().join("rsa-2048.pem"), &key).unwrap();
    let chain = folder.path("chain.pem");
    write_certificate(&chain, &key, "old", "DNS:localhost");
    let certificate = Certificate::Files { chain: chain.clone(), key: key.clone() };
    let engine = Engine::Tollgate;
    let running = Server::start(Config { certificate, engine, workers: 2, ..Config::default() });
    let running = Arc::new(running.unwrap());

    let connect = || ask(&running, None, SslVersion::TLS1_3, RSA);
    let mut open = connect();
    assert_eq!(common_name(&open), "old");
    // clients that come while certificates change
    let ended = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..2)
        .map(|_| {
            let (running, ended) = (Arc::clone(&running), Arc::clone(&ended));
            thread::spawn(move || {
                let mut served = 0;
                while !ended.load(Ordering::Relaxed) {
                    let mut stream = ask(&running, None, SslVersion::TLS1_2, RSA);
                    stream.write_all(ONE_REQUEST.as_bytes()).unwrap();
                    assert!(response(&mut stream).0.starts_with("HTTP/1.1 200 "));
                    served += 1;
                }
                served
            })
        })
        .collect();
    for _ in 0..10 {
        running.reload().unwrap();
        write_certificate(&chain, &key, "old", "DNS:localhost"); // with another number
        running.reload().unwrap();
    }
    write_certificate(&chain, &key, "new", "DNS:localhost");
    running.reload().unwrap();
    ended.store(true, Ordering::Relaxed);
    let served: usize = clients.into_iter().map(|client| client.join().unwrap()).sum();
    assert!(served > 2, "clients came meanwhile: {served}");

    assert_eq!(common_name(&connect()), "new");
    open.write_all(ONE_REQUEST.as_bytes()).unwrap();
    assert!(response(&mut open).0.starts_with("HTTP/1.1 200 "), "it goes on");

    fs::copy(keys().join("rsa-3072.pem"), &key).unwrap();
    let error = running.reload().unwrap_err().to_string();
    assert!(error.contains("does not match the certificate"), "{error}");
    assert_eq!(common_name(&connect()), "new", "still served");
    drop(open);
    let report = Arc::into_inner(running).unwrap().stop(TIMEOUT);
    assert_eq!(report.counters.handshakes_failed_total(), 0);
}
