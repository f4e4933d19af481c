//! Every product with every use of the key, of X25519, of X25519MLKEM768 and of ECDSA.

use std::path::Path;

use tollgate_load::{Plan, Protocol, Verdict};
use tollgate_server::Certificate;
use tollgate_stock_servers::{Product, Running, Settings};

use crate::command::connect;
use crate::rig::{
    GROUPS, HYBRID, PROTOCOLS, becomes, confirmed, counted, ecdsa_plans, group_plan, load, mapped,
    plan, settle, start, with_ecdsa, with_groups, with_provider,
};

/// Returns the numbers of X25519 keys and secrets, and of encapsulations.
fn exchanges(running: &Running) -> [u64; 3] {
    ["x25519_generations", "x25519_derivations", "encapsulations"]
        .map(|counter| counted(running, counter))
}

/// Checks that the provider signs or decrypts once for each handshake, and no other provider does;
/// and that it exchanges keys once for each handshake that has a key exchange.
#[track_caller]
fn works_with_the_provider(product: Product, asynchronous: bool) {
    let settings = with_groups(product, GROUPS, Settings { asynchronous, ..with_provider() });
    let Some(running) = start(product, &settings) else { return };
    let [mut signed, mut decrypted, mut encapsulated] = [0, 0, 0];
    let hybrid = group_plan(HYBRID, 200);
    for plan in PROTOCOLS.map(|protocol| plan(protocol, 200)).into_iter().chain([hybrid]) {
        // s_server serves one connection after the other, and sleeps a second when a handshake
        // pauses
        let plan = Plan { phase_ms_max: 30_000, ..plan };
        let count = confirmed(&load(&running, &plan));
        match (plan.protocol, plan.offer.group) {
            (Protocol::Tls12Rsa, _) => decrypted += count,
            (_, Some(_)) => encapsulated += count,
            (_, None) => signed += count,
        }
    }
    for process in running.workers().unwrap() {
        assert_eq!(mapped(process), settings.module, "{running:?}");
    }
    settle(&running);
    becomes(&(signed + encapsulated, decrypted), || {
        (counted(&running, "signatures"), counted(&running, "decryptions"))
    });
    becomes(&[signed, signed, encapsulated], || exchanges(&running));
    let refused = (counted(&running, "refused_keys"), counted(&running, "unwritten_metrics"));
    assert_eq!(refused, (0, 0), "{running:?}");
}

/// Defines a test for each product, without or with paused handshakes.
macro_rules! products {
    ($($test:ident: $product:ident, $asynchronous:literal;)*) => {$(
        #[test]
        fn $test() {
            works_with_the_provider(Product::$product, $asynchronous);
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
    for product in [Product::Nginx, Product::Haproxy, Product::Apache] {
        for (group, name, counts) in [
            ("X25519", "x25519", [1, 1, 0]),
            ("P-256", "secp256r1", [0; 3]),
            (HYBRID, HYBRID, [0, 0, 1]),
        ] {
            let settings = with_groups(product, group, with_provider());
            let Some(running) = start(product, &settings) else { return };
            let mut count = confirmed(&load(&running, &group_plan(name, 200)));
            if group != HYBRID {
                let plan = Plan { protocol: Protocol::Tls12X25519, ..group_plan(name, 200) };
                count += confirmed(&load(&running, &plan));
            }
            settle(&running);
            becomes(&count, || counted(&running, "signatures"));
            becomes(&counts.map(|times| times * count), || exchanges(&running));
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
    assert_eq!(exchanges(&running), [0; 3]);
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
        let settings = Settings { asynchronous, ..with_ecdsa(product) };
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
        let settings = Settings { provider, directives, ..with_ecdsa(Product::Nginx) };
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
