//! Threads that sign at the same time share batches.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Barrier;
use std::thread;

use crate::host::{DEMAND, Host, has_lanes, libcrypto, pem};

#[test]
fn many_threads_sign_with_different_keys() {
    // Use more threads than cores: otherwise each thread has its own core and forms no batch.
    let threads = thread::available_parallelism().map_or(16, |cores| 16.max(3 * cores.get()));
    const SIGNATURES: usize = 20;
    // If the cores are few and busy, a thread may finish before another thread starts an operation.
    const SIGNATURES_MAX: usize = 100 * SIGNATURES;
    let signed = AtomicU64::new(0);
    let host = Host::builtin();
    let pems = ["rsa-2048.pem", "rsa-3072.pem"].map(pem);
    let keys = pems.each_ref().map(|pem| host.key(pem));
    let start = Barrier::new(threads);
    thread::scope(|scope| {
        for thread in 0..threads {
            let at = usize::from(thread % 8 == 0);
            let (host, pem, key) = (&host, &pems[at], &keys[at]);
            let (start, signed) = (&start, &signed);
            scope.spawn(move || {
                let key = key.clone();
                start.wait();
                let have_met = || !has_lanes() || host.counter("batches") > 0;
                for number in 0..SIGNATURES_MAX {
                    if number >= SIGNATURES && have_met() {
                        break;
                    }
                    let message = [thread, number].map(|n| n.to_le_bytes()[0]);
                    let padding = if number % 2 == 0 { c"pss" } else { c"pkcs1" };
                    let params = [(c"pad-mode", padding)];
                    let signature = host.sign(&key, DEMAND, c"SHA256", &params, &message).unwrap();
                    // OpenSSL's own provider verifies.
                    let other = c"provider=default";
                    host.verify(&key, other, c"SHA256", &params, &message, &signature).unwrap();
                    signed.fetch_add(1, Relaxed);
                    if number % 5 == 0 {
                        // A key of this thread, freed while a context uses it.
                        let key = host.key(pem);
                        let operation = host.operation(&key, DEMAND);
                        operation.init(libcrypto::EVP_PKEY_sign_init_ex, &[]).unwrap();
                        drop(key);
                        operation.run(libcrypto::EVP_PKEY_sign, &message).unwrap();
                        signed.fetch_add(1, Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(host.counter("signatures"), signed.into_inner());
    let (batches, operations) = (host.counter("batches"), host.counter("batched-operations"));
    assert_eq!(batches > 0, has_lanes(), "some operations shared a batch");
    assert!(operations >= 2 * batches && operations <= host.counter("signatures"));
    assert_eq!(host.counter("async-operations"), 0);
}
