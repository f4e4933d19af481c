//! Keys, curves and operations that OpenSSL's own provider serves, as it would without this one.

use openssl::ec::{EcGroup, EcKey};
use openssl::nid::Nid;
use openssl::pkey::PKey;

use super::ecdsa::{OURS, counts, host, is_valid, p256, pem_of};
use crate::host::x25519::ANY;
use crate::host::{DEFAULT, Host, Key, errors, pem};

/// Signs and verifies as a server and a client do, and returns the numbers of this provider's
/// operations.
fn operations_of(host: &Host, key: &Key) -> [u64; 2] {
    let before = counts(host);
    let made = host.sign(key, ANY, c"SHA256", &[], b"a message").unwrap();
    host.verify(key, DEFAULT, c"SHA256", &[], b"a message", &made).unwrap();
    host.verify(key, ANY, c"SHA256", &[], b"a message", &made).unwrap();
    assert_eq!(errors(), "", "a refused key leaves no error");
    let after = counts(host);
    [after[0] - before[0], after[1] - before[1]]
}

/// A key without a private half verifies with OpenSSL's own provider, also after the same public
/// key signed here with its private half.
#[test]
fn public_keys_stay_with_openssl() {
    let Some((host, pair)) = p256() else { return };
    let made = host.sign(&pair, ANY, c"SHA256", &[], b"a message").unwrap();
    let der = PKey::private_key_from_pem(pem("ec-p256.pem").as_bytes()).unwrap();
    let public = String::from_utf8(der.public_key_to_pem().unwrap()).unwrap();
    let public = host.public_key(&public);
    let before = counts(&host);
    for _ in 0..3 {
        assert!(is_valid(&host, &public, ANY, c"SHA256", b"a message", &made));
        assert!(!is_valid(&host, &public, ANY, c"SHA256", b"another message", &made));
    }
    assert_eq!(pair.compare(&public), 1);
    assert_eq!(counts(&host), before);
    let error = host.sign(&public, ANY, c"SHA256", &[], b"a message").unwrap_err();
    let theirs = host.sign(&public, DEFAULT, c"SHA256", &[], b"a message").unwrap_err();
    assert_eq!(error, theirs);
}

/// A key whose public half belongs to another secret number signs with OpenSSL's own provider, as
/// it would without this one.
#[test]
fn inconsistent_keys_stay_with_openssl() {
    let Some(host) = host() else { return };
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let [first, second] = [(); 2].map(|()| EcKey::generate(&group).unwrap());
    let mixed =
        EcKey::from_private_components(&group, first.private_key(), second.public_key()).unwrap();
    let key = host.key(&pem_of(mixed));
    let made = host.sign(&key, ANY, c"SHA256", &[], b"a message").unwrap();
    assert_eq!((counts(&host), errors().as_str()), ([0, 0], ""));
    let first = host.key(&pem_of(first));
    assert_eq!(host.verify(&first, ANY, c"SHA256", &[], b"a message", &made), Ok(()));
}

/// If ECDSA is off, or has no kernels here, nothing of it is offered.
#[test]
fn ecdsa_that_is_not_offered_is_openssl_s() {
    let is_fast = tollgate_curves::p256::P256::best().is_ok();
    for (lines, is_offered) in
        [("ecdsa = off", false), ("ecdsa = auto", is_fast), ("", is_fast), ("ecdsa = on", is_fast)]
    {
        for x25519 in ["on", "off"] {
            let lines = format!("{lines}\nx25519 = {x25519}");
            let (host, key) = Host::configured(&lines).with_key("ec-p256.pem");
            assert_eq!(operations_of(&host, &key), [u64::from(is_offered); 2], "{lines}");
            let ours = host.sign(&key, OURS, c"SHA256", &[], b"a message");
            assert_eq!(ours.is_ok(), is_offered, "{lines}");
            errors();
            let new = host.new_x25519(ANY);
            assert_eq!(new.provider() == "tollgate", x25519 == "on" && is_fast, "{lines}");
            let rsa = host.key(&pem("rsa-2048.pem"));
            host.sign(&rsa, ANY, c"SHA256", &[], b"a message").unwrap();
            assert_eq!(host.counter("signatures"), 1, "{lines}");
        }
    }
}
