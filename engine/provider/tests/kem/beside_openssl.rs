//! The same keys, ciphertexts and secrets with OpenSSL's own provider, in both directions.

use core::ffi::CStr;

use fastrand::Rng;

use crate::host::libcrypto;
use crate::host::x25519::OURS;
use crate::host::{DEFAULT, Host, Key};
use crate::rig::{HYBRID, MECHANISMS, ML_KEM, PAIR, PUBLIC};

/// The rounds of a test: 10^5 keys with `TOLLGATE_TEST_LONG`.
fn rounds() -> usize {
    if std::env::var_os("TOLLGATE_TEST_LONG").is_some() { 100_000 } else { 100 }
}

/// Checks that a secret sent by one provider is received by both.
fn exchange(host: &Host, pair: [&Key; 2], from: (&Key, &CStr), rng: &mut Rng) {
    let (sent, secret) = host.encapsulate(from.0, from.1, &[]).unwrap();
    let mut changed = sent.clone();
    changed[rng.usize(..1088)] ^= 1 << rng.u8(..8);
    for (key, query) in pair.into_iter().zip([OURS, DEFAULT]) {
        assert_eq!(host.decapsulate(key, query, &sent).unwrap(), secret);
    }
    let [ours, theirs] = [(pair[0], OURS), (pair[1], DEFAULT)]
        .map(|(key, query)| host.decapsulate(key, query, &changed).unwrap());
    assert_eq!(ours, theirs, "implicit rejection");
    assert_ne!(ours[..32], secret[..32]);
}

#[test]
fn keys_ciphertexts_and_secrets_are_openssl_s() {
    let host = Host::with_ml_kem();
    if !host.has_openssl_s() {
        return;
    }
    let mut rng = Rng::with_seed(51);
    for _ in 0..rounds() {
        for (mechanism, _) in MECHANISMS {
            let queries = if rng.bool() { [OURS, DEFAULT] } else { [DEFAULT, OURS] };
            let key = host.new_kem_key(mechanism, queries[0]);
            let [public, private] =
                [c"encoded-pub-key", c"priv"].map(|name| key.octets(name).unwrap());
            let values = [(c"priv", &private[..])];
            let copy = host.kem_key(mechanism, queries[1], PAIR, &values).unwrap();
            assert_eq!(copy.octets(c"priv").unwrap(), private);
            assert_eq!(copy.octets(c"encoded-pub-key").unwrap(), public);
            let pair = if queries[0] == OURS { [&key, &copy] } else { [&copy, &key] };
            for query in queries {
                let values = [(c"pub", &public[..])];
                let sender = host.kem_key(mechanism, query, PUBLIC, &values).unwrap();
                exchange(&host, pair, (&sender, query), &mut rng);
            }
        }
        let (mut seed, mut noise) = ([0; 64], [0; 32]);
        rng.fill(&mut seed);
        rng.fill(&mut noise);
        let [ours, theirs] = [OURS, DEFAULT].map(|query| {
            let key = host.kem_key(ML_KEM, query, PAIR, &[(c"seed", &seed)]).unwrap();
            let params = [libcrypto::octets(c"ikme", &mut noise.clone())];
            let made = host.encapsulate(&key, query, &params).unwrap();
            (key.octets(c"priv").unwrap(), key.octets(c"seed").unwrap(), made)
        });
        assert_eq!(ours, theirs);
    }
}

/// A key of one provider serves operations of the other: libcrypto exports it.
#[test]
fn each_provider_uses_the_other_s_keys() {
    let host = Host::with_ml_kem();
    if !host.has_openssl_s() {
        return;
    }
    for (holder, user) in [(OURS, DEFAULT), (DEFAULT, OURS)] {
        let key = host.new_kem_key(ML_KEM, holder);
        let (sent, secret) = host.encapsulate(&key, user, &[]).unwrap();
        assert_eq!(host.decapsulate(&key, holder, &sent).unwrap(), secret);
        assert_eq!(host.decapsulate(&key, user, &sent).unwrap(), secret);
    }
    let sizes = [OURS, DEFAULT].map(|query| host.new_kem_key(HYBRID, query).sizes());
    assert_eq!(sizes[0], sizes[1]);
}
