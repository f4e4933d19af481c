//! Decodes any bytes as a decrypted message. Compares the result with a simple decoder in this
//! file.
//!
//! The first byte selects the operation, the second a hash function; the rest is the message.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tollgate_rsa::{
    Hash, Oaep, Premaster, PrivateKey, TlsVersions, eme_pkcs1v15, implicit_rejection, oaep,
    premaster,
};

static KEY: LazyLock<PrivateKey> = LazyLock::new(|| {
    let pem = include_str!("../../vectors/keys/rsa-512.pem");
    PrivateKey::from_pem(pem).expect("a good key")
});

fuzz_target!(|bytes: &[u8]| {
    let [choice, hash, em @ ..] = bytes else {
        return;
    };
    let hash = Hash::ALL[usize::from(*hash) % Hash::ALL.len()];
    match choice % 5 {
        0 => assert_eq!(eme_pkcs1v15::decode(em).ok(), message(em)),
        1 => rejected_implicitly(em),
        2 => premaster_secret(em),
        3 => assert!(oaep::decode(&mut em.to_vec(), Oaep::new(hash)).is_err()),
        _ => masked(em, hash),
    }
});

/// Decodes EME-PKCS1-v1_5 from the first byte on.
fn message(em: &[u8]) -> Option<&[u8]> {
    let rest = em.strip_prefix(&[0, 2])?;
    let ps_len = rest.iter().position(|&byte| byte == 0)?;
    (ps_len >= 8).then(|| &rest[ps_len + 1..])
}

fn rejected_implicitly(em: &[u8]) {
    let rejection = KEY.rejection_key(&[7; 64]).expect("64 bytes");
    let mut buffer = em.to_vec();
    let Ok(got) = implicit_rejection::decode(&mut buffer, &rejection) else {
        assert_ne!(em.len(), 64);
        return;
    };
    let got = got.to_vec();
    match message(em) {
        Some(message) => assert_eq!(got, message),
        None => assert!(got.len() <= 53),
    }
    let head = &buffer[..64 - got.len()];
    assert!(head.iter().all(|&byte| byte == 0), "something is left");
}

fn premaster_secret(em: &[u8]) {
    let versions = TlsVersions { client: 0x0303, negotiated: Some(0x0301) };
    let got = premaster::decode(em, versions, Premaster::new([7; premaster::PREMASTER_LEN]));
    let good = message(em).filter(|m| {
        m.len() == premaster::PREMASTER_LEN && (m.starts_with(&[3, 3]) || m.starts_with(&[3, 1]))
    });
    assert_eq!(&got[..], good.unwrap_or(&[7; premaster::PREMASTER_LEN]));
}

/// Checks the OAEP encoding of the given bytes: a seed, then padding and message, with the right
/// hash of the label.
fn masked(bytes: &[u8], hash: Hash) {
    let Some((seed, padded)) = bytes.split_at_checked(hash.len()).filter(|(_, p)| !p.is_empty())
    else {
        return;
    };
    let (mut seed, label) = (seed.to_vec(), hash.digest(b"label"));
    let mut db = [label.as_ref(), padded].concat();
    mgf1_xor(&mut db, hash, &seed);
    mgf1_xor(&mut seed, hash, &db);
    let mut em = [&[0][..], &seed, &db].concat();
    let expected = padded.iter().position(|&byte| byte != 0).filter(|&at| padded[at] == 1);
    let got = oaep::decode(&mut em, Oaep::new(hash).with_label(b"label")).ok();
    assert_eq!(got, expected.map(|at| &padded[at + 1..]));
}

fn mgf1_xor(out: &mut [u8], hash: Hash, seed: &[u8]) {
    for (counter, block) in (0_u32..).zip(out.chunks_mut(hash.len())) {
        let mask = hash.digest_parts(&[seed, &counter.to_be_bytes()]);
        block.iter_mut().zip(mask.as_ref()).for_each(|(byte, mask)| *byte ^= mask);
    }
}
