//! Simultaneous handshakes are signed in batches, by the server's own threads, because HAProxy
//! forbids its workers to start other threads.

use std::fs;

use rustix::thread::{CpuSet, sched_getaffinity};
use tollgate_load::{Plan, Protocol};
use tollgate_mont::LaneKernel;
use tollgate_stock_servers::{Product, Settings};

use crate::rig::{
    PROTOCOLS, becomes, confirmed, counted, load, load_without_referee, plan, settle, start,
    with_provider,
};

/// Returns the first `count` cores that this process may use; `None` if it may use fewer.
fn cores(count: usize) -> Option<Vec<u32>> {
    let allowed = sched_getaffinity(None).unwrap();
    let cores = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).take(count);
    let cores: Vec<u32> = cores.map(|core| core.try_into().unwrap()).collect();
    (cores.len() == count).then_some(cores)
}

#[track_caller]
fn signs_in_batches(threads: usize) {
    let Some(cores) = cores(threads) else {
        eprintln!("not tested: {threads} threads, which need as many cores");
        return;
    };
    let settings = Settings { asynchronous: true, cores, ..with_provider() };
    let Some(running) = start(Product::Haproxy, &settings) else { return };
    let [mut signed, mut decrypted] = [0, 0];
    for protocol in PROTOCOLS {
        let count = if protocol == Protocol::Tls12Rsa { &mut decrypted } else { &mut signed };
        let plan = Plan { connections: 32, ..plan(protocol, 300) };
        // With several threads the log may lack lines; the provider's counters are the referee.
        let load = if threads == 1 { load } else { load_without_referee };
        *count += confirmed(&load(&running, &plan));
    }
    for worker in running.workers().unwrap() {
        let tasks = fs::read_dir(format!("/proc/{worker}/task")).unwrap().count();
        assert_eq!(tasks, threads, "{running:?}: it has other threads");
    }
    settle(&running);
    becomes(&(signed, decrypted), || {
        (counted(&running, "signatures"), counted(&running, "decryptions"))
    });
    assert!(counted(&running, "async_operations") > 0, "{running:?}");
    let batches = counted(&running, "batches");
    let has_lanes = !matches!(LaneKernel::best(), LaneKernel::Portable);
    assert_eq!(batches > 0, has_lanes, "{running:?}");
    assert!(counted(&running, "batched_operations") >= 2 * batches, "{running:?}");
}

#[test]
fn one_thread() {
    signs_in_batches(1);
}

#[test]
fn two_threads() {
    signs_in_batches(2);
}
