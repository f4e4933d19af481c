//! X25519 keys and shared secrets, beside those of OpenSSL's own provider.

use core::ffi::{CStr, c_int};
use core::ptr;
use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};

use tollgate_rerun::alone;

use crate::host::child::in_child;
use crate::host::libcrypto;
use crate::host::numbers::{KEYPAIR, PUBLIC_KEY};
use crate::host::x25519::{ANY, OURS};
use crate::host::{DEFAULT, Host, Key, check, errors};

fn host() -> Option<Host> {
    Host::with_curves("x25519 = on")
}

fn counts(host: &Host) -> [u64; 2] {
    ["x25519-generations", "x25519-derivations"].map(|name| host.counter(name))
}

#[test]
fn new_keys_agree_with_openssl_s() {
    let Some(host) = host() else { return };
    let before = counts(&host);
    let rounds = 40;
    for _ in 0..rounds {
        let (ours, theirs) = (host.new_x25519(ANY), host.new_x25519(DEFAULT));
        assert_eq!((ours.provider().as_str(), theirs.provider().as_str()), ("tollgate", "default"));
        let secret = host.derive(ANY, &ours, &theirs).unwrap();
        assert_eq!(secret.len(), 32);
        assert_eq!(host.derive(DEFAULT, &theirs, &ours).unwrap(), secret);
        // Each provider also uses the other one's key.
        assert_eq!(host.derive(DEFAULT, &ours, &theirs).unwrap(), secret);
        assert_eq!(host.derive(ANY, &theirs, &ours).unwrap(), secret);
        let copy = host.x25519_private(DEFAULT, &ours.raw_private()).unwrap();
        assert_eq!(copy.raw_public(), ours.raw_public());
    }
    assert_eq!(counts(&host), [before[0] + rounds, before[1] + 2 * rounds]);
    assert_eq!(host.counter("keys"), 0, "these count RSA keys");
    assert_eq!(host.self_test(), 1);
    assert_eq!(errors(), "");
}

/// Points of order 1, 2, 4 and 8, canonical and not.
#[test]
fn peers_of_low_order_are_refused() {
    let Some(host) = host() else { return };
    let key = host.new_x25519(OURS);
    for peer in [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ] {
        let peer = host.x25519_public(OURS, &hex::decode(peer).unwrap()).unwrap();
        let before = counts(&host);
        let error = host.derive(OURS, &key, &peer).unwrap_err();
        assert!(error.contains("low order"), "{error}");
        assert_eq!(counts(&host), before);
    }
}

#[test]
fn buffers_and_lengths_are_checked() {
    let Some(host) = host() else { return };
    let (key, peer) = (host.new_x25519(OURS), host.new_x25519(OURS));
    let operation = host.exchange(OURS, &key, &peer).unwrap();
    let secret = operation.derive().unwrap();
    for capacity in [0, 1, 31, 32, 33, 64] {
        let (mut buffer, mut len) = ([0xa5; 64], capacity);
        // SAFETY: a context, and a buffer of more than `len` bytes.
        let done = check(unsafe {
            libcrypto::EVP_PKEY_derive(operation.0, buffer.as_mut_ptr(), &mut len)
        });
        if capacity < 32 {
            assert!(done.unwrap_err().contains("buffer is too small"), "{capacity}");
            assert_eq!(buffer, [0xa5; 64]);
        } else {
            assert_eq!((done, len), (Ok(()), 32));
            assert_eq!(buffer[..32], secret);
            assert_eq!(buffer[32..], [0xa5; 32]);
        }
    }
    for bytes in [&[7; 31][..], &[7; 33], &[]] {
        for made in [host.x25519_private(OURS, bytes), host.x25519_public(OURS, bytes)] {
            assert!(made.map(drop).unwrap_err().contains("32 bytes each"), "{}", bytes.len());
        }
        // SAFETY: a key, and bytes with their length.
        let set = unsafe {
            libcrypto::EVP_PKEY_set1_encoded_public_key(key.0, bytes.as_ptr(), bytes.len())
        };
        assert_eq!(set, 0);
        assert!(!errors().is_empty());
    }
    assert_eq!(operation.derive().unwrap(), secret, "contexts keep their keys");
}

#[test]
fn a_derivation_needs_a_private_key_and_a_peer() {
    let Some(host) = host() else { return };
    let key = host.new_x25519(OURS);
    let public = host.x25519_public(OURS, &key.raw_public()).unwrap();
    let error = host.derive(OURS, &public, &key).unwrap_err();
    assert!(error.contains("no private half"), "{error}");
    let operation = host.operation(&key, OURS);
    operation.call(libcrypto::EVP_PKEY_derive_init).unwrap();
    let mut len = 0;
    // SAFETY: a context; NULL queries the length.
    let done = check(unsafe { libcrypto::EVP_PKEY_derive(operation.0, ptr::null_mut(), &mut len) });
    assert!(done.unwrap_err().contains("no peer was set"));
}

#[test]
fn keys_are_copied_compared_and_checked() {
    let Some(host) = host() else { return };
    let ours = host.new_x25519(ANY);
    let public = host.x25519_public(ANY, &ours.raw_public()).unwrap();
    let theirs = host.x25519_private(DEFAULT, &ours.raw_private()).unwrap();
    let other = host.new_x25519(ANY);
    let copy = ours.copied();
    assert_eq!(copy.provider(), "tollgate");
    for (key, is_same) in [(&copy, 1), (&public, 1), (&theirs, 1), (&other, 0)] {
        assert_eq!(ours.compare(key), is_same);
    }
    let secret = host.derive(ANY, &ours, &other).unwrap();
    drop(ours);
    assert_eq!(host.derive(ANY, &copy, &other).unwrap(), secret);

    let pair = |public: &[u8]| [(c"priv", copy.raw_private()), (c"pub", public.to_vec())];
    let consistent = from_values(&host, KEYPAIR, &pair(&copy.raw_public()));
    let inconsistent = from_values(&host, KEYPAIR, &pair(&other.raw_public()));
    for (key, public, private, pairwise) in [
        (&copy, 1, 1, 1),
        (&consistent, 1, 1, 1),
        (&inconsistent, 1, 0, 0),
        (&public_of(&host), 1, 0, 0),
    ] {
        assert_eq!(host.operation(key, OURS).checked(libcrypto::EVP_PKEY_public_check), public);
        assert_eq!(host.operation(key, OURS).checked(libcrypto::EVP_PKEY_private_check), private);
        assert_eq!(host.operation(key, OURS).checked(libcrypto::EVP_PKEY_pairwise_check), pairwise);
    }
    let only_public = from_values(&host, PUBLIC_KEY, &pair(&copy.raw_public()));
    let error = host.derive(OURS, &only_public, &other).unwrap_err();
    assert!(error.contains("no private half"), "{error}");
}

fn public_of(host: &Host) -> Key {
    host.x25519_public(OURS, &host.new_x25519(OURS).raw_public()).unwrap()
}

/// Creates a key of this provider from named byte strings.
fn from_values(host: &Host, selection: c_int, values: &[(&CStr, Vec<u8>)]) -> Key {
    let operation = host.operation_of(c"X25519", OURS).unwrap();
    let mut values = values.to_vec();
    let mut params: Vec<_> = values
        .iter_mut()
        .map(|(name, bytes)| libcrypto::octets(name, bytes))
        .chain([libcrypto::END])
        .collect();
    operation.key_from_data(selection, params.as_mut_ptr()).unwrap()
}

/// If X25519 is off, or has no fast kernels here and is not on, nothing of it is offered.
#[test]
fn x25519_that_is_not_offered_is_openssl_s() {
    let is_fast = !tollgate_curves::X25519::best().is_portable();
    for (lines, is_offered) in
        [("x25519 = off", false), ("x25519 = auto", is_fast), ("", is_fast), ("x25519 = on", true)]
    {
        let host = Host::configured(lines);
        assert_eq!(host.operation_of(c"X25519", OURS).is_ok(), is_offered, "{lines}");
        errors();
        let (key, peer) = (host.new_x25519(ANY), host.new_x25519(ANY));
        assert_eq!(key.provider(), if is_offered { "tollgate" } else { "default" }, "{lines}");
        host.derive(ANY, &key, &peer).unwrap();
        assert_eq!(counts(&host), if is_offered { [2, 1] } else { [0, 0] }, "{lines}");
    }
}

#[test]
fn forked_processes_never_repeat_a_key() {
    alone("x25519::forked_processes_never_repeat_a_key", fork_alone);
}

fn fork_alone() {
    let Some(host) = host() else { return };
    let mut shares = BTreeSet::from([host.new_x25519(ANY).raw_public()]);
    let children = 8;
    for _ in 0..children {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        assert!(in_child(|| {
            let shares = [(); 2].map(|()| host.new_x25519(ANY).raw_public());
            writer.write_all(&shares.concat()).is_ok()
        }));
        drop(writer);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        shares.extend(bytes.chunks_exact(32).map(<[u8]>::to_vec));
    }
    shares.insert(host.new_x25519(ANY).raw_public());
    assert_eq!(shares.len(), 2 + 2 * children);
}
