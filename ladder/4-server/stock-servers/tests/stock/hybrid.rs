//! The group X25519MLKEM768 where stock servers and libssl decide: malformed key shares,
//! `HelloRetryRequest`, system-wide lists, back ends, and processors without the fast code.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use tollgate_stock_servers::{Error, Product, Running, Settings};

use crate::command::s_client_with;
use crate::rig::{
    GROUPS, HYBRID, becomes, confirmed, counted, group_plan, load, load_without_referee,
    openssl_has_the_hybrid, programs, settle, start, with_directives, with_groups, with_provider,
};

/// The number of the group (draft-ietf-tls-ecdhe-mlkem).
pub(crate) const HYBRID_ID: u16 = 0x11ec;

/// The length in bytes of a public key of ML-KEM-768.
const ML_KEM_BYTES: usize = 1184;

/// The names of alerts (RFC 8446, section 6).
const ILLEGAL_PARAMETER: u8 = 47;
const DECODE_ERROR: u8 = 50;

/// Returns a valid share: a public key of ML-KEM-768 with coefficients of zero, and the base point.
pub(crate) fn share() -> Vec<u8> {
    let mut share = vec![0; ML_KEM_BYTES + 32];
    share[ML_KEM_BYTES] = 9;
    share
}

/// Returns the record of a `ClientHello` of TLS 1.3 with one key share.
pub(crate) fn hello(group: u16, share: &[u8]) -> Vec<u8> {
    let after_length = |bytes: &[u8]| {
        let length = u16::try_from(bytes.len()).unwrap();
        [&length.to_be_bytes(), bytes].concat()
    };
    let extension =
        |number: u16, body: &[u8]| [&number.to_be_bytes(), &*after_length(body)].concat();
    let key_share = [&group.to_be_bytes(), &*after_length(share)].concat();
    let extensions = [
        extension(10, &after_length(&group.to_be_bytes())), // supported_groups
        extension(13, &after_length(&[8, 4, 4, 3])), // signatures: RSA-PSS and ECDSA, SHA-256
        extension(43, &[2, 3, 4]),                   // supported_versions: TLS 1.3
        extension(51, &after_length(&key_share)),
    ];
    // version, random bytes, no session, TLS_AES_128_GCM_SHA256, no compression
    let start = [&[3, 3][..], &[7; 32], &[0], &[0, 2, 0x13, 1], &[1, 0]].concat();
    let body = [start, after_length(&extensions.concat())].concat();
    let message = [&[1, 0][..], &after_length(&body)].concat();
    [&[22, 3, 1][..], &after_length(&message)].concat()
}

/// Sends a record; returns the server's first record: its type and its body.
fn answer(address: SocketAddr, record: &[u8]) -> (u8, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(record).unwrap();
    let mut head = [0; 5];
    stream.read_exact(&mut head).unwrap();
    let mut body = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
    stream.read_exact(&mut body).unwrap();
    (head[0], body)
}

/// Returns the alerts that answer malformed shares; a share that is answered has none.
fn alerts(running: &Running) -> Vec<Option<u8>> {
    let changed = |change: fn(&mut Vec<u8>)| {
        let mut share = share();
        change(&mut share);
        share
    };
    let shares = [
        share(),
        changed(|share| _ = share.pop()),
        changed(|share| share.push(0)),
        changed(|share| share.truncate(32)),
        // The first coefficient is the modulus, 3329: 12 bits, least significant first.
        changed(|share| share[..2].copy_from_slice(&[0x01, 0x0d])),
        // The point has a low order.
        changed(|share| share[ML_KEM_BYTES] = 0),
        Vec::new(),
        share(),
    ];
    let alert = |share: &Vec<u8>| match answer(running.address(), &hello(HYBRID_ID, share)) {
        (21, body) => Some(body[1]),
        (record, body) => {
            assert_eq!((record, body[0]), (22, 2), "a ServerHello");
            let key_share = [0, 51, 4, 100, 0x11, 0xec, 4, 96]; // of 1120 bytes
            assert!(body.windows(8).any(|bytes| bytes == key_share), "{body:?}");
            None
        }
    };
    shares.iter().map(alert).collect()
}

#[test]
fn malformed_shares_get_the_alerts_of_openssl() {
    let settings = with_groups(Product::Nginx, GROUPS, with_provider());
    let Some(running) = start(Product::Nginx, &settings) else { return };
    let refused = Some(ILLEGAL_PARAMETER);
    let mut expected = vec![refused; 8];
    expected[0] = None;
    expected[6] = Some(DECODE_ERROR);
    expected[7] = None;
    assert_eq!(alerts(&running), expected);
    becomes(&[2, 0], || exchanged(&running));
    if openssl_has_the_hybrid() {
        let without = start(Product::Nginx, &Settings { module: None, ..settings }).unwrap();
        assert_eq!(alerts(&without), expected);
    }
}

/// Returns the numbers of encapsulations and decapsulations.
fn exchanged(running: &Running) -> [u64; 2] {
    ["encapsulations", "decapsulations"].map(|counter| counted(running, counter))
}

/// The client offers a share of its first group alone, and the server has the other one.
#[test]
fn hello_retry_requests_ask_for_the_hybrid_and_for_another_group() {
    for (served, offered, x25519_generations, expected) in [
        (HYBRID, "X25519:X25519MLKEM768", 1, [1, 1]),
        ("X25519", "X25519MLKEM768:X25519", 2, [0, 0]),
    ] {
        let settings = with_groups(Product::Nginx, served, with_provider());
        let Some(running) = start(Product::Nginx, &settings) else { return };
        let conf = running.folder().join("openssl.cnf");
        let words = format!("-tls1_3 -msg -groups {offered}");
        let [said, errors] = s_client_with(&conf, &running, &words, "GET / HTTP/1.0\r\n\r\n");
        assert_eq!(said.matches("ClientHello").count(), 2, "{said}{errors}");
        becomes(&expected, || exchanged(&running));
        becomes(&[1, x25519_generations], || {
            ["kem_generations", "x25519_generations"].map(|counter| counted(&running, counter))
        });
    }
}

/// OpenSSL's configuration lists the groups for all programs that name none.
#[test]
fn a_system_wide_list_serves_every_product() {
    for product in programs() {
        // It always names its groups.
        if product == Product::Stunnel {
            continue;
        }
        let list = [("openssl.Groups", GROUPS)];
        let Some(running) = start(product, &with_directives(&list, with_provider())) else {
            continue;
        };
        let count = confirmed(&load(&running, &group_plan(HYBRID, 200)));
        settle(&running);
        becomes(&[count, 0], || exchanged(&running));
    }
}

/// HAProxy is the server of its clients and a client of its back ends. Each back end's connection
/// has one request: an idle one would hold a key when the worker ends, and libcrypto then does not
/// let the provider write its last counts.
#[test]
fn haproxy_reaches_back_ends_with_the_hybrid() {
    let settings = with_groups(Product::Nginx, GROUPS, with_provider());
    let settings = with_directives(&[("http.keepalive_timeout", "0")], settings);
    let Some(backend) = start(Product::Nginx, &settings) else { return };
    let mut received = 0;
    for asynchronous in [false, true] {
        let directives =
            [("server.ssl", ""), ("server.verify", "none"), ("openssl.Groups", GROUPS)];
        let address = Some(backend.address());
        let settings = Settings { asynchronous, backend: address, ..with_provider() };
        let settings = with_groups(Product::Haproxy, GROUPS, settings);
        let Some(running) = start(Product::Haproxy, &with_directives(&directives, settings)) else {
            return;
        };
        let count = confirmed(&load_without_referee(&running, &group_plan(HYBRID, 200)));
        settle(&running);
        becomes(&[count; 2], || exchanged(&running));
        received += count;
        becomes(&[received, 0], || exchanged(&backend));
    }
}

/// A configuration for OpenSSL 3.0 names the group, so that a server without it does not start.
#[test]
fn portable_code_serves_the_group_where_openssl_has_none() {
    let has = openssl_has_the_hybrid();
    for (setting, serves) in [("auto", !has), ("on", true), ("off", false)] {
        let mut settings = with_groups(Product::Nginx, HYBRID, with_provider());
        settings.provider.insert("ml_kem".to_owned(), setting.to_owned());
        let veto = "ifma,avxifma,avx512f,adx,avx2";
        settings.environment.insert("TOLLGATE_CPU_DISABLE".to_owned(), veto.to_owned());
        if !has && !serves {
            let failed = Product::Nginx.start(&settings);
            assert!(matches!(failed, Err(Error::Failed { .. } | Error::Missing(_))), "{failed:?}");
            continue;
        }
        let Some(running) = start(Product::Nginx, &settings) else { return };
        let count = confirmed(&load(&running, &group_plan(HYBRID, 200)));
        becomes(&count, || counted(&running, "signatures"));
        assert_eq!(exchanged(&running), [if serves { count } else { 0 }, 0], "{setting}");
    }
}
