//! Memcheck runs the derivation of a key from its primes and the test of a new key. The primes are
//! marked as secret, except for their highest limb, which gives their length, and their lowest bit.

use tollgate_cpu::memcheck;
use tollgate_mont::{LaneKernel, LimbKernel};
use tollgate_rerun as rerun;

use super::secret_key;
use crate::Workspace;
use crate::generate::derive::{Exponent, key_parts};
use crate::natural::from_bytes;
use crate::test_keys::key;

#[test]
fn numbers_are_derived_in_constant_time() {
    rerun::constant_time("constant_time::generation::numbers_are_derived_in_constant_time", || {
        let parts = key("rsa-512").to_parts();
        let [p, q] = [&parts.p, &parts.q].map(|bytes| {
            let mut prime = [0; 4];
            from_bytes(&mut prime, bytes);
            memcheck::mark_secret(&prime[..3]);
            prime[0] |= 1;
            prime
        });
        let e = Exponent::new(&parts.e);
        assert!(e.fits(&p) && e.fits(&q));
        let made = key_parts(LimbKernel::Portable, &p, &q, &e, 512).expect("d is large");
        for secret in [&made.d_p, &made.d_q, &made.q_inv] {
            memcheck::declassify(secret);
        }
        assert_eq!((&made.d_p, &made.d_q), (&parts.d_p, &parts.d_q));
        assert_eq!(made.q_inv, parts.q_inv);
    });
}

#[test]
fn a_key_is_tested_in_constant_time() {
    rerun::constant_time("constant_time::generation::a_key_is_tested_in_constant_time", || {
        let key = secret_key("rsa-512");
        let mut workspace = Workspace::with_kernels(LimbKernel::Portable, LaneKernel::Portable);
        assert_eq!(key.check_pairwise(&mut workspace), Ok(()));
    });
}
