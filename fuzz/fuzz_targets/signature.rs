//! Signs any encoded message with a fixed key. PKCS#1 v1.5 and PSS must accept the signature
//! exactly if the simple decoder in this file accepts the encoding. Any other bytes are refused as
//! a signature, with the same error for every reason.
#![no_main]

use std::cell::RefCell;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tollgate_rsa::{
    Error, Hash, PrivateKey, Pss, Rejected, Salt, VerifyRequest, Workspace, pkcs1v15, pss,
    verify_batch,
};

/// Keys of 512 bits and of 1025 bits. At 1025 bits, an encoding of PSS is a byte shorter than the
/// modulus.
static KEYS: LazyLock<[PrivateKey; 2]> = LazyLock::new(|| {
    [include_str!("../../vectors/keys/rsa-512.pem"), include_str!("rsa-1025.pem")]
        .map(|pem| PrivateKey::from_pem(pem).unwrap())
});

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::new(Workspace::new().unwrap());
}

fuzz_target!(|bytes: &[u8]| {
    // the choice of key and initial encoding; hash functions; salt length; the offset at which the
    // rest overwrites the encoding
    let [choice, hashes, salt, at, rest @ ..] = bytes else {
        return;
    };
    let key = &KEYS[usize::from(choice & 1)];
    let hash = Hash::ALL[usize::from(hashes & 15) % Hash::ALL.len()];
    let mgf_hash = Hash::ALL[usize::from(hashes >> 4) % Hash::ALL.len()];
    let pss = Pss::new(hash).with_mgf_hash(mgf_hash);
    let digest = hash.digest(b"a message");
    let digest = digest.as_ref();
    let mut em = vec![0; key.size()];
    // if the salt is too long, the encoding stays zero
    let _ = match choice >> 1 & 3 {
        0 => pkcs1v15::encode(&mut em, hash, digest),
        1 => pss::encode(&mut em, key.bits(), pss, &[7; 256][..usize::from(*salt)], digest),
        _ => Ok(()),
    };
    let start = usize::from(*at) % em.len();
    em[start..].iter_mut().zip(rest).for_each(|(em, byte)| *em ^= byte);

    WORKSPACE.with_borrow_mut(|workspace| {
        let mut signature = em.clone();
        if key.private(workspace, &mut signature).is_err() {
            return; // the encoding is not below n
        }
        let public = key.public();
        let verdict = public.verify_pkcs1v15_with(workspace, hash, digest, &signature);
        check(&verdict, decodes_pkcs1v15(&em, hash, digest));
        let mut batch = [VerifyRequest::pkcs1v15(public, hash, digest, &signature)];
        verify_batch(workspace, &mut batch);
        assert_eq!(batch[0].outcome(), verdict);

        let found = decode_pss(&em, key.bits(), hash, mgf_hash, digest);
        for rule in [Salt::Auto, Salt::Digest, Salt::Max, Salt::Exactly(usize::from(*salt))] {
            let pss = pss.with_salt(rule);
            let verdict = public.verify_pss_with(workspace, pss, digest, &signature);
            let good = match rule {
                Salt::Auto => found.is_some(),
                _ => found.is_some_and(|len| pss.salt_len_to_sign(key.bits()) == Ok(len)),
            };
            check(&verdict, good);
        }
        // any bytes, of any length; the chance that they are a valid signature is negligible
        check(
            &public.verify_pkcs1v15_with(workspace, hash, digest, rest),
            rest == signature && verdict.is_ok(),
        );
    });
});

/// Checks a result: success, or the only error for an invalid signature.
fn check(verdict: &Result<(), Error>, good: bool) {
    let expected = if good { Ok(()) } else { Err(Rejected::SignatureInvalid.into()) };
    assert_eq!(*verdict, expected);
}

/// Decodes the encoding of RFC 8017 §9.2 from left to right.
fn decodes_pkcs1v15(em: &[u8], hash: Hash, digest: &[u8]) -> bool {
    let Some(em) = em.strip_prefix(&[0, 1]) else { return false };
    let padding = em.iter().take_while(|&&byte| byte == 0xff).count();
    let Some(t) = em[padding..].strip_prefix(&[0]) else { return false };
    let Some(found) = t.strip_prefix(hash.digest_info_prefix()) else { return false };
    padding >= 8 && found == digest
}

/// Decodes as in RFC 8017 §9.1.2, with a `Vec` for each step. Returns the length of the salt if the
/// encoding is consistent.
fn decode_pss(em: &[u8], bits: usize, hash: Hash, mgf_hash: Hash, digest: &[u8]) -> Option<usize> {
    let em_bits = bits - 1;
    let em_len = em_bits.div_ceil(8);
    let (head, em) = em.split_at(em.len() - em_len);
    if head.iter().any(|&byte| byte != 0) {
        return None;
    }
    let (&trailer, em) = em.split_last()?;
    let (masked, h) = em.split_at_checked(em.len().checked_sub(hash.len() + 1)? + 1)?;
    let unused = 8 * em_len - em_bits;
    if trailer != 0xbc || u32::from(masked[0]) >> (8 - unused) != 0 {
        return None;
    }
    let blocks = (0..100u32).map(|i| mgf_hash.digest_parts(&[h, &i.to_be_bytes()]));
    let mask: Vec<u8> = blocks.flat_map(|block| block.as_ref().to_vec()).collect();
    let mut db: Vec<u8> = masked.iter().zip(&mask).map(|(x, mask)| x ^ mask).collect();
    db[0] &= 0xff >> unused;
    let one = db.iter().position(|&byte| byte != 0)?;
    let salt = (db[one] == 1).then(|| &db[one + 1..])?;
    let again = hash.digest_parts(&[&[0; 8], digest, salt]);
    (again.as_ref() == h).then_some(salt.len())
}
