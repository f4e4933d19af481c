//! Sessions with `openssl s_server`, a separate process that supports RSA key exchange.

use openssl::ssl::cipher_name;
use tollgate_tls_client::{
    Confirmation, Connection, Freshness, Group, KeyExchange, Settings, Suite,
};

use crate::peer;
use crate::peer::socket::{drive, page};
use crate::peer::{ECDHE, Process, RSA, Seen, TLS13};

fn kinds() -> Vec<(&'static str, Vec<&'static str>, Settings)> {
    let with = |suite, groups: &[Group]| Settings {
        server_name: Some("host.example".into()),
        ..peer::settings(suite, groups)
    };
    let rsa = vec!["-tls1_2", "-cipher", "AES128-GCM-SHA256"];
    let ecdhe = vec!["-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"];
    let tls13 = vec!["-tls1_3"];
    let (x25519, p256) = ([Group::X25519], [Group::P256]);
    let retry = vec!["-tls1_3", "-groups", "P-256"];
    vec![
        ("rsa", rsa.clone(), with(RSA, &x25519)),
        ("rsa-reuse", rsa, Settings { premaster: Freshness::Reuse, ..with(RSA, &x25519) }),
        ("ecdhe-x25519", ecdhe.clone(), with(ECDHE, &x25519)),
        ("ecdhe-p256", ecdhe, with(ECDHE, &p256)),
        ("tls13-x25519", tls13.clone(), with(TLS13, &x25519)),
        ("tls13-p256", tls13, with(TLS13, &p256)),
        ("tls13-retry", retry, with(TLS13, &[Group::X25519, Group::P256])),
    ]
}

#[test]
fn s_server_answers_requests_in_every_kind_of_session() {
    for (name, mut arguments, settings) in kinds() {
        arguments.extend(["-www", "-alpn", "http/1.1"]);
        let Some(server) = Process::s_server(name, &arguments) else { return };
        let suite = settings.suite;
        let mut client = peer::client(settings);
        let mut randoms = vec![];
        for round in 0..3 {
            randoms.push(client.outgoing()[11..43].to_vec());
            let response = String::from_utf8(page(server.connect(), &mut client)).unwrap();
            assert!(response.starts_with("HTTP/1.0 200 ok"), "{name}: {response}");
            assert!(response.contains(&format!("New, {}", suite.version())), "{name}: {response}");
            let facts = client.facts();
            assert_eq!(facts.hello_retry, name == "tls13-retry", "{name}");
            assert_eq!(facts.signature_verified, suite != RSA, "{name}");
            assert_eq!(facts.extended_master_secret, suite != TLS13, "{name}");
            assert_eq!(facts.tickets, if suite == TLS13 { 2 } else { 1 }, "{name} {round}");
            let expected =
                if suite == TLS13 { Confirmation::Response } else { Confirmation::Finished };
            assert_eq!(client.confirmation(), Some(expected), "{name}");
            client.reset().unwrap();
            assert!(!client.is_established() && client.confirmation().is_none());
            assert_eq!(client.key(), None);
        }
        assert!(randoms[0] != randoms[1] && randoms[1] != randoms[2] && randoms[2] != randoms[0]);
    }
}

/// `-rev` reverses each line, so data flows in both directions over several records. The server
/// asks for a certificate, which the client does not have.
#[test]
fn lines_are_returned_reversed_to_a_client_without_a_certificate() {
    for (name, mut arguments, settings) in kinds() {
        arguments.extend(["-rev", "-verify", "1"]);
        let Some(server) = Process::s_server(&format!("{name}-rev"), &arguments) else { return };
        let mut client = peer::client(settings);
        let mut socket = server.connect();
        drive(&mut client, &mut socket, |client, _| client.is_established()).unwrap();
        assert!(client.facts().client_certificate_asked, "{name}");
        for length in [1, 1000, 16_000] {
            let line: Vec<u8> = (b'a'..=b'z').cycle().take(length).collect();
            client.send(&[&line[..], b"\n"].concat()).unwrap();
            let whole = |_: &Connection, seen: &Seen| seen.data.len() > length;
            let got = drive(&mut client, &mut socket, whole).unwrap().data;
            let expected: Vec<u8> = line.iter().rev().copied().chain([b'\n']).collect();
            assert!(got == expected, "{name} {length}");
        }
    }
}

#[test]
fn every_suite_of_s_server_works_with_every_group() {
    let arguments = ["-www", "-cipher", "ALL:@SECLEVEL=0", "-ciphersuites"];
    let tls13 = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
    let groups = "x25519:P-256:P-384";
    let arguments = [&arguments[..], &[tls13, "-groups", groups]].concat();
    let Some(server) = Process::s_server("suites", &arguments) else { return };
    let names = Suite::ALL.map(|suite| (suite, cipher_name(suite.name())));
    // OpenSSL 3 has neither RC4 nor triple DES
    let names: Vec<_> = names.into_iter().filter(|(_, name)| *name != "(NONE)").collect();
    assert!(names.len() >= 17, "{names:?}");
    let curves = [Group::X25519, Group::P256, Group::P384];
    for (suite, name) in names {
        let groups = match suite.exchange() {
            KeyExchange::Rsa => vec![vec![]],
            // the certificate's curve must be in the list
            KeyExchange::EcdheEcdsa => curves.map(|g| vec![g, Group::P256]).to_vec(),
            KeyExchange::EcdheRsa | KeyExchange::Tls13 => curves.map(|group| vec![group]).to_vec(),
        };
        for mut groups in groups {
            groups.dedup();
            for encrypt_then_mac in [true, false] {
                let groups = groups.clone();
                let expected = groups.first().copied();
                let settings = Settings { groups, encrypt_then_mac, ..Settings::new(suite) };
                let mut client = peer::client(settings);
                let text = String::from_utf8(page(server.connect(), &mut client)).unwrap();
                assert!(text.starts_with("HTTP/1.0 200 ok"), "{suite}: {text}");
                assert!(text.contains(&format!("Cipher is {name}\n")), "{suite}: {text}");
                let facts = client.facts();
                assert_eq!(facts.group, expected);
                let is_cbc = suite.cipher().is_cbc();
                assert_eq!(facts.encrypt_then_mac, is_cbc && encrypt_then_mac, "{suite}");
                if !is_cbc {
                    break; // once is enough
                }
            }
        }
    }
}
