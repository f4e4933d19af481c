//! The access logs of the products agree with the client's counts: for some hundred handshakes, or
//! for 100,000 handshakes of each product with `TOLLGATE_TEST_LONG`.

use tollgate_load::{Close, Exchange, Finding, Offer, Plan, Protocol, Verdict};
use tollgate_stock_servers::{Product, Settings};

use crate::rig::{BYTES, certificate, confirmed, is_long, load, plan, start};

/// The number of stalled runs at which the test fails, because the machine is too busy.
const STALLS_MAX: u32 = 8;

/// Compares the counts without the provider, with every way to close, until enough handshakes are
/// counted.
fn agrees(product: Product) {
    let of = |(protocol, close)| Plan { close, ..plan(protocol, 0) };
    agrees_in(product, WAYS.map(of).into());
}

const WAYS: [(Protocol, Close); 4] = [
    (Protocol::Tls13, Close::Fin),
    (Protocol::Tls12Rsa, Close::RstAfterConfirm),
    (Protocol::Tls12X25519, Close::Fin),
    (Protocol::Tls13, Close::RstAfterConfirm),
];

fn agrees_in(product: Product, plans: Vec<Plan>) {
    let (all, sustain_ms) = if is_long() { (100_000, 5000) } else { (200, 200) };
    let settings = Settings { bodies: vec![BYTES], ..Settings::new(certificate("rsa-2048.pem")) };
    let Some(running) = start(product, &settings) else { return };
    let (mut count, mut stalls) = (0, 0);
    for plan in plans.into_iter().cycle() {
        let outcome = load(&running, &Plan { sustain_ms, ..plan });
        // asserts that the log has the client's numbers
        count += confirmed(&outcome);
        if outcome.reasons == [Finding::Stalled] {
            stalls += 1;
            assert!(stalls < STALLS_MAX, "{outcome}");
        } else {
            assert_eq!(outcome.verdict, Verdict::Valid, "{outcome}");
        }
        if count >= all {
            break;
        }
    }
}

#[test]
fn apache_and_the_client_count_the_same() {
    agrees(Product::Apache);
}

#[test]
fn gnutls_and_the_client_count_the_same() {
    let plans = WAYS.map(|(protocol, close)| {
        // sessions of the old suites besides those of today's
        let suite = match (protocol, close) {
            (Protocol::Tls12Rsa, _) => Some("TLS_RSA_WITH_RC4_128_SHA"),
            (Protocol::Tls13, Close::Fin) => Some("TLS_RSA_WITH_3DES_EDE_CBC_SHA"),
            _ => None,
        };
        let protocol = if suite.is_some() { Protocol::Tls12Rsa } else { protocol };
        let offer = Offer { suite: suite.map(str::to_owned), ..Offer::default() };
        Plan { close, offer, exchange: Exchange::HandshakeOnly, ..plan(protocol, 0) }
    });
    agrees_in(Product::Gnutls, plans.into());
}

#[test]
fn haproxy_and_the_client_count_the_same() {
    agrees(Product::Haproxy);
}

#[test]
fn lighttpd_and_the_client_count_the_same() {
    agrees(Product::Lighttpd);
}

#[test]
fn nginx_and_the_client_count_the_same() {
    agrees(Product::Nginx);
}
