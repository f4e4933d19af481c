//! Every product with every use of the key, of X25519 and of ECDSA.

use std::path::Path;

use tollgate_load::{Offer, Plan, Protocol, Verdict};
use tollgate_server::Certificate;
use tollgate_stock_servers::{Product, Running, Settings};

use crate::command::connect;
use crate::rig::{
    PROTOCOLS, becomes, confirmed, counted, ecdsa_plans, load, mapped, plan, settle, start,
    with_ecdsa, with_provider,
};

/// Returns settings with the provider, which exchanges keys with X25519 on every processor.
fn with_x25519() -> Settings {
    Settings { provider: [("x25519".into(), "on".into())].into(), ..with_provider() }
}

/// Returns the numbers of X25519 keys and secrets.
fn exchanges(running: &Running) -> [u64; 2] {
    ["x25519_generations", "x25519_derivations"].map(|counter| counted(running, counter))
}

/// Checks that the provider signs or decrypts once for each handshake, and no other provider does;
/// and that it exchanges keys once for each handshake that has a key exchange.
#[track_caller]
fn works_with_the_provider(product: Product, settings: &Settings) {
    let Some(running) = start(product, settings) else { return };
    let [mut signed, mut decrypted] = [0, 0];
    for protocol in PROTOCOLS {
        // s_server serves one connection after the other, and sleeps a second when a handshake
        // pauses
        let plan = Plan { phase_ms_max: 30_000, ..plan(protocol, 200) };
        let count = if protocol == Protocol::Tls12Rsa { &mut decrypted } else { &mut signed };
        *count += confirmed(&load(&running, &plan));
    }
    for process in running.workers().unwrap() {
        assert_eq!(mapped(process), settings.module, "{running:?}");
    }
    settle(&running);
    becomes(&(signed, decrypted), || {
        (counted(&running, "signatures"), counted(&running, "decryptions"))
    });
    becomes(&[signed; 2], || exchanges(&running));
    let refused = (counted(&running, "refused_keys"), counted(&running, "unwritten_metrics"));
    assert_eq!(refused, (0, 0), "{running:?}");
}

/// Defines a test for each product, without or with paused handshakes.
macro_rules! products {
    ($($test:ident: $product:ident, $asynchronous:literal;)*) => {$(
        #[test]
        fn $test() {
            let settings = Settings { asynchronous: $asynchronous, ..with_x25519() };
            works_with_the_provider(Product::$product, &settings);
        }
    )*};
}

products! {
    apache: Apache, false;
    haproxy: Haproxy, false;
    haproxy_with_paused_handshakes: Haproxy, true;
    lighttpd: Lighttpd, false;
    nginx: Nginx, false;
    python: Python, false;
    s_server: SServer, false;
    s_server_with_paused_handshakes: SServer, true;
    stunnel: Stunnel, false;
}

#[test]
fn nginx_logs_kept_connections_and_plain_http() {
    let Some(running) = start(Product::Nginx, &with_provider()) else { return };
    for (requests, plain_share) in [(5_u32, 0.0), (3, 0.5), (1, 1.0)] {
        let requests_per_connection = f64::from(requests);
        let plan = Plan { requests_per_connection, plain_share, ..plan(Protocol::Tls13, 200) };
        let outcome = load(&running, &plan);
        // the log has as many handshakes, requests and bytes as the client counted
        assert_eq!(outcome.verdict, Verdict::Valid, "{outcome}");
        let (whole, plain) = (&outcome.whole, &outcome.plain);
        assert_eq!(whole.confirmed, whole.transactions - plain.transactions, "{outcome}");
        assert_eq!(whole.responses, u64::from(requests) * whole.transactions);
        assert_eq!(plain.transactions > 0, plain_share > 0.0, "{outcome}");
    }
}

/// Servers whose configuration names one group start and use it.
#[test]
fn servers_with_one_group_use_it() {
    for (product, directive) in [
        (Product::Nginx, "http.ssl_ecdh_curve"),
        (Product::Haproxy, "bind.curves"),
        (Product::Apache, "server.SSLOpenSSLConfCmd Curves"),
    ] {
        for (group, ours) in [("X25519", true), ("P-256", false)] {
            let directives = [(directive.to_owned(), group.to_owned())].into();
            let settings = Settings { directives, ..with_x25519() };
            let Some(running) = start(product, &settings) else { return };
            let mut count = 0;
            for protocol in [Protocol::Tls12X25519, Protocol::Tls13] {
                let group = Some(if ours { "x25519" } else { "secp256r1" }.to_owned());
                let offer = Offer { group, ..Offer::default() };
                count += confirmed(&load(&running, &Plan { offer, ..plan(protocol, 200) }));
            }
            settle(&running);
            becomes(&count, || counted(&running, "signatures"));
            becomes(&[if ours { count } else { 0 }; 2], || exchanges(&running));
        }
    }
}

/// If X25519 is off, OpenSSL's own provider exchanges keys.
#[test]
fn x25519_can_be_off() {
    let settings =
        Settings { provider: [("x25519".into(), "off".into())].into(), ..with_provider() };
    let Some(running) = start(Product::Nginx, &settings) else { return };
    let count = confirmed(&load(&running, &plan(Protocol::Tls13, 200)));
    becomes(&count, || counted(&running, "signatures"));
    assert_eq!(exchanges(&running), [0, 0]);
}

/// One test for each use of libssl: processes that fork, threads, and jobs, which do not pause.
#[test]
fn keys_on_p256_sign_with_ecdsa() {
    for (product, asynchronous) in [
        (Product::Nginx, false),
        (Product::Haproxy, false),
        (Product::Haproxy, true),
        (Product::Apache, false),
        (Product::Stunnel, false),
    ] {
        let settings = Settings { asynchronous, ..with_ecdsa() };
        let Some(running) = start(product, &settings) else { continue };
        let mut count = 0;
        for plan in ecdsa_plans(200) {
            count += confirmed(&load(&running, &plan));
        }
        settle(&running);
        becomes(&[count, 0, 0, 0], || {
            ["ecdsa_signatures", "ecdsa_verifications", "async_operations", "refused_keys"]
                .map(|counter| counted(&running, counter))
        });
    }
}

/// Clients sign with the same key as the server. OpenSSL's own provider verifies their signatures,
/// and signs if ECDSA is off.
#[test]
fn ecdsa_leaves_verifications_to_openssl_and_can_be_off() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors/keys");
    let key = folder.join("ec-p256.pem").display().to_string();
    for (setting, expected) in [("on", 2), ("off", 0)] {
        let provider = [("ecdsa".into(), setting.into())].into();
        let directives = [("http.ssl_verify_client".into(), "optional_no_ca".into())].into();
        let settings = Settings { provider, directives, ..with_ecdsa() };
        let Certificate::Pem { chain, .. } = &settings.certificate else { unreachable!() };
        let certificate = std::env::temp_dir()
            .join(format!("tollgate-ecdsa-{}-{setting}.pem", std::process::id()));
        std::fs::write(&certificate, chain).unwrap();
        let Some(running) = start(Product::Nginx, &settings) else { return };
        let identity = format!("-cert {} -key {key}", certificate.display());
        for version in ["-tls1_2", "-tls1_3"] {
            connect(&running, &format!("{version} {identity}"));
        }
        std::fs::remove_file(certificate).unwrap();
        becomes(&[expected, 0], || {
            ["ecdsa_signatures", "ecdsa_verifications"].map(|counter| counted(&running, counter))
        });
    }
}
