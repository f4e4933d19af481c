//! Each product resumes sessions by every mechanism that it supports, and its log agrees with the
//! client's counts.

use tollgate_load::{Close, Mechanism, Outcome, Plan, Protocol, Resume, Verdict};
use tollgate_stock_servers::{Product, Settings};

use crate::rig::{certificate, is_long, load, plan, start};

/// Long enough that sessions at the start and the end hardly change the share.
const SUSTAIN_MS: u64 = 1000;

fn resumed(product: Product, protocol: Protocol, by: Mechanism) -> Option<Outcome> {
    let settings = Settings {
        bodies: vec![100],
        resumption: Some(by),
        ..Settings::new(certificate("rsa-2048.pem"))
    };
    let running = start(product, &settings)?;
    let plan = Plan {
        resume: Some(Resume { share: 0.5, by }),
        exchange: tollgate_load::Exchange::bytes(100),
        close: if by == Mechanism::EarlyData { Close::Fin } else { Close::RstAfterConfirm },
        warm_up_ms: 100,
        ..plan(protocol, SUSTAIN_MS)
    };
    Some(load(&running, &plan))
}

fn works(product: Product, protocols: &[Protocol], by: Mechanism) {
    for &protocol in protocols {
        let Some(outcome) = resumed(product, protocol, by) else { return };
        assert_eq!(outcome.verdict, Verdict::Valid, "{product} {by}\n{outcome}");
        let (whole, seen) = (&outcome.whole, outcome.seen.unwrap());
        assert_eq!(seen.resumed, whole.resumptions.accepted);
        assert_eq!(whole.resumptions.refused, 0, "{product} {by}\n{outcome}");
        let early = if by == Mechanism::EarlyData { whole.resumptions.accepted } else { 0 };
        assert_eq!(whole.resumptions.early_data, early, "{product} {by}\n{outcome}");
    }
}

#[test]
fn the_products_resume_by_the_usual_mechanisms() {
    works(Product::Nginx, &[Protocol::Tls13], Mechanism::Psk);
    works(Product::Haproxy, &[Protocol::Tls12X25519], Mechanism::Ticket);
    works(Product::Apache, &[Protocol::Tls12X25519], Mechanism::SessionId);
}

#[test]
fn the_products_resume_by_every_mechanism_that_they_have() {
    if !is_long() {
        return eprintln!("not tested: a dozen runs of a second; set TOLLGATE_TEST_LONG");
    }
    let tls12 = [Protocol::Tls12Rsa, Protocol::Tls12X25519];
    for product in [Product::Apache, Product::Haproxy, Product::Nginx] {
        for by in Mechanism::ALL.into_iter().filter(|&by| product.can_resume(by)) {
            let protocols = if by.is_tls13() { &[Protocol::Tls13][..] } else { &tls12 };
            works(product, protocols, by);
        }
    }
}
