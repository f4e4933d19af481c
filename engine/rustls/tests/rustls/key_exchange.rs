//! X25519 and secp256r1 on the engine, against rustls's own groups.

use rustls::crypto::{SupportedKxGroup, aws_lc_rs};
use rustls::{Error, NamedGroup, PeerMisbehaved};
use tollgate_curves::X25519;
use tollgate_curves::p256::P256;
use tollgate_rustls::{Secp256r1Group, X25519Group, provider};

use crate::identity::queue;

#[test]
fn both_sides_agree() {
    let x25519: [&dyn SupportedKxGroup; 2] = [aws_lc_rs::kx_group::X25519, &X25519Group];
    let p256: [&dyn SupportedKxGroup; 2] = [aws_lc_rs::kx_group::SECP256R1, &Secp256r1Group];
    for [client, server] in [x25519, [x25519[1], x25519[0]], p256, [p256[1], p256[0]]] {
        let (ours, theirs) = (client.start().unwrap(), server.start().unwrap());
        assert_eq!([ours.group(), theirs.group()], [client.name(); 2]);
        let (to_ours, to_theirs) = (theirs.pub_key().to_vec(), ours.pub_key().to_vec());
        let (a, b) = (ours.complete(&to_ours).unwrap(), theirs.complete(&to_theirs).unwrap());
        assert_eq!(a.secret_bytes(), b.secret_bytes());
    }
}

#[test]
fn every_exchange_has_a_new_key() {
    for group in [&X25519Group as &dyn SupportedKxGroup, &Secp256r1Group] {
        let [a, b] = [(); 2].map(|()| group.start().unwrap().pub_key().to_vec());
        assert_ne!(a, b);
    }
}

#[test]
fn invalid_public_keys_are_refused() {
    for peer in [&[0; 32][..], &[9; 31], &[9; 33], &[]] {
        let refused = X25519Group.start().unwrap().complete(peer).map(|_| ()).unwrap_err();
        assert_eq!(refused, Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare), "{peer:?}");
    }
}

/// Points that are not on the curve, with a coordinate of the prime or above, the neutral point, and
/// compressed points.
#[test]
fn invalid_points_are_refused() {
    let point = Secp256r1Group.start().unwrap().pub_key().to_vec();
    let with = |at: usize, byte: u8| {
        let mut point = point.clone();
        point[at] ^= byte;
        point
    };
    let prime = "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff";
    let prime = openssl::bn::BigNum::from_hex_str(prime).unwrap().to_vec();
    for peer in [
        with(64, 1),
        with(1, 1),
        with(0, 1),
        [&[4], &*prime, &prime].concat(),
        [&[4][..], &[0; 64]].concat(),
        [&[2 | point[64] & 1], &point[1..33]].concat(),
        vec![0],
        point[..64].to_vec(),
        [&point[..], &[0]].concat(),
        Vec::new(),
    ] {
        let refused = Secp256r1Group.start().unwrap().complete(&peer).map(|_| ()).unwrap_err();
        assert_eq!(refused, Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare), "{peer:?}");
    }
    assert!(Secp256r1Group.start().unwrap().complete(&point).is_ok());
}

/// The provider offers the same groups in the same order as rustls's own.
#[test]
fn the_provider_has_the_groups_where_they_are_faster() {
    let names = |groups: &[&dyn SupportedKxGroup]| -> Vec<_> {
        groups.iter().map(|group| group.name()).collect()
    };
    let ours = provider(&queue()).kx_groups;
    assert_eq!(names(&ours), names(&aws_lc_rs::default_provider().kx_groups));
    let is_ours = |name, type_name| {
        let group = ours.iter().find(|group| group.name() == name).unwrap();
        format!("{group:?}") == type_name
    };
    let has_ifma = matches!(X25519::best(), X25519::Ifma(_));
    assert_eq!(is_ours(NamedGroup::X25519, "X25519Group"), has_ifma);
    let is_fast = P256::best() != P256::Portable;
    assert_eq!(is_ours(NamedGroup::secp256r1, "Secp256r1Group"), is_fast);
}
