//! Each product resumes sessions by every mechanism that it supports, and its log agrees with the
//! client's counts.

use tollgate_load::{Close, Mechanism, Outcome, Plan, Protocol, Resume, Verdict};
use tollgate_stock_servers::{Product, Settings};

use crate::rig::{
    GROUPS, HYBRID, becomes, certificate, counted, group_plan, is_long, load, plan, settle, start,
    with_groups, with_provider,
};

/// Long enough that sessions at the start and the end hardly change the share.
const SUSTAIN_MS: u64 = 1000;

fn resumed(product: Product, protocol: Protocol, by: Mechanism) -> Option<Outcome> {
    let settings = Settings {
        bodies: vec![100],
        resumption: Some(by),
        ..Settings::new(certificate("rsa-2048.pem"))
    };
    let running = start(product, &settings)?;
    let exchange = tollgate_load::Exchange::bytes(100);
    let plan = Plan { exchange, warm_up_ms: 100, ..plan(protocol, SUSTAIN_MS) };
    Some(load(&running, &half_resumed(by, plan)))
}

/// Returns the plan with half of the sessions resumed.
fn half_resumed(by: Mechanism, plan: Plan) -> Plan {
    let close = if by == Mechanism::EarlyData { Close::Fin } else { Close::RstAfterConfirm };
    Plan { resume: Some(Resume { share: 0.5, by }), close, ..plan }
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

/// A resumed session of TLS 1.3 has no signature, but a key exchange.
#[test]
fn sessions_resume_with_the_hybrid_group() {
    for product in [Product::Apache, Product::Haproxy, Product::Nginx] {
        let by = Mechanism::Psk;
        let settings = Settings { resumption: Some(by), ..with_provider() };
        let Some(running) = start(product, &with_groups(product, GROUPS, settings)) else { return };
        let outcome = load(&running, &half_resumed(by, group_plan(HYBRID, 300)));
        let (whole, resumptions) = (&outcome.whole, &outcome.whole.resumptions);
        assert_eq!((whole.failed(), resumptions.refused), (0, 0), "{outcome}");
        assert!(resumptions.accepted > 0, "{outcome}");
        settle(&running);
        let expected = [whole.confirmed, whole.confirmed - resumptions.accepted];
        becomes(&expected, || {
            ["encapsulations", "signatures"].map(|counter| counted(&running, counter))
        });
    }
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
