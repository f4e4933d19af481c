//! ML-KEM-768 and X25519MLKEM768 leak nothing, and leave no secret in freed memory.

use tollgate_rerun::alone;

use crate::allocator::{in_use, is_in_use, left_behind};
use crate::host::x25519::ANY;
use crate::host::{Host, errors};
use crate::rig::{MECHANISMS, PAIR};
use crate::x25519::{is_in, masked};

#[test]
fn mechanisms_leave_nothing_behind() {
    alone("kem::mechanisms_leave_nothing_behind", exchange_alone);
}

fn exchange_alone() {
    let host = Host::with_ml_kem();
    for (mechanism, _) in MECHANISMS {
        let key = host.new_kem_key(mechanism, ANY);
        let private = key.octets(c"priv").unwrap();
        // of ML-KEM the secret vector and z, and of X25519 the key
        let parts = [&private[..32], &private[2368..2400], &private[private.len() - 32..]];
        let mut values = parts.map(masked).to_vec();
        values.extend(key.octets(c"seed").map(|seed| masked(&seed)));
        let ((), left) = left_behind(|| drop(private));
        assert!(is_in(&left, &values[0]), "bytes that are left are found");
        drop(left);
        assert!(is_in_use(|memory| is_in(memory, &values[1])), "the key is found in use");

        // The test keeps the secret until it has looked at the freed memory.
        let (secret, left) = left_behind(|| {
            let share = key.octets(c"encoded-pub-key").unwrap();
            let peer = host.key_of_share(mechanism, &share).unwrap();
            let (sent, secret) = host.encapsulate(&peer, ANY, &[]).unwrap();
            assert_eq!(zeroed(host.decapsulate(&key, ANY, &sent).unwrap()), secret.len());
            drop(key);
            secret
        });
        values.extend([masked(&secret), masked(&secret[secret.len() - 32..])]);
        drop(secret);
        for value in &values {
            assert!(!is_in(&left, value), "keys, secrets and buffers are wiped");
        }
        drop(left);

        let exchange = || {
            let key = host.new_kem_key(mechanism, ANY);
            let (sent, _) = host.encapsulate(&key, ANY, &[]).unwrap();
            host.decapsulate(&key, ANY, &sent).unwrap();
            assert!(host.kem_key(mechanism, ANY, PAIR, &[(c"priv", &[7; 31])]).is_err());
            assert!(host.key_of_share(mechanism, &[7; 1183]).is_err());
            drop(key.copied());
            errors();
        };
        exchange();
        let before = in_use();
        (0..100).for_each(|_| exchange());
        assert_eq!(in_use(), before, "nothing leaks");
    }
}

/// Overwrites bytes, and returns their number.
fn zeroed(mut bytes: Vec<u8>) -> usize {
    bytes.fill(0);
    core::hint::black_box(&bytes).len()
}
