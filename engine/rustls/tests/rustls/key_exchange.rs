//! X25519 and secp256r1 on the engine, against rustls's own groups.

use rustls::crypto::{SupportedKxGroup, aws_lc_rs};
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};
use tollgate_curves::X25519;
use tollgate_curves::p256::P256;
use tollgate_rustls::{Secp256r1Group, X25519Group, X25519MlKem768Group, provider};

use crate::identity::{has_no_curves, queue};

#[test]
fn both_sides_agree() {
    if has_no_curves() {
        return;
    }
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

/// The server of a hybrid group needs the client's share, so it starts and completes in one step. A
/// client can also complete X25519 alone.
#[test]
fn both_sides_agree_on_a_hybrid_secret() {
    if has_no_curves() {
        return;
    }
    let theirs = aws_lc_rs::kx_group::X25519MLKEM768;
    let ours: &dyn SupportedKxGroup = &X25519MlKem768Group;
    assert_eq!(ours.name(), theirs.name());
    for version in [ProtocolVersion::TLSv1_2, ProtocolVersion::TLSv1_3] {
        assert_eq!(ours.usable_for_version(version), theirs.usable_for_version(version));
    }
    for (client, server) in [(ours, ours), (ours, theirs), (theirs, ours)] {
        let started = client.start().unwrap();
        assert_eq!((started.group(), started.pub_key().len()), (client.name(), 1184 + 32));
        let done = server.start_and_complete(started.pub_key()).unwrap();
        assert_eq!((done.group, done.pub_key.len()), (client.name(), 1088 + 32));
        let secret = started.complete(&done.pub_key).unwrap();
        assert_eq!(secret.secret_bytes(), done.secret.secret_bytes());
        assert_eq!(secret.secret_bytes().len(), 64);
    }
    let started = ours.start().unwrap();
    let (group, x25519) = started.hybrid_component().unwrap();
    assert_eq!((group, x25519), (NamedGroup::X25519, &started.pub_key()[1184..]));
    let done = aws_lc_rs::kx_group::X25519.start_and_complete(x25519).unwrap();
    let secret = started.complete_hybrid_component(&done.pub_key).unwrap();
    assert_eq!(secret.secret_bytes(), done.secret.secret_bytes());
}

/// Shares of a wrong length, X25519 of a low order, and an invalid encapsulation key: its numbers
/// of twelve bits are above the prime of ML-KEM.
#[test]
fn invalid_hybrid_shares_are_refused() {
    if has_no_curves() {
        return;
    }
    let invalid = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
    let group = X25519MlKem768Group;
    let client = group.start().unwrap().pub_key().to_vec();
    let low_order = [&client[..1184], &[0; 32]].concat();
    let above_prime = [&[0xff; 1184], &client[1184..]].concat();
    let longer = [&client[..], &[0]].concat();
    for share in [&client[..1215], &longer, &low_order, &above_prime, &[], &client[..32]] {
        let refused = group.start_and_complete(share).map(|_| ()).unwrap_err();
        assert_eq!(refused, invalid, "{} bytes", share.len());
    }
    let server = group.start_and_complete(&client).unwrap().pub_key;
    let low_order = [&server[..1088], &[0; 32]].concat();
    for share in [&server[..1119], &low_order, &client, &[]] {
        let refused = group.start().unwrap().complete(share).map(|_| ()).unwrap_err();
        assert_eq!(refused, invalid, "{} bytes", share.len());
    }
}

#[test]
fn every_exchange_has_a_new_key() {
    if has_no_curves() {
        return;
    }
    let groups: [&dyn SupportedKxGroup; 3] = [&X25519Group, &Secp256r1Group, &X25519MlKem768Group];
    for group in groups {
        let [a, b] = [(); 2].map(|()| group.start().unwrap().pub_key().to_vec());
        assert_ne!(a, b);
    }
}

#[test]
fn invalid_public_keys_are_refused() {
    if has_no_curves() {
        return;
    }
    for peer in [&[0; 32][..], &[9; 31], &[9; 33], &[]] {
        let refused = X25519Group.start().unwrap().complete(peer).map(|_| ()).unwrap_err();
        assert_eq!(refused, Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare), "{peer:?}");
    }
}

/// The crate of the curve checks more of them.
#[test]
fn invalid_points_are_refused() {
    if has_no_curves() {
        return;
    }
    let point = Secp256r1Group.start().unwrap().pub_key().to_vec();
    let with = |at: usize, byte: u8| {
        let mut point = point.clone();
        point[at] ^= byte;
        point
    };
    let compressed = [&[2 | point[64] & 1], &point[1..33]].concat();
    for peer in [with(64, 1), with(0, 1), compressed, point[..64].to_vec(), Vec::new()] {
        let refused = Secp256r1Group.start().unwrap().complete(&peer).map(|_| ()).unwrap_err();
        assert_eq!(refused, Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare), "{peer:?}");
    }
    assert!(Secp256r1Group.start().unwrap().complete(&point).is_ok());
}

/// The provider offers the groups of rustls's own, X25519MLKEM768 first.
#[test]
fn the_provider_has_the_groups_where_they_are_faster() {
    let names = |groups: &[&dyn SupportedKxGroup]| -> Vec<_> {
        groups.iter().map(|group| group.name()).collect()
    };
    let ours = provider(&queue()).kx_groups;
    let mut theirs = names(&aws_lc_rs::default_provider().kx_groups);
    theirs.sort_by_key(|name| *name != NamedGroup::X25519MLKEM768);
    assert_eq!(names(&ours), theirs);
    assert_eq!(ours[0].name(), NamedGroup::X25519MLKEM768);
    let is_ours = |name, type_name| {
        let group = ours.iter().find(|group| group.name() == name).unwrap();
        format!("{group:?}") == type_name
    };
    let has_ifma = matches!(X25519::best(), X25519::Ifma(_));
    assert_eq!(is_ours(NamedGroup::X25519, "X25519Group"), has_ifma);
    assert_eq!(is_ours(NamedGroup::X25519MLKEM768, "X25519MlKem768Group"), has_ifma);
    let is_fast = P256::best().is_ok_and(P256::beats_openssl);
    assert_eq!(is_ours(NamedGroup::secp256r1, "Secp256r1Group"), is_fast);
}
