//! What is given back to the allocator holds no number of a private key: while one is read, made,
//! used, written and dropped. (In this crate because its tests may replace the allocator.)

use tollgate_rsa::pkcs8::{EncodePrivateKey as _, LineEnding};
use tollgate_rsa::{Generation, Hash, KeyParts, PrivateKey, Workspace};

use crate::allocator::left_behind;
use crate::host::alone::alone;

/// Names of the numbers of which eight bytes in a row were left behind by `f`, which returns them.
fn numbers_left_by(f: impl FnOnce() -> KeyParts) -> Vec<&'static str> {
    let (parts, left) = left_behind(f);
    let KeyParts { d, p, q, d_p, d_q, q_inv, .. } = &parts;
    let numbers = [("d", d), ("p", p), ("q", q), ("d_p", d_p), ("d_q", d_q), ("q_inv", q_inv)];
    let is_left = |number: &[u8]| {
        number.rchunks_exact(8).any(|eight| {
            let mut reversed = eight.to_vec();
            reversed.reverse();
            left.windows(8).any(|window| window == eight || window == reversed)
        })
    };
    numbers.iter().filter(|(_, number)| is_left(number)).map(|(name, _)| *name).collect()
}

#[test]
fn keys_leave_nothing_behind() {
    alone("wiping::keys_leave_nothing_behind", keys_alone);
}

fn keys_alone() {
    let pem = include_str!("../../../../../vectors/keys/rsa-1024.pem");
    let key = PrivateKey::from_pem(pem).unwrap();
    let planted = numbers_left_by(|| {
        let parts = key.to_parts();
        drop(parts.d_p.to_vec());
        parts
    });
    assert_eq!(planted, ["d_p"], "what is left behind is found");

    let mut workspace = Workspace::new().unwrap();
    for bits in [512, 514] {
        let made =
            numbers_left_by(|| Generation::insecure(bits).run(&mut workspace).unwrap().to_parts());
        assert!(made.is_empty(), "made: {made:?}");
    }
    let read = numbers_left_by(|| PrivateKey::from_pem(pem).unwrap().to_parts());
    assert!(read.is_empty(), "read: {read:?}");
    let used = numbers_left_by(|| {
        let (mut signature, hash) = (vec![0; key.size()], Hash::Sha256);
        let digest = hash.digest(b"message");
        key.sign_pkcs1v15(&mut workspace, hash, digest.as_ref(), &mut signature).unwrap();
        let mut message = vec![0; key.size()];
        key.decrypt_pkcs1v15(&mut workspace, &signature, &mut message).unwrap();
        workspace = Workspace::new().unwrap();
        key.to_parts()
    });
    assert!(used.is_empty(), "used: {used:?}");
    let written = numbers_left_by(|| {
        drop(key.to_pkcs8_der().unwrap());
        drop(key.to_pkcs8_pem(LineEnding::LF).unwrap());
        key.to_parts()
    });
    assert!(written.is_empty(), "written: {written:?}");
}
