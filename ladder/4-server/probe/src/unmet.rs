//! Compares a plan with the capabilities of the server.

use tollgate_load::{Offer, Plan, Protocol};
use tollgate_tls_client::{Group, KeyExchange};

use crate::probe::{Probe, names};
use crate::support::Support;

/// Protocols in order of preference.
const BEST_FIRST: [Protocol; 4] =
    [Protocol::Tls13, Protocol::Tls12X25519, Protocol::Tls12P256, Protocol::Tls12Rsa];

impl Probe {
    /// Returns the best protocol that the server supports. The offer names suite and group if the
    /// server lacks the default ones.
    #[must_use]
    pub fn choice(&self) -> Option<(Protocol, Offer)> {
        let support = self.support.as_ref()?;
        let usual = Offer { curve_key: self.has_only_curve_keys(), ..Offer::default() };
        let of_group = |group: &Group| Offer { group: Some(group.name().into()), ..usual.clone() };
        let mut all = vec![(Protocol::Tls13, usual.clone())];
        all.extend(support.groups.iter().map(|group| (Protocol::Tls13, of_group(group))));
        all.extend(BEST_FIRST.into_iter().map(|protocol| (protocol, usual.clone())));
        for suite in support.suites.iter().rev() {
            let suite = Some(suite.name().to_owned());
            let groups = support.groups.iter().chain(&support.curves);
            let offers = [usual.clone()].into_iter().chain(groups.map(of_group));
            all.extend(
                offers.map(|offer| (Protocol::Tls13, Offer { suite: suite.clone(), ..offer })),
            );
        }
        all.into_iter().find(|(protocol, offer)| unmet_offer(support, *protocol, offer).is_none())
    }

    /// Returns whether all keys of the server are elliptic-curve keys. A plan must state this.
    #[must_use]
    pub fn has_only_curve_keys(&self) -> bool {
        self.support.as_ref().is_some_and(|o| o.has_curve_key() && !o.has_rsa_key())
    }

    /// Returns a requirement of the plan that the server does not meet, and the remedy. Runs of
    /// this plan would fail.
    #[must_use]
    pub fn unmet(&self, plan: &Plan) -> Option<String> {
        if let Some(body) = &self.body
            && let Some(why) = body.obstacle()
        {
            return Some(why);
        }
        if plan.requests_per_connection > 1.0
            && self.body.as_ref().is_some_and(|body| body.again.is_none())
        {
            let why = "--requests-per-connection: the server closes after each response: leave \
                       the flag out, or let the server keep connections open";
            return Some(why.to_owned());
        }
        let support = self.support.as_ref().filter(|_| plan.plain_share < 1.0)?;
        unmet_offer(support, plan.protocol, &plan.offer)
    }
}

/// Returns the reason why the server refuses the offer, and the values that it accepts.
fn unmet_offer(support: &Support, protocol: Protocol, offer: &Offer) -> Option<String> {
    let Some((suite, group)) = offer.suite_and_group(protocol) else {
        let word = protocol.word();
        return Some(format!("no suite and group of {word} fit each other and its key"));
    };
    if !support.has_version(suite.is_tls13()) {
        let other = if suite.is_tls13() {
            "1.2 only: give --protocol tls12-x25519"
        } else {
            "1.3 only: give --protocol tls13"
        };
        return Some(format!("{}: the server supports TLS {other}", protocol.word()));
    }
    if !support.suites.contains(&suite) {
        let same = support.suites.iter().filter(|s| s.is_tls13() == suite.is_tls13());
        let same: Vec<&str> = same.map(|suite| suite.name()).collect();
        return Some(format!(
            "the server refuses {suite}: give --suites with one of {}",
            same.join(", ")
        ));
    }
    let groups = match suite.exchange() {
        KeyExchange::Tls13 => &support.groups,
        KeyExchange::EcdheRsa | KeyExchange::EcdheEcdsa => &support.curves,
        KeyExchange::Rsa => return None,
    };
    let group = group.filter(|group| !groups.contains(group))?;
    Some(format!(
        "the server refuses the group {group}: give --group with one of {}",
        names(groups)
    ))
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use tollgate_tls_client::Suite;

    use super::*;
    use crate::body::Body;

    fn probe(suites: &[&str], groups: &[Group], curves: &[Group], key: &str) -> Probe {
        let suites = suites.iter().map(|name| Suite::from_name(name).unwrap()).collect();
        let keys = vec![key.to_owned()];
        let (groups, curves) = (groups.to_vec(), curves.to_vec());
        let body = Body { status: 200, location: None, bytes: Some(9), again: None };
        Probe {
            support: Some(Support { suites, groups, curves, keys }),
            body: Some(body),
            took: Duration::ZERO,
        }
    }

    const TLS13: &str = "TLS_AES_128_GCM_SHA256";
    const ECDHE: &str = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
    const RSA: &str = "TLS_RSA_WITH_AES_128_GCM_SHA256";
    const CBC: &str = "TLS_RSA_WITH_AES_128_CBC_SHA";
    const ECDSA: &str = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";

    #[test]
    fn the_best_supported_protocol_is_chosen() {
        let x = &[Group::X25519][..];
        let p = &[Group::P256][..];
        let none = &[][..];
        for (suites, groups, curves, key, (protocol, suite, group)) in [
            (&[ECDHE, TLS13][..], x, x, "rsa-2048", (Protocol::Tls13, None, None)),
            (&[ECDHE, TLS13], p, x, "rsa-2048", (Protocol::Tls13, None, Some("secp256r1"))),
            (&[RSA, ECDHE], none, x, "rsa-2048", (Protocol::Tls12X25519, None, None)),
            (&[RSA, ECDHE], none, p, "rsa-2048", (Protocol::Tls12P256, None, None)),
            (&[RSA], none, none, "rsa-1024", (Protocol::Tls12Rsa, None, None)),
            (&[CBC], none, none, "rsa-1024", (Protocol::Tls13, Some(CBC), None)),
            (&[ECDSA], none, x, "ecdsa-p256", (Protocol::Tls12X25519, None, None)),
            (&[TLS13], x, none, "ecdsa-p384", (Protocol::Tls13, None, None)),
        ] {
            let probe = probe(suites, groups, curves, key);
            let (chosen, offer) = probe.choice().unwrap();
            assert_eq!(chosen, protocol, "{suites:?}");
            assert_eq!((offer.suite.as_deref(), offer.group.as_deref()), (suite, group));
            assert_eq!(offer.curve_key, key.starts_with("ecdsa"));
            let plan = Plan { offer, ..Plan::new(chosen) };
            plan.check().unwrap();
            assert_eq!(probe.unmet(&plan), None);
        }
    }

    #[test]
    fn an_unmet_requirement_says_what_to_change() {
        let probed = probe(&[ECDHE, TLS13], &[Group::X25519], &[Group::X25519], "rsa-2048");
        let unmet = |probe: &Probe, plan: &Plan| probe.unmet(plan).unwrap();
        assert!(unmet(&probed, &Plan::new(Protocol::Tls12Rsa)).contains(ECDHE));
        assert!(unmet(&probed, &Plan::new(Protocol::Tls12P256)).contains("one of x25519"));
        let twice = Plan { requests_per_connection: 2.0, ..Plan::new(Protocol::Tls13) };
        assert!(unmet(&probed, &twice).contains("--requests-per-connection"));
        let old = probe(&[ECDHE], &[], &[Group::X25519], "rsa-2048");
        assert!(unmet(&old, &Plan::new(Protocol::Tls13)).contains("1.2 only"));
        let mut missing = probed;
        missing.body.as_mut().unwrap().status = 404;
        assert!(unmet(&missing, &Plan::new(Protocol::Tls13)).contains("404"));
    }
}
