//! Memcheck runs the validation of a private key with every secret number marked as secret. Two
//! bytes of each number are not marked: the first byte, which gives its length, and the last byte,
//! which gives its parity.

use tollgate_cpu::memcheck;
use tollgate_rerun as rerun;

use crate::test_keys::key;
use crate::validate;

#[test]
fn keys_are_checked_in_constant_time() {
    rerun::constant_time("constant_time::validation::keys_are_checked_in_constant_time", || {
        let mut parts = key("rsa-512").to_parts();
        for is_good in [true, false] {
            for secret in [&parts.d, &parts.p, &parts.q, &parts.d_p, &parts.d_q, &parts.q_inv] {
                memcheck::mark_secret(&secret[1..secret.len() - 1]);
            }
            assert_eq!(validate::private(&parts).is_ok(), is_good);
            parts.q_inv[9] ^= 4; // no longer an inverse
        }
    });
}
