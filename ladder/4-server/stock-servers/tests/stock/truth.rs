//! The access logs of the products agree with the client's counts: for some hundred handshakes, or
//! for 100,000 handshakes of each product with `TOLLGATE_TEST_LONG`.

use tollgate_load::{Close, Exchange, Finding, Offer, Plan, Protocol, Verdict};
use tollgate_stock_servers::{Product, Settings};

use crate::rig::{BYTES, certificate, confirmed, is_long, load, plan, start};

/// The number of stalled runs at which the test fails, because the machine is too busy.
const STALLS_MAX: u32 = 8;

const WAYS: [(Protocol, Close); 4] = [
    (Protocol::Tls13, Close::Fin),
    (Protocol::Tls12Rsa, Close::RstAfterConfirm),
    (Protocol::Tls12X25519, Close::Fin),
    (Protocol::Tls13, Close::RstAfterConfirm),
];

/// Compares the counts without the provider until enough handshakes are counted.
fn agrees(product: Product, plans: Vec<Plan>) {
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

/// Plans with each way to close. `gnutls-serv` has the old suites besides today's, and logs no
/// requests.
fn plans(product: Product) -> Vec<Plan> {
    let plan = |(protocol, close)| Plan { close, ..plan(protocol, 0) };
    if product != Product::Gnutls {
        return WAYS.map(plan).into();
    }
    let suites = ["TLS_RSA_WITH_3DES_EDE_CBC_SHA", "TLS_RSA_WITH_RC4_128_SHA"];
    let old = suites.map(|suite| Plan {
        offer: Offer { suite: Some(suite.to_owned()), ..Offer::default() },
        ..plan((Protocol::Tls12Rsa, Close::Fin))
    });
    let all = old.into_iter().chain(WAYS[2..].iter().copied().map(plan));
    all.map(|plan| Plan { exchange: Exchange::HandshakeOnly, ..plan }).collect()
}

#[test]
fn servers_and_the_client_count_the_same() {
    use Product::{Apache, Gnutls, Haproxy, Lighttpd, Nginx};

    for product in [Apache, Gnutls, Haproxy, Lighttpd, Nginx] {
        agrees(product, plans(product));
    }
}
