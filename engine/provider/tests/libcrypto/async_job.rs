//! Runs operations within an `ASYNC_JOB`, as servers with `SSL_MODE_ASYNC` do: on a stack of 32 KiB
//! without a guard page. libcrypto fixes this size.

use crate::host::job::{Job, STACK_BYTES};
use crate::host::operation::DECRYPT;
use crate::host::x25519::{ANY, OURS};
use crate::host::{DEMAND, Host, pem};
use crate::host::{libcrypto, stack};

/// Runs `operation` in a job, with or without permission to pause it; returns its maximum stack use
/// in bytes.
fn stack_of_job(can_be_paused: bool, operation: &mut dyn FnMut()) -> usize {
    let mut stack_bytes = 0;
    let measure = || stack_bytes = stack::depth(STACK_BYTES, &mut *operation);
    if can_be_paused { Job::new(measure) } else { Job::without_context(measure) }.finish();
    stack_bytes
}

#[test]
fn operations_leave_half_of_a_job_s_stack() {
    let host = Host::builtin();
    for name in ["rsa-2048.pem", "rsa-8192.pem"] {
        let key = host.key(&pem(name));
        let sign = |params: &[_]| {
            host.sign(&key, DEMAND, c"SHA256", params, b"a message").unwrap();
        };
        let decrypt = |params: &[_]| {
            host.run(&key, DEMAND, DECRYPT, params, &vec![1; key.size()]).unwrap();
        };
        let mut mode = 7;
        let mut version = 0x0303;
        let tls = [
            libcrypto::int(c"pad-mode", &mut mode),
            libcrypto::uint(c"tls-client-version", &mut version),
        ];
        let operations: [(&str, &mut dyn FnMut()); 5] = [
            ("import and sign", &mut || sign(&[])),
            ("sign", &mut || sign(&[])),
            ("PSS", &mut || sign(&[(c"pad-mode", c"pss")])),
            ("decrypt", &mut || decrypt(&[])),
            ("TLS", &mut || decrypt(&tls)),
        ];
        for (what, operation) in operations {
            for can_be_paused in [true, false] {
                let stack_bytes = stack_of_job(can_be_paused, operation);
                assert!(
                    stack_bytes < STACK_BYTES / 2,
                    "{name}, {what}, paused {can_be_paused}: {stack_bytes}"
                );
            }
        }
    }
}

/// Operations on curves run at once: their job finishes without a pause.
#[test]
fn operations_on_curves_run_at_once_and_leave_half_of_a_job_s_stack() {
    let Some(host) = Host::with_curves("x25519 = on\necdsa = on") else { return };
    let (host, key) = host.with_key("ec-p256.pem");
    let peer = host.new_x25519(ANY);
    let exchange = || {
        let key = host.new_x25519(ANY);
        let copy = host.x25519_private(OURS, &key.raw_private()).unwrap();
        assert_eq!(host.derive(ANY, &key, &peer), host.derive(ANY, &copy, &peer));
    };
    let sign_and_verify = || {
        let made = host.sign(&key, ANY, c"SHA256", &[], b"a message").unwrap();
        host.verify(&key, ANY, c"SHA256", &[], b"a message", &made).unwrap();
    };
    for operation in [&exchange as &dyn Fn(), &sign_and_verify] {
        let mut stack_bytes = 0;
        let measure = || stack_bytes = stack::depth(STACK_BYTES, operation);
        assert!(Job::new(measure).resume());
        assert!(stack_bytes < STACK_BYTES / 2, "{stack_bytes}");
    }
    let counters =
        ["x25519-derivations", "ecdsa-signatures", "ecdsa-verifications", "async-operations"];
    assert_eq!(counters.map(|name| host.counter(name)), [2, 1, 1, 0]);
}
