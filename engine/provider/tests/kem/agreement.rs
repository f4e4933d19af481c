//! Encapsulations and decapsulations of this provider.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};

use tollgate_rerun::alone;

use crate::host::child::in_child;
use crate::host::job::{Job, STACK_BYTES};
use crate::host::libcrypto;
use crate::host::x25519::{ANY, OURS};
use crate::host::{Host, errors, stack};
use crate::rig::{HYBRID, MECHANISMS, ML_KEM};

fn counts(host: &Host) -> [u64; 3] {
    ["kem-generations", "encapsulations", "decapsulations"].map(|name| host.counter(name))
}

#[test]
fn both_sides_get_the_same_secret() {
    let host = Host::with_ml_kem();
    for (mechanism, [share, _, sent_len, secret_len]) in MECHANISMS {
        let before = counts(&host);
        let key = host.new_kem_key(mechanism, OURS);
        assert_eq!(key.provider(), "tollgate");
        let public = key.octets(c"encoded-pub-key").unwrap();
        assert_eq!(public.len(), share);
        assert_eq!(key.sizes(), [768, i32::try_from(sent_len).unwrap(), 192]);
        let peer = host.key_of_share(mechanism, &public).unwrap();
        for key_of_sender in [&peer, &key] {
            let (sent, secret) = host.encapsulate(key_of_sender, OURS, &[]).unwrap();
            assert_eq!((sent.len(), secret.len()), (sent_len, secret_len));
            assert_eq!(host.decapsulate(&key, OURS, &sent).unwrap(), secret);
            // another ciphertext gives another secret, and no error
            let mut changed = sent.clone();
            changed[7] ^= 1;
            let other = host.decapsulate(&key, OURS, &changed).unwrap();
            assert_ne!(other[..32], secret[..32]);
            assert_eq!(host.decapsulate(&key, OURS, &changed).unwrap(), other);
            let error = host.decapsulate(&key, OURS, &sent[1..]).unwrap_err();
            assert!(error.contains("another length"), "{error}");
        }
        let error = host.decapsulate(&peer, OURS, &[0; 1120]).unwrap_err();
        assert!(error.contains("no private half"), "{error}");
        let after = counts(&host);
        let counted: Vec<_> =
            after.iter().zip(before).map(|(after, before)| after - before).collect();
        assert_eq!(counted, [1, 2, 6], "{mechanism:?}");
    }
    assert_eq!(host.self_test(), 1);
    assert_eq!(errors(), "");
}

#[test]
fn shares_of_low_order_are_refused() {
    let host = Host::with_ml_kem();
    let key = host.new_kem_key(HYBRID, OURS);
    let mut share = key.octets(c"encoded-pub-key").unwrap();
    share[1184..].fill(0);
    let low = host.key_of_share(HYBRID, &share).unwrap();
    let error = host.encapsulate(&low, OURS, &[]).unwrap_err();
    assert!(error.contains("low order"), "{error}");
    let (mut sent, _) = host.encapsulate(&key, OURS, &[]).unwrap();
    sent[1088..].fill(0);
    let error = host.decapsulate(&key, OURS, &sent).unwrap_err();
    assert!(error.contains("low order"), "{error}");
}

#[test]
fn buffers_are_checked() {
    let host = Host::with_ml_kem();
    for (mechanism, [_, _, sent_len, secret_len]) in MECHANISMS {
        let key = host.new_kem_key(mechanism, OURS);
        let operation = host.operation(&key, OURS);
        operation.init(libcrypto::EVP_PKEY_encapsulate_init, &[]).unwrap();
        for (sent_room, secret_room, fits) in [
            (sent_len, secret_len, true),
            (sent_len + 7, secret_len + 7, true),
            (sent_len - 1, secret_len, false),
            (sent_len, secret_len - 1, false),
            (0, 0, false),
        ] {
            let (mut sent, mut secret) = ([0xa5; 2048], [0xa5; 128]);
            let (mut sent_used, mut secret_used) = (sent_room, secret_room);
            // SAFETY: a context, and buffers of more than these lengths.
            let done = unsafe {
                libcrypto::EVP_PKEY_encapsulate(
                    operation.0,
                    sent.as_mut_ptr(),
                    &mut sent_used,
                    secret.as_mut_ptr(),
                    &mut secret_used,
                )
            };
            assert_eq!(done == 1, fits, "{mechanism:?}: {sent_room}, {secret_room}");
            if fits {
                assert_eq!((sent_used, secret_used), (sent_len, secret_len));
                assert_eq!((sent[sent_len], secret[secret_len]), (0xa5, 0xa5));
                let received = host.decapsulate(&key, OURS, &sent[..sent_len]).unwrap();
                assert_eq!(received, secret[..secret_len]);
            } else {
                assert!(errors().contains("buffer is too small"));
                assert!(sent == [0xa5; 2048] && secret == [0xa5; 128]);
            }
        }
    }
}

/// As in OpenSSL, a program's random input of an encapsulation, or seed of a key, serves once.
#[test]
fn given_randomness_serves_once() {
    let host = Host::with_ml_kem();
    let key = host.new_kem_key(ML_KEM, OURS);
    let [first, second] = [(); 2].map(|()| {
        let operation = host.operation(&key, OURS);
        let mut noise = [0x3c; 32];
        let params = [libcrypto::octets(c"ikme", &mut noise)];
        operation.init(libcrypto::EVP_PKEY_encapsulate_init, &params).unwrap();
        [(); 2].map(|()| {
            let (mut sent, mut secret) = ([0; 1088], [0; 32]);
            let (mut sent_len, mut secret_len) = (1088, 32);
            // SAFETY: a context, and buffers of these lengths.
            let done = unsafe {
                libcrypto::EVP_PKEY_encapsulate(
                    operation.0,
                    sent.as_mut_ptr(),
                    &mut sent_len,
                    secret.as_mut_ptr(),
                    &mut secret_len,
                )
            };
            assert_eq!(done, 1, "{}", errors());
            secret
        })
    });
    assert_eq!(first[0], second[0]);
    assert!(first[1] != first[0] && first[1] != second[1]);

    let operation = host.operation_of(ML_KEM, OURS).unwrap();
    operation.begin_key().unwrap();
    let mut seed = [0x5a; 64];
    operation.set(&[libcrypto::octets(c"seed", &mut seed)]).unwrap();
    let seeds = [(); 2].map(|()| operation.generate().unwrap().octets(c"seed").unwrap());
    assert!(seeds[0] == seed && seeds[1] != seed);
    let short = operation.set(&[libcrypto::octets(c"seed", &mut seed[1..])]);
    assert!(short.unwrap_err().contains("another length"));
}

/// A job of libcrypto has a stack of 32 KiB, and the operations need more.
#[test]
fn operations_run_at_once_and_leave_half_of_a_job_s_stack() {
    let host = Host::with_ml_kem();
    for (mechanism, _) in MECHANISMS {
        let exchange = || {
            let key = host.new_kem_key(mechanism, ANY);
            let share = key.octets(c"encoded-pub-key").unwrap();
            let peer = host.key_of_share(mechanism, &share).unwrap();
            let (sent, secret) = host.encapsulate(&peer, ANY, &[]).unwrap();
            assert_eq!(host.decapsulate(&key, ANY, &sent).unwrap(), secret);
            let private = key.octets(c"priv").unwrap();
            let copy = host.kem_key(mechanism, OURS, crate::rig::PAIR, &[(c"priv", &private)]);
            assert_eq!(host.decapsulate(&copy.unwrap(), OURS, &sent).unwrap(), secret);
        };
        let mut stack_bytes = 0;
        let measure = || stack_bytes = stack::depth(STACK_BYTES, exchange);
        assert!(Job::new(measure).resume());
        assert!(stack_bytes < STACK_BYTES / 2, "{mechanism:?}: {stack_bytes}");
    }
}

#[test]
fn forked_processes_never_repeat_a_secret() {
    alone("agreement::forked_processes_never_repeat_a_secret", fork_alone);
}

fn fork_alone() {
    let host = Host::with_ml_kem();
    let peer = host.new_kem_key(HYBRID, OURS);
    let new = || {
        let (sent, secret) = host.encapsulate(&peer, OURS, &[]).unwrap();
        let key = host.new_kem_key(ML_KEM, OURS).octets(c"seed").unwrap();
        [&secret[..32], &secret[32..], &sent[1088..], &key[..32], &key[32..]].concat()
    };
    let mut parts = BTreeSet::new();
    let mut add = |bytes: &[u8]| {
        assert_eq!(bytes.len(), 5 * 32);
        bytes.chunks(32).for_each(|part| assert!(parts.insert(part.to_vec())));
    };
    add(&new());
    for _ in 0..8 {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        assert!(in_child(|| writer.write_all(&[new(), new()].concat()).is_ok()));
        drop(writer);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        bytes.chunks(5 * 32).for_each(&mut add);
    }
    add(&new());
}
