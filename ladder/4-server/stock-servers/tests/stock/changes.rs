//! Events while clients connect: reloads, killed workers, a replaced module.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::{fs, thread};

use rustix::process::{Pid, Signal, kill_process};
use tollgate_load::{Outcome, Plan, Protocol};
use tollgate_stock_servers::{Product, Running, Settings};

use crate::hybrid::{HYBRID_ID, hello, share};
use crate::resets::reset;
use crate::rig::{
    HYBRID, PROTOCOLS, becomes, confirmed, counted, ecdsa_plans, eventually, group_plan, is_long,
    load, mapped, plan, renew, settle, start, with_ecdsa, with_groups, with_provider,
};

/// Time between two calls of `act`.
const PAUSE: Duration = Duration::from_millis(150);

/// Clients that reset their connections, for each reload.
const RESETS: u32 = 30;

/// Loads the server by these plans and calls `act` repeatedly, until this many handshakes are
/// confirmed.
fn meanwhile(
    running: &Running,
    plans: &[Plan],
    handshakes: u64,
    act: impl Fn() + Sync,
) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                thread::sleep(PAUSE);
                act();
            }
        });
        for plan in plans.iter().cycle() {
            outcomes.push(load(running, plan));
            if outcomes.iter().map(|outcome| outcome.whole.confirmed).sum::<u64>() >= handshakes {
                break;
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    outcomes
}

/// Plans with each protocol for an RSA key.
fn rsa_plans() -> [Plan; 3] {
    PROTOCOLS.map(|protocol| plan(protocol, 600))
}

/// Reloads the server while clients connect. All handshakes succeed, and the sum of these counters
/// is their number.
#[track_caller]
fn survives(
    product: Product,
    settings: &Settings,
    plans: &[Plan],
    handshakes: u64,
    counters: &[&str],
) {
    let Some(running) = start(product, settings) else { return };
    let outcomes = meanwhile(&running, plans, handshakes, || running.reload().unwrap());
    let mut handshakes = outcomes.iter().map(confirmed).sum::<u64>();
    renew(&running);
    handshakes += confirmed(&load(&running, plans.last().unwrap()));
    settle(&running);
    becomes(&handshakes, || counters.iter().map(|counter| counted(&running, counter)).sum());
}

#[test]
fn servers_are_reloaded() {
    let handshakes = if is_long() { 10_000 } else { 50 };
    for (product, asynchronous) in
        [(Product::Nginx, false), (Product::Haproxy, false), (Product::Haproxy, true)]
    {
        let settings = Settings { asynchronous, ..with_provider() };
        survives(product, &settings, &rsa_plans(), handshakes, &["signatures", "decryptions"]);
    }
}

/// 100,000 handshakes with `TOLLGATE_TEST_LONG`.
#[test]
fn servers_with_ecdsa_are_reloaded() {
    let handshakes = if is_long() { 100_000 } else { 50 };
    for (product, asynchronous) in [(Product::Nginx, false), (Product::Haproxy, true)] {
        let settings = Settings { asynchronous, ..with_ecdsa(product) };
        survives(product, &settings, &ecdsa_plans(600), handshakes, &["ecdsa_signatures"]);
    }
}

/// 100,000 handshakes with the hybrid group and `TOLLGATE_TEST_LONG`, while other clients reset
/// their connections during handshakes.
#[test]
fn servers_with_the_hybrid_group_are_reloaded_and_reset() {
    let wanted = if is_long() { 100_000 } else { 50 };
    let hello = hello(HYBRID_ID, &share());
    for (product, asynchronous) in
        [(Product::Nginx, false), (Product::Haproxy, false), (Product::Haproxy, true)]
    {
        let settings = with_groups(product, HYBRID, Settings { asynchronous, ..with_provider() });
        let Some(running) = start(product, &settings) else { return };
        let [reloads, resets] = [const { AtomicU64::new(0) }; 2];
        let outcomes = meanwhile(&running, &[group_plan(HYBRID, 600)], wanted, || {
            running.reload().unwrap();
            reloads.fetch_add(1, Ordering::Relaxed);
            for _ in 0..RESETS {
                reset(&running, &hello);
                resets.fetch_add(1, Ordering::Relaxed);
            }
        });
        // The server's log has the resets too.
        assert!(outcomes.iter().all(|outcome| outcome.whole.failed() == 0), "{outcomes:?}");
        let handshakes: u64 = outcomes.iter().map(|outcome| outcome.whole.confirmed).sum();
        eprintln!("{running:?}: {handshakes} handshakes, {reloads:?} reloads, {resets:?} resets");
        renew(&running);
        let last = confirmed(&load(&running, &group_plan(HYBRID, 200)));
        settle(&running);
        // Those of clients that reset are counted too. Abandoned jobs hold keys when a worker ends,
        // and libcrypto then does not let the provider write its last counts.
        let written = if asynchronous { last } else { handshakes + last };
        eventually("counts", || counted(&running, "encapsulations") >= written);
        assert_eq!(counted(&running, "x25519_derivations"), 0);
    }
}

/// Apache ends old children before they write their last counts, so the counts are not compared.
#[test]
fn apache_with_ecdsa_is_reloaded() {
    let Some(running) = start(Product::Apache, &with_ecdsa(Product::Apache)) else { return };
    let handshakes = if is_long() { 100_000 } else { 50 };
    let reload = || running.reload().unwrap();
    let outcomes = meanwhile(&running, &ecdsa_plans(600), handshakes, reload);
    assert!(outcomes.iter().map(confirmed).sum::<u64>() >= handshakes);
    assert!(counted(&running, "ecdsa_signatures") > 0);
}

/// The connections of the killed worker are lost; the next worker signs.
#[test]
fn a_killed_worker_is_replaced() {
    let Some(running) = start(Product::Nginx, &with_provider()) else { return };
    let [worker] = running.workers().unwrap()[..] else { panic!("one worker") };
    let pid = Pid::from_raw(worker.try_into().unwrap()).unwrap();
    let outcomes = meanwhile(&running, &rsa_plans(), 50, || _ = kill_process(pid, Signal::KILL));
    assert!(outcomes[0].whole.failed() <= 4, "{}", outcomes[0]);
    eventually("another worker serves", || {
        let now = running.workers().unwrap();
        !now.is_empty() && !now.contains(&worker)
    });
    confirmed(&load(&running, &plan(Protocol::Tls13, 200)));
}

/// A new file replaces the module that is loaded, as in an upgrade of a package.
#[test]
fn the_module_is_replaced_under_running_servers() {
    for product in [Product::Nginx, Product::Haproxy] {
        let built = with_provider();
        let Some(owner) = start(Product::SServer, &built) else { return };
        let (module, next) =
            (owner.folder().join("tollgate_provider.so"), owner.folder().join("next"));
        fs::copy(built.module.as_deref().unwrap(), &module).unwrap();
        let settings = Settings { module: Some(module.clone()), ..built.clone() };
        let Some(running) = start(product, &settings) else { return };
        fs::copy(built.module.as_deref().unwrap(), &next).unwrap();
        fs::rename(&next, &module).unwrap();
        for protocol in PROTOCOLS {
            confirmed(&load(&running, &plan(protocol, 200)));
        }
        let worker = running.workers().unwrap()[0];
        assert!(mapped(worker).unwrap().to_str().unwrap().ends_with("(deleted)"));
        renew(&running);
        confirmed(&load(&running, &plan(Protocol::Tls13, 200)));
        if product == Product::Haproxy {
            // HAProxy's master executes itself again; nginx's master forks.
            assert_eq!(mapped(running.workers().unwrap()[0]), Some(module));
        }
    }
}
