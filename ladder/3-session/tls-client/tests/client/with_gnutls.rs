//! Sessions with `gnutls-serv`, a separate process. It supports every suite, including the suites
//! of 2001.

use tollgate_tls_client::{Group, KeyExchange, Settings, SignatureScheme, Suite};

use crate::peer;
use crate::peer::Process;
use crate::peer::socket::page;

/// Everything that `GnuTLS` supports in TLS 1.2 and 1.3.
const ALL: &str = "NORMAL:-VERS-ALL:+VERS-TLS1.2:+VERS-TLS1.3:+ARCFOUR-128:+3DES-CBC:\
     +AES-128-CBC:+AES-256-CBC:+SHA1:+SHA256:+SHA384:+RSA:+GROUP-ALL";

/// Returns the `GnuTLS` spelling, such as `RSA_AES_128_CBC_SHA256`. For TLS 1.3 this is the cipher
/// alone, such as `AES-128-GCM`.
fn name_of_gnutls(suite: Suite) -> String {
    let name = suite.name().trim_start_matches("TLS_").replace("WITH_", "");
    if suite.is_tls13() {
        let (cipher, _hash) = name.rsplit_once('_').unwrap();
        return cipher.replace('_', "-");
    }
    let name = name.replace("RC4", "ARCFOUR").replace("POLY1305_SHA256", "POLY1305");
    if name.ends_with("_SHA") { name + "1" } else { name }
}

#[test]
fn every_suite_transfers_responses() {
    let Some(server) = Process::gnutls_serv("suites", ALL, &["--disable-client-cert"]) else {
        return;
    };
    for suite in Suite::ALL {
        let settings = Settings::new(suite);
        let group = Some(settings.groups[0]).filter(|_| suite.has_group());
        let mut client = peer::client(settings);
        for _ in 0..2 {
            let text = String::from_utf8(page(server.connect(), &mut client)).unwrap();
            assert!(text.starts_with("HTTP/1.0 200 OK"), "{suite}: {text}");
            assert!(text.contains(&name_of_gnutls(suite)), "{suite}: {text}");
            let facts = client.facts();
            assert_eq!(facts.group, group, "{suite}");
            assert_eq!(facts.signature_verified, suite.exchange() != KeyExchange::Rsa);
            client.reset().unwrap();
        }
    }
}

#[test]
fn every_group_of_either_version_agrees() {
    let Some(server) = Process::gnutls_serv("groups", ALL, &["--disable-client-cert"]) else {
        return;
    };
    let ecdhe = Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
    let curves = [Group::X25519, Group::P256, Group::P384];
    let suites = [ecdhe, Suite::TLS_AES_256_GCM_SHA384];
    for (suite, group) in suites.into_iter().flat_map(|suite| curves.map(|group| (suite, group))) {
        let settings = Settings { groups: vec![group], ..Settings::new(suite) };
        let mut client = peer::client(settings);
        assert!(page(server.connect(), &mut client).starts_with(b"HTTP/1.0 200 OK"), "{group}");
        assert_eq!(client.facts().group, Some(group), "{suite}");
    }
}

#[test]
fn signature_schemes_select_the_certificate() {
    let Some(server) = Process::gnutls_serv("schemes", ALL, &["--disable-client-cert"]) else {
        return;
    };
    for (schemes, expected) in [
        (SignatureScheme::RSA.to_vec(), SignatureScheme::PssSha256),
        (SignatureScheme::CURVES.to_vec(), SignatureScheme::EcdsaSha256),
    ] {
        let settings = Settings { schemes, ..Settings::new(Suite::TLS_AES_128_GCM_SHA256) };
        let mut client = peer::client(settings);
        assert!(page(server.connect(), &mut client).starts_with(b"HTTP/1.0 200 OK"));
        assert_eq!(client.facts().signature, Some(expected));
    }
}
