//! Keys: what is offered, read, refused, copied, compared and checked.

use crate::host::libcrypto;
use crate::host::x25519::{ANY, OURS};
use crate::host::{Host, errors};
use crate::rig::{HYBRID, MECHANISMS, ML_KEM, PAIR, PUBLIC};

/// Switched off, neither is offered. Otherwise both are, at least where OpenSSL has none.
#[test]
fn settings_decide_what_is_offered() {
    let is_fast = tollgate_kem::MlKem768::best() != tollgate_kem::MlKem768::Portable;
    for (lines, is_offered) in [
        ("ml_kem = off", Some(false)),
        ("ml_kem = on", Some(true)),
        ("ml_kem = on\nx25519 = off\necdsa = off", Some(true)),
        ("", is_fast.then_some(true)),
    ] {
        let host = Host::configured(lines);
        let is_needed = !host.has_openssl_s();
        for (mechanism, _) in MECHANISMS {
            let found = host.operation_of(mechanism, OURS).is_ok();
            assert_eq!(found, is_offered.unwrap_or(is_needed), "{lines}, {mechanism:?}");
        }
        errors();
    }
}

#[test]
fn keys_are_exported_and_read_again() {
    let host = Host::with_ml_kem();
    for (mechanism, [share_len, private_len, ..]) in MECHANISMS {
        let key = host.new_kem_key(mechanism, OURS);
        let [public, private] = [c"encoded-pub-key", c"priv"].map(|name| key.octets(name).unwrap());
        assert_eq!((public.len(), private.len()), (share_len, private_len));
        let seed = key.octets(c"seed");
        assert_eq!(seed.as_ref().map(Vec::len), (mechanism == ML_KEM).then_some(64));
        let (sent, secret) = host.encapsulate(&key, OURS, &[]).unwrap();
        let mut forms = vec![vec![(c"priv", &private[..])]];
        forms.push(vec![(c"priv", &private[..]), (c"pub", &public[..])]);
        if let Some(seed) = &seed {
            forms.push(vec![(c"seed", &seed[..])]);
            forms.push(vec![(c"seed", &seed[..]), (c"priv", &private), (c"pub", &public)]);
        }
        for values in forms {
            let read = host.kem_key(mechanism, OURS, PAIR, &values).unwrap();
            assert_eq!(key.compare(&read), 1);
            assert_eq!(host.decapsulate(&read, OURS, &sent).unwrap(), secret);
            assert_eq!(read.octets(c"priv").unwrap(), private);
            let operation = host.operation(&read, OURS);
            assert_eq!(operation.checked(libcrypto::EVP_PKEY_pairwise_check), 1);
        }
        // libssl's hybrid selects a private half and gives a public one
        for selection in [PUBLIC, PAIR, 0x85] {
            let values = [(c"pub", &public[..])];
            let read = host.kem_key(mechanism, OURS, selection, &values).unwrap();
            assert_eq!(key.compare(&read), 1);
            assert!(read.octets(c"priv").is_none());
            let (sent, secret) = host.encapsulate(&read, OURS, &[]).unwrap();
            assert_eq!(host.decapsulate(&key, OURS, &sent).unwrap(), secret);
        }
        let copy = key.copied();
        assert_eq!((copy.compare(&key), copy.provider().as_str()), (1, "tollgate"));
        assert_eq!(host.decapsulate(&copy, OURS, &sent).unwrap(), secret);
        assert_eq!(key.compare(&host.new_kem_key(mechanism, OURS)), 0);
    }
    assert_eq!(errors(), "");
}

#[test]
fn other_keys_are_refused() {
    let host = Host::with_ml_kem();
    for (mechanism, [share_len, ..]) in MECHANISMS {
        let [key, other] = [(); 2].map(|()| host.new_kem_key(mechanism, OURS));
        let octets = |name| key.octets(name).unwrap();
        let (public, private) = (octets(c"encoded-pub-key"), octets(c"priv"));
        let others = other.octets(c"priv").unwrap();
        let mixed = [&others[..1152], &private[1152..]].concat();
        let mut large = public.clone();
        large[..2].copy_from_slice(&[0x01, 0x0d]); // 3329
        let mut hash = private.clone();
        hash[2336] ^= 1;
        let cases: [(_, &[(_, &[u8])]); 8] = [
            (PUBLIC, &[(c"pub", &public[1..])]),
            (PUBLIC, &[(c"pub", &large)]),
            (PUBLIC, &[]),
            (PAIR, &[(c"priv", &private[1..])]),
            (PAIR, &[(c"priv", &hash)]),
            (PAIR, &[(c"priv", &mixed)]),
            (PAIR, &[(c"priv", &private), (c"pub", &others[1152..][..share_len])]),
            (PAIR, &[(c"pub", &[])]),
        ];
        for (number, (selection, values)) in cases.into_iter().enumerate() {
            let read = host.kem_key(mechanism, OURS, selection, values);
            let error = read.map(drop).unwrap_err();
            assert!(error.contains("refused"), "{mechanism:?}, {number}: {error}");
        }
        for share in [&public[1..], &large, &[]] {
            let error = host.key_of_share(mechanism, share).map(drop).unwrap_err();
            assert!(error.contains("refused"), "{mechanism:?}: {error}");
        }
        let empty = host.empty_kem_key(mechanism);
        assert!(empty.octets(c"encoded-pub-key").is_none());
        assert!(host.encapsulate(&empty, ANY, &[]).is_err());
        // a key takes one public half
        for key in [host.key_of_share(mechanism, &public).unwrap(), key] {
            let error = key.set_share(&public).unwrap_err();
            assert!(error.contains("has a value already"), "{error}");
        }
    }
    let key = host.new_kem_key(ML_KEM, OURS);
    let [seed, private] = [c"seed", c"priv"].map(|name| key.octets(name).unwrap());
    let others = host.new_kem_key(ML_KEM, OURS).octets(c"seed").unwrap();
    for values in [&[(c"seed", &seed[1..])][..], &[(c"seed", &others), (c"priv", &private)]] {
        let error = host.kem_key(ML_KEM, OURS, PAIR, values).map(drop).unwrap_err();
        assert!(error.contains("refused"), "{error}");
    }
    // the hybrid has no seed
    let error = host.kem_key(HYBRID, OURS, PAIR, &[(c"seed", &seed)]).map(drop).unwrap_err();
    assert!(error.contains("refused"), "{error}");
}
