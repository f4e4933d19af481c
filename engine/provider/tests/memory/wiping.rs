//! After a private key is read, generated, used, written and dropped, freed memory contains none of
//! its numbers. A dropped hasher leaves nothing of its message. These tests are in this test
//! program because it may replace the allocator and read memory.

use core::mem::{ManuallyDrop, MaybeUninit};

use tollgate_rerun::alone;
use tollgate_rsa::pkcs8::{EncodePrivateKey as _, LineEnding};
use tollgate_rsa::{Generation, Hash, Hasher, KeyParts, PrivateKey, Workspace};

use crate::allocator::left_behind;

/// Calls `f`, which returns the numbers of a key. Returns the names of those numbers of which `f`
/// left eight consecutive bytes in freed memory.
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
    let pem = include_str!("../../../../vectors/keys/rsa-1024.pem");
    let key = PrivateKey::from_pem(pem).unwrap();
    let planted = numbers_left_by(|| {
        let parts = key.to_parts();
        drop(parts.d_p.to_vec());
        parts
    });
    assert_eq!(planted, ["d_p"], "bytes that are left are found");

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
        key.sign_pkcs1v15_with(&mut workspace, hash, digest.as_ref(), &mut signature).unwrap();
        let mut message = vec![0; key.size()];
        key.decrypt_pkcs1v15_with(&mut workspace, &signature, &mut message).unwrap();
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

/// Some whole blocks of every function, and a partial one.
const MESSAGE: [u8; 500] = [0x5a; 500];

/// Returns how many bytes of a value `change` changes, and how many of those bytes are not zero
/// after the value is dropped. Padding between fields does not count: `change` does not change it.
fn changed_and_left<T>(value: T, change: impl FnOnce(&mut T)) -> (usize, usize) {
    let mut place = MaybeUninit::<T>::zeroed();
    let bytes = |place: &MaybeUninit<T>| -> Vec<u8> {
        let first = place.as_ptr().cast::<u8>();
        // SAFETY: each byte is within the value's memory. Padding may hold any value, and a
        // volatile read accepts it.
        (0..size_of::<T>()).map(|i| unsafe { first.wrapping_add(i).read_volatile() }).collect()
    };
    place.write(value);
    let before = bytes(&place);
    // SAFETY: written above.
    change(unsafe { place.assume_init_mut() });
    let after = bytes(&place);
    // SAFETY: written above, and not used again.
    unsafe { place.assume_init_drop() };
    let left = bytes(&place);
    let changed: Vec<_> = (0..left.len()).filter(|&i| before[i] != after[i]).collect();
    (changed.len(), changed.into_iter().filter(|&i| left[i] != 0).count())
}

#[test]
fn hashers_leave_nothing_behind() {
    for &hash in Hash::ALL {
        let (changed, left) = changed_and_left(Hasher::new(hash), |hasher| hasher.update(&MESSAGE));
        let block_len = if hash == Hash::Mdc2 { 8 } else { 64 };
        // Change half of the block: bytes that are equal to the message by chance do not count as
        // changed.
        let expected = 16 + MESSAGE.len() % block_len / 2;
        assert!(changed >= expected, "{hash:?}: state and block, {changed} bytes");
        assert_eq!(left, 0, "{hash:?}, of {changed} bytes");

        let kept = ManuallyDrop::new(Hasher::new(hash));
        let (changed, left) = changed_and_left(kept, |hasher| hasher.update(&MESSAGE));
        assert!(left * 2 > changed, "{hash:?}: bytes that are left are found: {left} of {changed}");
    }
}
