//! EMSA-PSS at its limits, and with all kinds of damage; `tests/public_api` has OpenSSL.

use proptest::prelude::*;

use super::*;
use crate::hash::Hash;

const INVALID: Result<(), Error> = Err(Error::Rejected(Rejected::SignatureInvalid));

/// PSS with salts of any length.
fn auto(hash: Hash) -> Pss {
    Pss::new(hash).with_salt(Salt::Auto)
}

#[test]
fn lengths_follow_the_standard() {
    // modBits, emLen, unused bits: emBits = modBits - 1
    for (mod_bits, len, mask) in
        [(512, 64, 0x7f), (513, 64, 0xff), (514, 65, 0x01), (2047, 256, 0x3f), (1024, 128, 0x7f)]
    {
        assert_eq!((em_len(mod_bits), top_mask(mod_bits)), (len, mask), "{mod_bits} bits");
    }
    for (hash, salt, mod_bits, len) in [
        (Hash::Sha384, Salt::Digest, 2048, 48),
        (Hash::Sha384, Salt::Exactly(0), 2048, 0),
        (Hash::Sha256, Salt::Max, 2048, 256 - 32 - 2),
        (Hash::Sha256, Salt::Max, 2049, 256 - 32 - 2),
        (Hash::Sha256, Salt::Max, 2050, 257 - 32 - 2),
    ] {
        assert_eq!(Pss::new(hash).with_salt(salt).salt_len_to_sign(mod_bits), Ok(len));
    }
}

#[test]
fn salts_and_digests_that_do_not_fit_are_refused() {
    let digest = Hash::Sha512.digest(b"abc");
    let mut em = [0xa5; 64];
    for salt in [Salt::Max, Salt::Digest, Salt::Exactly(0)] {
        // digest 64 + frame 2, in 64 bytes
        let small = Rejected::ModulusSmall { found_bytes: 64, needed_bytes: 66 }.into();
        let pss = Pss::new(Hash::Sha512).with_salt(salt);
        assert_eq!(encode_random(&mut em, 512, pss, digest.as_ref()), Err(small), "{salt:?}");
    }
    assert_eq!(verify(&em, 512, auto(Hash::Sha512), digest.as_ref()), INVALID);

    let digest = Hash::Sha256.digest(b"abc");
    assert_eq!(
        encode(&mut em, 512, Pss::new(Hash::Sha256), &[1; 31], digest.as_ref()),
        Err(Rejected::ModulusSmall { found_bytes: 64, needed_bytes: 65 }.into())
    );
    assert_eq!(
        Pss::new(Hash::Sha256).with_salt(Salt::Exactly(usize::MAX)).salt_len_to_sign(512),
        Err(Rejected::ModulusSmall { found_bytes: 64, needed_bytes: usize::MAX }.into())
    );
    assert_eq!(em, [0xa5; 64], "untouched");
    encode(&mut em, 512, Pss::new(Hash::Sha256), &[1; 30], digest.as_ref()).unwrap();
}

#[test]
fn broken_contracts_are_refused() {
    let digest = Hash::Sha256.digest(b"abc");
    let mut em = [0; 256];
    let wrong_length = Err(Misuse::BufferLength { found_bytes: 256, expected_bytes: 257 }.into());
    let (pss, auto, digest) = (Pss::new(Hash::Sha256), auto(Hash::Sha256), digest.as_ref());
    assert_eq!(encode(&mut em, 2049, pss, &[], digest), wrong_length);
    assert_eq!(verify(&em, 2049, auto, digest), wrong_length);
    assert_eq!(encode_random(&mut em, 2048, auto, digest), Err(Misuse::SaltAuto.into()));
    let wrong_digest = Err(Rejected::DigestLength { found_bytes: 31, expected_bytes: 32 }.into());
    assert_eq!(encode(&mut em, 2048, pss, &[], &[0; 31]), wrong_digest);
    assert_eq!(verify(&em, 2048, auto, &[0; 31]), wrong_digest);

    let mut em = [0; 1025];
    assert_eq!(verify(&em, 8200, auto, digest), Err(Rejected::Size { bits: 8200 }.into()));
    // The longest salt for 8200 bits has 991 bytes, which would fit the buffer. The one for 9000
    // bits would not.
    let max = pss.with_salt(Salt::Max);
    let too_large = Err(Rejected::Size { bits: 9000 }.into());
    assert_eq!(encode_random(&mut em, 9000, max, digest), too_large);
}

#[test]
fn a_zero_message_is_refused() {
    // After unmasking, DB has no byte 01, or has it in the wrong place. DB of zeros is no encoding,
    // with any hash function.
    let mut em = [0; 256];
    em[255] = 0xbc;
    for &hash in Hash::ALL {
        let digest = hash.digest(b"abc");
        assert_eq!(verify(&em, 2048, auto(hash), digest.as_ref()), INVALID);
    }
}

/// Flips bits that a random choice rarely hits: those above emBits, and the trailer.
#[test]
fn every_changed_bit_at_the_ends_is_refused() {
    let (hash, mgf_hash) = (Hash::Sha256, Hash::Sha1);
    let digest = hash.digest(b"abc");
    for mod_bits in 1017..=1024 {
        let (mut em, pss) = ([0; 128], auto(hash).with_mgf_hash(mgf_hash));
        encode(&mut em, mod_bits, pss, b"salt", digest.as_ref()).unwrap();
        for bit in (0..24).chain(1016..1024) {
            let mut em = em;
            em[bit / 8] ^= 0x80 >> (bit % 8);
            let verdict = verify(&em, mod_bits, pss, digest.as_ref());
            assert_eq!(verdict, INVALID, "{mod_bits} bits, bit {bit}");
        }
    }
}

/// A forged padding with a valid hash: only the padding is wrong.
#[test]
fn a_wrong_padding_with_a_valid_hash_is_refused() {
    let hash = Hash::Sha256;
    let digest = hash.digest(b"abc");
    let mut em = [0; 128];
    encode(&mut em, 1024, Pss::new(hash), b"salt", digest.as_ref()).unwrap();
    let (db, rest) = em.split_at_mut(128 - 32 - 1);
    let h = &rest[..32];
    mgf1::xor(db, hash, h);
    db[0] &= 0x7f;
    let marker = db.len() - 5;
    assert_eq!(db[marker - 1..], [0, 1, b's', b'a', b'l', b't']);
    db[marker] = 2;
    mgf1::xor(db, hash, h);
    db[0] &= 0x7f;
    for salt in [Salt::Auto, Salt::Exactly(4)] {
        let verdict = verify(&em, 1024, Pss::new(hash).with_salt(salt), digest.as_ref());
        assert_eq!(verdict, INVALID, "{salt:?}");
    }
}

proptest! {
    #[test]
    fn any_changed_bit_is_refused(
        hash in prop::sample::select(Hash::ALL),
        mgf_hash in prop::sample::select(Hash::ALL),
        message: Vec<u8>,
        // 66 bytes are enough for the longest digest; every residue modulo 8 occurs
        mod_bits in 8 * 66 + 1..=crate::MODULUS_BITS_MAX,
        salt_len: prop::sample::Index,
        at: prop::sample::Index,
    ) {
        let digest = hash.digest(&message);
        let len = mod_bits.div_ceil(8);
        let pss = Pss::new(hash).with_mgf_hash(mgf_hash);
        let longest = pss.with_salt(Salt::Max).salt_len_to_sign(mod_bits).unwrap();
        let exactly = pss.with_salt(Salt::Exactly(salt_len.index(longest + 1)));
        let mut em = vec![0xa5; len];
        encode_random(&mut em, mod_bits, exactly, digest.as_ref()).unwrap();
        for pss in [pss.with_salt(Salt::Auto), exactly] {
            prop_assert_eq!(verify(&em, mod_bits, pss, digest.as_ref()), Ok(()));
        }
        // The representative is below 2^emBits <= n.
        if !mod_bits.is_multiple_of(8) {
            prop_assert_eq!(em[0] >> (mod_bits % 8), 0);
        }
        let bit = at.index(8 * len);
        em[bit / 8] ^= 1 << (bit % 8);
        let verdict = verify(&em, mod_bits, pss.with_salt(Salt::Auto), digest.as_ref());
        prop_assert_eq!(verdict, INVALID);
    }
}
