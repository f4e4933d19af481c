//! X25519 leaks nothing, and leaves no secret in freed memory.

use tollgate_rerun::alone;

use crate::allocator::{in_use, is_in_use, left_behind};
use crate::host::x25519::{ANY, OURS};
use crate::host::{Host, errors};

#[test]
fn x25519_leaves_nothing_behind() {
    alone("x25519::x25519_leaves_nothing_behind", exchange_alone);
}

/// Returns the bytes inverted, so that a search does not find the pattern itself.
pub(crate) fn masked(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| !byte).collect()
}

pub(crate) fn is_in(memory: &[u8], masked: &[u8]) -> bool {
    let wanted = &masked[8..16];
    let same = |window: &[u8]| window.iter().zip(wanted).all(|(one, not)| *one == !not);
    memory.windows(8).any(|window| window[0] == !wanted[0] && same(window))
}

fn exchange_alone() {
    let Some(host) = Host::with_curves("x25519 = on") else { return };
    let peer = host.new_x25519(ANY);
    let key = host.new_x25519(ANY);
    let private = key.raw_private();
    let secret_value = masked(&private);
    let ((), left) = left_behind(|| drop(private));
    assert!(is_in(&left, &secret_value), "bytes that are left are found");
    drop(left);
    assert!(is_in_use(|memory| is_in(memory, &secret_value)), "the key is found in use");

    // The test keeps the derived secret until it has looked at the freed memory.
    let (shared, left) = left_behind(|| {
        let shared = host.derive(ANY, &key, &peer).unwrap();
        drop(key);
        shared
    });
    let shared_value = masked(&shared);
    drop(shared);
    for value in [&secret_value, &shared_value] {
        assert!(!is_in(&left, value), "keys, secrets and buffers are wiped");
        assert!(!is_in_use(|memory| is_in(memory, value)));
    }
    drop(left);

    let exchange = || {
        let key = host.new_x25519(ANY);
        host.derive(ANY, &key, &peer).unwrap();
        assert!(host.x25519_private(OURS, &[7; 31]).is_err());
        let zero = host.x25519_public(OURS, &[0; 32]).unwrap();
        assert!(host.derive(ANY, &key, &zero).is_err());
        errors();
    };
    exchange();
    let before = in_use();
    (0..100).for_each(|_| exchange());
    assert_eq!(in_use(), before, "nothing leaks");
}
