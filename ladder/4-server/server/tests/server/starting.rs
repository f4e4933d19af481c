//! A server that cannot start reports the reason and the remedy in one line.

use std::path::{Path, PathBuf};

use crate::rig::{Folder, certify, fetch, keys, pem, run};
use tollgate_server::{Certificate, Config, Engine, KeyKind, Protocol, Server, Suite};

/// Returns the single line of the error.
fn refusal(config: Config) -> String {
    let line = Server::start(config).unwrap_err().to_string();
    assert!(!line.contains('\n') && line.len() > 30, "{line:?}");
    line
}

fn assert_says(config: Config, words: &[&str]) {
    let line = refusal(config);
    for word in words {
        assert!(line.contains(word), "{word:?} is not in {line:?}");
    }
}

#[test]
fn a_port_in_use() {
    let first = Server::start(Config::default()).unwrap();
    let config = Config { address: first.addr(), workers: 2, ..Config::default() };
    assert_says(
        config,
        &["the port is in use", "stop the other server", &first.addr().to_string()],
    );
}

#[test]
fn an_address_of_another_machine() {
    let config = Config { address: "192.0.2.1:0".parse().unwrap(), ..Config::default() };
    assert_says(config, &["cannot listen on 192.0.2.1:0", "take one of its own"]);
}

#[test]
fn contradictory_settings_are_refused() {
    let default = Config::default;
    assert_says(Config { workers: 0, ..default() }, &["0 workers", "from 1 to 1024"]);
    assert_says(
        Config { pin: Some(vec![0, 1]), ..default() },
        &["2 cores are given for 1 workers"],
    );
    assert_says(Config { protocols: vec![], ..default() }, &["no TLS version"]);
    assert_says(Config { groups: vec![], ..default() }, &["no group"]);
    let ecdsa = Config { suites: vec![Suite::EcdheEcdsaAes128Gcm], ..default() };
    assert_says(ecdsa, &["none of the suites fits the rsa-2048 key"]);
    let tls13 =
        Config { suites: vec![Suite::Aes128Gcm], protocols: vec![Protocol::Tls12], ..default() };
    assert_says(tls13, &["none of the suites fits"]);
}

#[test]
fn a_missing_core_is_refused() {
    for core in [1000, 1_000_000] {
        let config = Config { pin: Some(vec![core]), ..Config::default() };
        assert_says(config, &["cannot pin a worker to core", "taskset"]);
    }
}

fn with(chain: &Path, key: &Path) -> Config {
    Config { certificate: pem(chain, key), ..Config::default() }
}

#[test]
fn keys_and_certificates() {
    let folder = Folder::new();
    let key = keys().join("rsa-2048.pem");
    let chain = certify(&folder, &key);
    let running = Server::start(with(&chain, &key)).unwrap();
    assert_eq!(running.key_kind(), KeyKind::Rsa { bits: 2048 });
    let resolve = format!("localhost:{}:127.0.0.1", running.addr().port());
    let url = format!("https://localhost:{}/bytes/1", running.addr().port());
    fetch(&["--cacert", chain.to_str().unwrap(), "--resolve", &resolve, &url]);

    assert_says(with(&chain, &chain), &["no usable private key"]);
    assert_says(with(&key, &key), &["no usable certificate"]);
    let other = keys().join("rsa-3072.pem");
    assert_says(with(&chain, &other), &["the private key does not match the certificate"]);
    let encrypted = keys().join("rsa-2048-encrypted.pem");
    assert_says(with(&chain, &encrypted), &["it is encrypted"]);
    let ed448 = folder.path("ed448.pem");
    let out = ed448.to_str().unwrap();
    assert!(run("openssl", &["genpkey", "-algorithm", "ED448", "-out", out], b"").status.success());
    let chain = certify(&folder, &ed448);
    assert_says(
        with(&chain, &ed448),
        &["its type or curve is not supported", "RSA, ECDSA on P-256 or P-384, or Ed25519"],
    );
}

#[test]
fn a_missing_root_or_log_folder_is_refused() {
    let absent = PathBuf::from("/nonexistent/folder");
    let config = Config { root: Some(absent.clone()), ..Config::default() };
    assert_says(config, &["cannot read the folder /nonexistent/folder", "check the path"]);
    let config = Config { access_log: Some(absent), ..Config::default() };
    assert_says(config, &["cannot append to the access log", "check the path"]);
    // Even root cannot append to this file.
    let config = Config { access_log: Some("/proc/version".into()), ..Config::default() };
    assert_says(config, &["cannot append to the access log /proc/version"]);
}

#[test]
fn a_key_that_the_engine_refuses_is_an_error() {
    let certificate = Certificate::SelfSigned(KeyKind::EcdsaP384);
    let config = Config { certificate, engine: Engine::Tollgate, ..Config::default() };
    let words = [
        "engine tollgate does not support this ecdsa-p384 key",
        "provider default would sign",
        "P-256",
    ];
    assert_says(config, &words);

    let folder = Folder::new();
    let key = keys().join("rsa-2048-3primes.pem");
    let chain = certify(&folder, &key);
    let config = Config { engine: Engine::Tollgate, ..with(&chain, &key) };
    assert_says(config, &["engine tollgate does not support this rsa-2048 key", "two primes"]);
    Server::start(with(&chain, &key)).unwrap();
}
