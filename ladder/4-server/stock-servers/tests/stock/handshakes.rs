//! Every product with every use of the key.

use tollgate_load::{Plan, Protocol, Verdict};
use tollgate_stock_servers::{Product, Settings};

use crate::rig::{
    PROTOCOLS, becomes, confirmed, counted, load, mapped, plan, settle, start, with_provider,
};

/// Checks that the provider signs or decrypts once for each handshake, and no other provider does.
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
    let refused = (counted(&running, "refused_keys"), counted(&running, "unwritten_metrics"));
    assert_eq!(refused, (0, 0), "{running:?}");
}

/// Defines a test for each product, without or with paused handshakes.
macro_rules! products {
    ($($test:ident: $product:ident, $asynchronous:literal;)*) => {$(
        #[test]
        fn $test() {
            let settings = Settings { asynchronous: $asynchronous, ..with_provider() };
            works_with_the_provider(Product::$product, &settings);
        }
    )*};
}

products! {
    apache: Apache, false;
    haproxy: Haproxy, false;
    haproxy_with_paused_handshakes: Haproxy, true;
    hitch: Hitch, false;
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
