//! Every product with every way to use the key.

use tollgate_load::{Plan, Protocol, Verdict};
use tollgate_stock_servers::{Product, Settings};

use crate::rig::{
    PROTOCOLS, becomes, confirmed, counted, load, mapped, plan, settle, start, with_provider,
};

/// The provider signs and decrypts once for each handshake, and nothing else does.
#[track_caller]
fn works_with_the_provider(product: Product, settings: &Settings) {
    let Some(running) = start(product, settings) else {
        return;
    };
    let [mut signed, mut decrypted] = [0, 0];
    for protocol in PROTOCOLS {
        // s_server serves one after the other, and sleeps a second where a handshake pauses
        let plan = Plan { phase_ms_max: 30_000, ..plan(protocol, 200) };
        let count = match protocol {
            Protocol::Tls12Rsa => &mut decrypted,
            _ => &mut signed,
        };
        *count += confirmed(&load(&running, &plan));
    }
    for process in running.workers().unwrap() {
        assert_eq!(mapped(process), settings.module, "{running:?}");
    }
    settle(&running);
    becomes(&(signed, decrypted), || {
        (counted(&running, "signatures"), counted(&running, "decryptions"))
    });
    let refused = (counted(&running, "refused_keys"), counted(&running, "unwritten_metrics"));
    assert_eq!(refused, (0, 0), "{running:?}");
}

#[test]
fn apache() {
    works_with_the_provider(Product::Apache, &with_provider());
}

#[test]
fn haproxy() {
    works_with_the_provider(Product::Haproxy, &with_provider());
}

#[test]
fn haproxy_with_paused_handshakes() {
    let settings = Settings { asynchronous: true, ..with_provider() };
    works_with_the_provider(Product::Haproxy, &settings);
}

#[test]
fn hitch() {
    works_with_the_provider(Product::Hitch, &with_provider());
}

#[test]
fn lighttpd() {
    works_with_the_provider(Product::Lighttpd, &with_provider());
}

#[test]
fn nginx() {
    works_with_the_provider(Product::Nginx, &with_provider());
}

#[test]
fn python() {
    works_with_the_provider(Product::Python, &with_provider());
}

#[test]
fn s_server() {
    works_with_the_provider(Product::SServer, &with_provider());
}

#[test]
fn s_server_with_paused_handshakes() {
    let settings = Settings { asynchronous: true, ..with_provider() };
    works_with_the_provider(Product::SServer, &settings);
}

#[test]
fn stunnel() {
    works_with_the_provider(Product::Stunnel, &with_provider());
}

#[test]
fn nginx_logs_kept_connections_and_plain_http() {
    let Some(running) = start(Product::Nginx, &with_provider()) else {
        return;
    };
    for (requests, plain_share) in [(5_u32, 0.0), (3, 0.5), (1, 1.0)] {
        let requests_per_connection = f64::from(requests);
        let plan = Plan { requests_per_connection, plain_share, ..plan(Protocol::Tls13, 200) };
        let outcome = load(&running, &plan);
        // the log has as many handshakes, requests and bytes as the client counted
        assert_eq!(outcome.verdict(), Verdict::Valid, "{outcome}");
        let (whole, plain) = (outcome.whole(), outcome.plain());
        assert_eq!(whole.confirmed, whole.transactions - plain.transactions, "{outcome}");
        assert_eq!(whole.responses, u64::from(requests) * whole.transactions);
        assert_eq!(plain.transactions > 0, plain_share > 0.0, "{outcome}");
    }
}
