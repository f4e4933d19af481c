//! Memcheck runs private-key operations with the message and every secret number of the key marked
//! as secret. No branch and no address may depend on a marked value. (`tollgate-mont` tests that
//! the check can fail.)

mod decryption;
mod generation;
mod validation;

use tollgate_cpu::memcheck;
use tollgate_mont::{LaneKernel, LimbKernel};
use tollgate_rerun as rerun;

use crate::test_keys::{self, run};
use crate::{Form, Plans, PrivateKey, Workspace};

/// Returns a key whose secrets are marked for memcheck.
fn secret_key(name: &str) -> PrivateKey {
    let key = test_keys::key(name);
    key.limbs.pair.mark_secret();
    key.digits.pair.mark_secret();
    memcheck::mark_secret(&key.limbs.q_inv);
    memcheck::mark_secret(&key.limbs.q_n);
    memcheck::mark_secret(&key.digits.q_inv);
    memcheck::mark_secret(&key.digits.q_n);
    for row in key.in_blocks.iter().flat_map(|blocks| blocks.a.iter().chain(&blocks.b)) {
        memcheck::mark_secret(&row.0);
    }
    let x = &key.exponents;
    for exponent in [&x.d_p, &x.d_q, &x.inverse_p, &x.inverse_q] {
        memcheck::mark_secret(exponent);
    }
    memcheck::mark_secret(&*key.d_hash);
    key
}

/// Runs the operation twice, so that a fresh and a squared blinding pair are used.
fn operations(mut workspace: Workspace, name: &str) {
    let key = secret_key(name);
    for byte in 1..3 {
        let mut buffer = vec![byte; key.size()];
        buffer[0] = 0;
        memcheck::mark_secret(&buffer);
        assert_eq!(run(&mut workspace, &key, &mut [buffer]), [Ok(())]);
    }
}

#[test]
fn single_operations_are_constant_time() {
    rerun::constant_time("constant_time::single_operations_are_constant_time", || {
        for kernel in LimbKernel::all() {
            let workspace = Workspace::with_kernels(kernel, LaneKernel::Portable);
            operations(workspace, "rsa-1024");
        }
    });
}

#[test]
fn operations_in_lanes_are_constant_time() {
    rerun::constant_time("constant_time::operations_in_lanes_are_constant_time", || {
        let workspace = Workspace::with_kernels(LimbKernel::Portable, LaneKernel::Portable);
        operations(workspace.with_plans(Plans::always(Form::Lanes)), "rsa-512");
    });
}

#[test]
fn branches_on_the_keys_secrets_are_detected() {
    if !memcheck::running_on_valgrind() {
        return rerun::under_memcheck("constant_time::branches_on_the_keys_secrets_are_detected");
    }
    let key = secret_key("rsa-512");
    let secrets = [
        key.exponents.d_p[0],
        key.limbs.pair.p().m()[0],
        key.digits.pair.q().m()[0].0,
        key.digits.q_inv[0].0,
    ];
    for secret in secrets {
        let before = memcheck::count_errors();
        if core::hint::black_box(secret) > 1 << 40 {
            core::hint::black_box(&key);
        }
        assert!(memcheck::count_errors() > before, "a branch on a secret was not detected");
    }
}
