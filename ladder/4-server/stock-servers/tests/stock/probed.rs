//! Compares a probe's results with the servers' configurations, and loads the chosen protocol.

use tollgate_load::{AccessLog, Exchange, Limits, Plan, Server, Verdict, run};
use tollgate_probe::{Probe, Site, resolve};
use tollgate_server::{Certificate, Config, KeyKind, Server as Embedded};
use tollgate_stock_servers::{Product, Settings};
use tollgate_tls_client::{Group, Suite};

use crate::rig::{BYTES, certificate, start};

fn probed(url: &str) -> (Site, Probe) {
    let site = Site::find(&url.parse().unwrap(), None, &resolve).unwrap();
    let probe = site.probe(Some(&tollgate_load::RequestForm::default())).unwrap();
    assert_eq!(probe.lines().len(), 5);
    (site, probe)
}

fn settings() -> Settings {
    Settings { bodies: vec![BYTES], ..Settings::new(certificate("rsa-2048.pem")) }
}

#[test]
fn stock_servers_follow_their_configuration() {
    for (product, keeps_alive) in [
        (Product::Nginx, true),
        (Product::Haproxy, true),
        (Product::Apache, false),
        (Product::SServer, false),
    ] {
        let Some(running) = start(product, &settings()) else { continue };
        let (_, probe) = probed(&format!("https://{}/bytes/{BYTES}", running.address()));
        let support = probe.support.as_ref().unwrap();
        assert!(support.has_version(true) && support.has_version(false), "{product}: {support:?}");
        assert!(support.suites.contains(&Suite::TLS_RSA_WITH_AES_128_GCM_SHA256), "{product}");
        assert!(support.has_rsa_key() && !support.has_curve_key(), "{product}: {support:?}");
        assert!(support.groups.contains(&Group::X25519) && support.groups.contains(&Group::P384));
        assert_eq!(support.keys, ["rsa-2048"], "{product}");
        let body = probe.body.as_ref().unwrap();
        assert_eq!((body.status, body.bytes), (200, Some(BYTES)), "{product}");
        assert_eq!((body.again.is_some(), body.obstacle()), (keeps_alive, None), "{product}");
    }
}

#[test]
fn the_result_of_a_probe_can_be_loaded() {
    for key in [KeyKind::EcdsaP256, KeyKind::Rsa { bits: 2048 }] {
        let folder = std::env::temp_dir();
        let log = folder.join(format!("tollgate-probed-{key}-{}.log", std::process::id()));
        let config = Config {
            certificate: Certificate::SelfSigned(key),
            access_log: Some(log.clone()),
            ..Config::default()
        };
        let running = Embedded::start(config).unwrap();
        let (site, probe) = probed(&format!("https://{}/bytes/100", running.addr()));
        let (protocol, offer) = probe.choice().unwrap();
        assert_eq!(probe.support.as_ref().unwrap().keys, [key.to_string()]);
        assert_eq!(offer.curve_key, probe.has_only_curve_keys());
        let path = site.url().path().to_owned();
        let bytes = probe.body.as_ref().unwrap().bytes.unwrap();
        let plan = Plan {
            connections: 2,
            warm_up_ms: 0,
            sustain_ms: 200,
            offer,
            exchange: Exchange::Get { path, bytes },
            limits: Limits::of_counts(),
            ..Plan::new(protocol)
        };
        assert_eq!(probe.unmet(&plan), None);
        let mut server = Server::new("embedded", site.target().clone())
            .with_referee(AccessLog::open(&log).unwrap());
        let outcome = run(&plan, &mut server, &|| false, &mut |_, _| {}).unwrap();
        assert_ne!(outcome.verdict, Verdict::Invalid, "{outcome}");
        assert!(outcome.whole.transactions > 0, "{outcome}");
        std::fs::remove_file(&log).unwrap();
    }
}
