//! X25519 keys and shared secrets, beside those of OpenSSL's own provider.

use core::ffi::{CStr, c_int};
use core::ptr;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};

use tollgate_rerun::alone;

use crate::host::child::in_child;
use crate::host::libcrypto::{self, OSSL_PARAM};
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

/// Keys of extreme bytes, which need clamping and reduction.
#[test]
fn chosen_keys_agree_with_openssl_s() {
    let Some(host) = host() else { return };
    let p_plus_9 = [&[0xf6][..], &[0xff; 30], &[0x7f]].concat(); // not canonical: equals 9
    let mut random = fastrand::Rng::with_seed(7);
    let mut any = || (0..32).map(|_| random.u8(..)).collect::<Vec<_>>();
    let private = [vec![0; 32], vec![0xff; 32], any(), any()];
    let public = [vec![9; 32], vec![0xff; 32], p_plus_9, any(), any()];
    for bytes in &private {
        let [ours, theirs] = [OURS, DEFAULT].map(|q| host.x25519_private(q, bytes).unwrap());
        assert_eq!(ours.raw_private(), *bytes);
        assert_eq!(ours.raw_public(), theirs.raw_public());
        for peer in &public {
            let shared = |query, key| {
                let peer = host.x25519_public(query, peer).unwrap();
                host.derive(query, key, &peer)
            };
            assert_eq!(shared(OURS, &ours).unwrap(), shared(DEFAULT, &theirs).unwrap());
        }
    }
}

/// RFC 7748, section 6.1.
#[test]
fn bob_and_alice_agree() {
    let Some(host) = host() else { return };
    let bytes = |text| hex::decode(text).unwrap();
    let bob = bytes("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
    let bob = host.x25519_private(OURS, &bob).unwrap();
    let bob_public = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";
    assert_eq!(hex::encode(bob.raw_public()), bob_public);
    let alice = bytes("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
    let alice = host.x25519_public(OURS, &alice).unwrap();
    let shared = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742";
    assert_eq!(hex::encode(host.derive(OURS, &bob, &alice).unwrap()), shared);
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

fn names(table: Vec<(&CStr, OSSL_PARAM)>) -> BTreeSet<String> {
    table.into_iter().map(|(name, _)| name.to_str().unwrap().into()).collect()
}

/// A security category, against quantum computers, exists since OpenSSL 3.5; X25519 has none.
#[test]
fn keys_describe_themselves_as_openssl_s_do() {
    let Some(host) = host() else { return };
    let facts = |query| {
        let key = host.x25519_private(query, &[7; 32]).unwrap();
        let mut gettable = names(key.table());
        gettable.remove("security-category");
        let operation = host.operation_of(c"X25519", query).unwrap();
        operation.begin_key().unwrap();
        let settable = names(operation.table(libcrypto::EVP_PKEY_CTX_settable_params));
        (key.sizes(), gettable, settable)
    };
    let (ours, theirs) = (facts(OURS), facts(DEFAULT));
    assert_eq!((ours.0, &ours.1), (theirs.0, &theirs.1));
    assert!(ours.2.is_superset(&theirs.2), "{:?}", theirs.2);
}

/// The steps of libssl: an empty key for the peer's share, made by parameters only; then a key pair
/// made from that key; and a copy of a key's parameters, which is empty too.
#[test]
fn parameters_make_an_empty_key_for_the_peer_s_share() {
    let Some(host) = host() else { return };
    let peer = host.new_x25519(DEFAULT);
    let operation = host.operation_of(c"X25519", ANY).unwrap();
    operation.call(libcrypto::EVP_PKEY_paramgen_init).unwrap();
    let set = |group: &CStr| operation.set(&[libcrypto::text(c"group", group)]);
    assert!(set(c"P-256").unwrap_err().contains("must be x25519"));
    for group in [c"x25519", c"X25519"] {
        assert_eq!(set(group), Ok(()));
    }
    let share = operation.generate().unwrap();
    assert_eq!(share.size(), 32);
    assert_eq!((share.provider().as_str(), counts(&host)), ("tollgate", [0, 0]));
    set_encoded(&share, &peer.raw_public());
    assert_eq!(share.raw_public(), peer.raw_public());

    let operation = host.operation(&share, ANY);
    operation.begin_key().unwrap();
    let ours = operation.generate().unwrap();
    assert_ne!(ours.raw_public(), share.raw_public());
    assert_eq!(counts(&host), [1, 0]);
    let secret = host.derive(ANY, &ours, &share).unwrap();
    assert_eq!(secret, host.derive(DEFAULT, &peer, &ours).unwrap());

    // SAFETY: no arguments.
    let copy = Key(unsafe { libcrypto::EVP_PKEY_new() });
    // SAFETY: two keys.
    check(unsafe { libcrypto::EVP_PKEY_copy_parameters(copy.0, ours.0) }).unwrap();
    set_encoded(&copy, &peer.raw_public());
    assert_eq!(host.derive(ANY, &ours, &copy).unwrap(), secret);
    assert_eq!(errors(), "");
}

fn set_encoded(key: &Key, bytes: &[u8]) {
    let (at, len) = (bytes.as_ptr(), bytes.len());
    // SAFETY: a key, and bytes with their length.
    check(unsafe { libcrypto::EVP_PKEY_set1_encoded_public_key(key.0, at, len) }).unwrap();
}

/// A key for DHKEM is derived from an input. OpenSSL 3.0 and 3.1 have no DHKEM.
#[test]
fn dhkem_keys_are_openssl_s() {
    let Some(host) = host() else { return };
    let derived = |query, mut seed: Vec<u8>| {
        let operation = host.operation_of(c"X25519", query).unwrap();
        operation.begin_key().unwrap();
        let known = names(operation.table(libcrypto::EVP_PKEY_CTX_settable_params));
        operation.set(&[libcrypto::octets(c"dhkem-ikm", &mut seed)]).unwrap();
        (known.contains("dhkem-ikm"), operation.generate().map(|key| key.raw_private()))
    };
    let (_, ours) = derived(OURS, vec![7; 40]);
    assert_eq!(derived(OURS, vec![7; 40]).1, ours, "the same input gives the same key");
    let (is_known, theirs) = derived(DEFAULT, vec![7; 40]);
    if is_known {
        assert_eq!(ours, theirs);
    }
    assert!(derived(OURS, vec![7; 31]).1.unwrap_err().contains("32 bytes or more"));
}

/// OpenSSL's own provider encapsulates, with this provider's keys too, if the release can.
#[test]
fn dhkem_takes_keys_of_both_providers() {
    let Some(host) = host() else { return };
    let params = [libcrypto::text(c"operation", c"DHKEM")];
    let wraps = |key: &Key| {
        let operation = host.operation(key, ANY);
        operation.init(libcrypto::EVP_PKEY_encapsulate_init, &params)?;
        let (mut wrapped, mut secret) = (vec![0; 32], vec![0; 32]);
        let mut lens = [32; 2];
        let [wrapped_len, secret_len] = &mut lens;
        let (to, to_secret) = (wrapped.as_mut_ptr(), secret.as_mut_ptr());
        // SAFETY: a context, and buffers of these lengths.
        check(unsafe {
            libcrypto::EVP_PKEY_encapsulate(operation.0, to, wrapped_len, to_secret, secret_len)
        })?;
        Ok::<_, String>((wrapped, secret))
    };
    let (ours, theirs) = (host.new_x25519(ANY), host.new_x25519(DEFAULT));
    let is_known = wraps(&theirs).is_ok();
    for key in [&ours, &theirs] {
        let done = wraps(key);
        assert_eq!(done.is_ok(), is_known, "{done:?}");
        let Ok((wrapped, secret)) = done else { continue };
        let operation = host.operation(key, ANY);
        operation.init(libcrypto::EVP_PKEY_decapsulate_init, &params).unwrap();
        assert_eq!(operation.run(libcrypto::EVP_PKEY_decapsulate, &wrapped).unwrap(), secret);
    }
}

/// Returns the capability of group x25519: names and values.
fn group(host: &Host, of_default: bool) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    host.capabilities(of_default, c"TLS-GROUP", |params| {
        let mut values = BTreeMap::new();
        for (name, param) in params {
            // SAFETY: the parameter's data has this length.
            let bytes = unsafe { core::slice::from_raw_parts(param.data.cast(), param.data_size) };
            values.insert(name.to_str().unwrap().to_owned(), <[u8]>::to_vec(bytes));
        }
        if values["tls-group-name"].starts_with(b"x25519\0") {
            found = values;
        }
    });
    found
}

#[test]
fn the_group_has_openssl_s_values() {
    let Some(host) = host() else { return };
    let (ours, mut theirs) = (group(&host, false), group(&host, true));
    // OpenSSL 3.0 leaves the default out.
    assert_eq!(theirs.remove("tls-group-is-kem").unwrap_or(vec![0; 4]), [0; 4]);
    assert_eq!(ours, theirs);
    assert_eq!(ours.len(), 9);
    host.capabilities(false, c"TLS-SIGALG", |_| panic!("there are none"));
}

/// If X25519 is off, or has no kernels here, nothing of it is offered.
#[test]
fn x25519_that_is_not_offered_is_openssl_s() {
    let is_fast = tollgate_curves::X25519::best().is_ok();
    for (lines, is_offered) in [
        ("x25519 = off", false),
        ("x25519 = auto", is_fast),
        ("", is_fast),
        ("x25519 = on", is_fast),
    ] {
        let host = Host::configured(lines);
        assert_eq!(host.operation_of(c"X25519", OURS).is_ok(), is_offered, "{lines}");
        errors();
        assert_eq!(group(&host, false).is_empty(), !is_offered, "{lines}");
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
