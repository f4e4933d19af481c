//! EMSA-PSS against OpenSSL, at its limits, and with all kinds of damage.

use proptest::prelude::*;

use super::*;
use crate::hash::Hash;

const INVALID: Result<(), Error> = Err(Error::Rejected(Rejected::SignatureInvalid));

/// PSS with salts of any length.
fn auto(hash: Hash) -> Pss {
    Pss::new(hash).with_salt(Salt::Auto)
}

/// The encoded message of a signature of `abc` by OpenSSL.
struct Known {
    mod_bits: usize,
    hash: Hash,
    mgf_hash: Hash,
    salt: &'static str,
    em: &'static str,
}

/// ```text
/// openssl genrsa -out key.pem BITS
/// printf abc | openssl dgst -HASH -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:LEN \
///     -sigopt rsa_mgf1_md:MGF -sign key.pem |
///     openssl pkeyutl -verifyrecover -inkey key.pem -pkeyopt rsa_padding_mode:none | xxd -p
/// ```
/// The encoding depends on the size of the key only. The salt was extracted by a second
/// implementation (thirty lines of Python).
const KNOWN: [Known; 4] = [
    Known {
        mod_bits: 512,
        hash: Hash::Sha256,
        mgf_hash: Hash::Sha256,
        salt: "6f740787cc00bc1cc25718c11c9dcc813bdefdd5a33f3853c82fbf1c9e88", // saltlen max
        em: "\
            634d7f92fbc6b442dc5a520df8f3e526bb75e5c4fdea21a945b54149ec5421bf89670f10\
            f32d1cf02ad8068bc004f09d3e0142d0b1e5e2f99c6ec020349983bc",
    },
    Known {
        mod_bits: 513,
        hash: Hash::Sha1,
        mgf_hash: Hash::Sha1,
        salt: "b525648e54200473a93990a23b0307b3e477b220", // saltlen digest
        em: "\
            006d4a4afca1ac26b1d4a20db2e02809140787bf800ab5c1aa4d19ed16c22d06cba1c2f3\
            b65b400ee2f2bd38ccc50bbf46cbab9be61a09fb46a3bc48157854adbc",
    },
    Known {
        mod_bits: 1022,
        hash: Hash::Sha384,
        mgf_hash: Hash::Sha256,
        salt: "3717a712e4833206914ebd0dab8fbacecb", // saltlen 17
        em: "\
            1d144fd7b5551973d724e3639e6aa45c14c2c8b9802ac8c4e7a9f993ab6515850907d0e8\
            0ec303677eb6b63afdeb9100bb24aba998f29e8881d588c3e60b466932f30bfa2b477eb4\
            843681ac65a2b754d2e4ccae7e0939b45c65235a9e954c502b63c5790abad948116a99cf\
            d9a81c60ee89ce71d69ed7de2b973608b6871cbc",
    },
    Known {
        mod_bits: 1024,
        hash: Hash::Sha3_256,
        mgf_hash: Hash::Sha1,
        salt: "", // saltlen 0
        em: "\
            471a3ef66f0118af5b7ef3395a7561c4e9367dd0836a73ffb057deed54a8665c1d8c62ad\
            a9f55ec3192599ff918168ae2ba0457c037ccf4656093e1b75a6133da3a910db08538651\
            a9ee6701dd9baedec9c166a9917fb2c0712eea45d85f215ff0b723a9a032a585c5a7eab4\
            59179ba764d818bfd645086532601e606738e9bc",
    },
];

#[test]
fn encodes_and_verifies_as_openssl() {
    for Known { mod_bits, hash, mgf_hash, salt, em } in KNOWN {
        let digest = hash.digest(b"abc");
        let salt = hex::decode(salt).unwrap();
        let mut ours = vec![0xa5; mod_bits.div_ceil(8)];
        let pss = Pss::new(hash).with_mgf_hash(mgf_hash);
        encode(&mut ours, mod_bits, pss, &salt, digest.as_ref()).unwrap();
        assert_eq!(hex::encode(&ours), em, "{mod_bits} bits");

        for (salt, expected) in [
            (Salt::Auto, true),
            (Salt::Exactly(salt.len()), true),
            (Salt::Exactly(salt.len() + 1), false),
            (Salt::Exactly(usize::MAX), false),
            (Salt::Digest, salt.len() == hash.len()),
            (Salt::Max, salt.len() == em_len(mod_bits) - hash.len() - 2),
        ] {
            let verdict = verify(&ours, mod_bits, pss.with_salt(salt), digest.as_ref());
            assert_eq!(verdict.is_ok(), expected, "{mod_bits} bits, {salt:?}");
        }
    }
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
fn two_encodings_have_two_salts() {
    let digest = Hash::Sha256.digest(b"abc");
    let mut ems = [[0; 256]; 2];
    for em in &mut ems {
        encode_random(em, 2048, Pss::new(Hash::Sha256), digest.as_ref()).unwrap();
    }
    assert_ne!(ems[0], ems[1]); // equal with probability 2^-256
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
        let pss = |salt| Pss::new(hash).with_mgf_hash(mgf_hash).with_salt(salt);
        let salt_len = salt_len.index(pss(Salt::Max).salt_len_to_sign(mod_bits).unwrap() + 1);
        let mut em = vec![0xa5; len];
        let exactly = pss(Salt::Exactly(salt_len));
        encode_random(&mut em, mod_bits, exactly, digest.as_ref()).unwrap();
        for pss in [pss(Salt::Auto), exactly] {
            prop_assert_eq!(verify(&em, mod_bits, pss, digest.as_ref()), Ok(()));
        }
        // The representative is below 2^emBits <= n.
        if !mod_bits.is_multiple_of(8) {
            prop_assert_eq!(em[0] >> (mod_bits % 8), 0);
        }
        let bit = at.index(8 * len);
        em[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(verify(&em, mod_bits, pss(Salt::Auto), digest.as_ref()), INVALID);
    }
}
