//! Compares signatures with OpenSSL and AWS-LC. Messages, hash functions and salts are random. So
//! are most keys; some have odd sizes or primes of unequal length. With `TOLLGATE_TEST_LONG` the
//! test runs fifty rounds instead of one.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature as aws;
use openssl::bn::{BigNum, BigNumRef};
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::{Padding, Rsa};
use openssl::sign::{RsaPssSaltlen, Signer, Verifier};
use tollgate_rsa::{Hash, KeyParts, PrivateKey, Pss, Salt, Workspace};

use crate::made::{key_from, key_of};
use crate::{KEYS, Key, is_refusal};

/// A key in all three libraries.
struct Keys {
    ours: PrivateKey,
    openssl: PKey<Private>,
    /// `None` below 2048 bits, the minimum of AWS-LC.
    aws_lc: Option<aws::RsaKeyPair>,
    what: String,
}

impl Keys {
    fn new(parts: &KeyParts) -> Self {
        let number = |bytes: &[u8]| BigNum::from_slice(bytes).unwrap();
        let [n, e, d, p] = [&parts.n, &parts.e, &*parts.d, &*parts.p].map(|x| number(x));
        let [q, d_p, d_q, q_inv] =
            [&parts.q, &parts.d_p, &parts.d_q, &parts.q_inv].map(|x| number(x));
        let rsa = Rsa::from_private_components(n, e, d, p, q, d_p, d_q, q_inv).unwrap();
        let ours = PrivateKey::from_parts(parts).unwrap();
        let what = format!("{} bits, p of {}", ours.bits(), 8 * parts.p.len());
        let aws_lc = aws::RsaKeyPair::from_der(&rsa.private_key_to_der().unwrap()).ok();
        assert_eq!(aws_lc.is_some(), ours.bits() >= 2048, "{what}");
        Self { ours, openssl: PKey::from_rsa(rsa).unwrap(), aws_lc, what }
    }

    /// Generates a key by OpenSSL.
    fn generated(bits: u32) -> Self {
        let rsa = Rsa::generate(bits).unwrap();
        Self::new(&key_from(rsa.p().unwrap(), rsa.q().unwrap(), rsa.e()).unwrap())
    }

    /// Generates a key with primes of these sizes.
    fn of_primes(p_bits: i32, q_bits: i32, e: &BigNumRef) -> Self {
        Self::new(&key_of(p_bits, q_bits, e))
    }
}

/// Hash functions by their names in the three libraries. AWS-LC signs only with SHA-2 of 256 bits
/// or more.
type Names = (Hash, fn() -> MessageDigest, Option<[&'static dyn aws::RsaEncoding; 2]>);

const HASHES: [Names; 9] = [
    (Hash::Sha1, MessageDigest::sha1, None),
    (Hash::Sha224, MessageDigest::sha224, None),
    (Hash::Sha256, MessageDigest::sha256, Some([&aws::RSA_PKCS1_SHA256, &aws::RSA_PSS_SHA256])),
    (Hash::Sha384, MessageDigest::sha384, Some([&aws::RSA_PKCS1_SHA384, &aws::RSA_PSS_SHA384])),
    (Hash::Sha512, MessageDigest::sha512, Some([&aws::RSA_PKCS1_SHA512, &aws::RSA_PSS_SHA512])),
    (Hash::Sha3_224, MessageDigest::sha3_224, None),
    (Hash::Sha3_256, MessageDigest::sha3_256, None),
    (Hash::Sha3_384, MessageDigest::sha3_384, None),
    (Hash::Sha3_512, MessageDigest::sha3_512, None),
];

fn aws_lc_parameters(hash: Hash) -> [&'static aws::RsaParameters; 2] {
    match hash {
        Hash::Sha256 => [&aws::RSA_PKCS1_2048_8192_SHA256, &aws::RSA_PSS_2048_8192_SHA256],
        Hash::Sha384 => [&aws::RSA_PKCS1_2048_8192_SHA384, &aws::RSA_PSS_2048_8192_SHA384],
        _ => [&aws::RSA_PKCS1_2048_8192_SHA512, &aws::RSA_PSS_2048_8192_SHA512],
    }
}

/// Each library signs a message that the others verify; they refuse a changed signature.
fn pkcs1v15(keys: &Keys, workspace: &mut Workspace, rng: &mut fastrand::Rng) {
    let &(hash, theirs, aws_lc) = rng.choice(&HASHES).unwrap();
    let message: Vec<u8> = (0..rng.usize(..300)).map(|_| rng.u8(..)).collect();
    let place = format!("{}, {hash}, {} bytes", keys.what, message.len());
    let digest = hash.digest(&message);
    let mut ours = vec![0; keys.ours.size()];
    // the crate does not sign with this hash function: encode, then run the private operation
    if hash.check_to_sign().is_ok() {
        keys.ours.sign_pkcs1v15_with(workspace, hash, digest.as_ref(), &mut ours).unwrap();
    } else {
        tollgate_rsa::pkcs1v15::encode(&mut ours, hash, digest.as_ref()).unwrap();
        keys.ours.private(workspace, &mut ours).unwrap();
    }
    let mut signer = Signer::new(theirs(), &keys.openssl).unwrap();
    assert_eq!(ours, signer.sign_oneshot_to_vec(&message).unwrap(), "{place}");
    if let (Some(key), Some([encoding, _])) = (&keys.aws_lc, aws_lc) {
        let mut signature = vec![0; ours.len()];
        key.sign(encoding, &SystemRandom::new(), &message, &mut signature).unwrap();
        assert_eq!(ours, signature, "{place}, AWS-LC");
        let public = aws::KeyPair::public_key(key);
        let verifier = aws::UnparsedPublicKey::new(aws_lc_parameters(hash)[0], public);
        verifier.verify(&message, &ours).expect(&place);
    }
    let public = keys.ours.public();
    public.verify_pkcs1v15_with(workspace, hash, digest.as_ref(), &ours).expect(&place);
    let bit = rng.usize(..8 * ours.len());
    ours[bit / 8] ^= 1 << (bit % 8);
    let verdict = public.verify_pkcs1v15_with(workspace, hash, digest.as_ref(), &ours);
    assert!(is_refusal(&verdict), "{place}, bit {bit}: {verdict:?}");
    let mut verifier = Verifier::new(theirs(), &keys.openssl).unwrap();
    assert!(!verifier.verify_oneshot(&ours, &message).unwrap_or(false), "{place}, bit {bit}");
}

/// Does the same with PSS and any hash function for MGF1.
fn pss(keys: &Keys, workspace: &mut Workspace, rng: &mut fastrand::Rng) {
    let &(hash, theirs, aws_lc) = rng.choice(&HASHES).unwrap();
    let &(mgf_hash, their_mgf, _) = rng.choice(&HASHES).unwrap();
    let message: Vec<u8> = (0..rng.usize(..300)).map(|_| rng.u8(..)).collect();
    let digest = hash.digest(&message);
    let room = Pss::new(hash).with_salt(Salt::Max).salt_len_to_sign(keys.ours.bits()).unwrap();
    let salt = match rng.u8(..4) {
        0 => Salt::Digest,
        1 => Salt::Max,
        2 => Salt::Exactly(0),
        _ => Salt::Exactly(rng.usize(..=room)),
    };
    let Ok(len) = Pss::new(hash).with_salt(salt).salt_len_to_sign(keys.ours.bits()) else {
        return; // a salt as long as the digest does not fit the smallest keys
    };
    let place = format!("{}, {hash}, MGF1 with {mgf_hash}, {salt:?}", keys.what);
    let their_salt = || RsaPssSaltlen::custom(i32::try_from(len).unwrap());
    let mut ours = vec![0; keys.ours.size()];
    let key = &keys.ours;
    if hash.check_to_sign().is_ok() {
        key.sign_pss_with(
            workspace,
            Pss::new(hash).with_mgf_hash(mgf_hash).with_salt(salt),
            digest.as_ref(),
            &mut ours,
        )
        .expect(&place);
    } else {
        let (bits, digest) = (key.bits(), digest.as_ref());
        tollgate_rsa::pss::encode_random(
            &mut ours,
            bits,
            Pss::new(hash).with_mgf_hash(mgf_hash).with_salt(salt),
            digest,
        )
        .unwrap();
        key.private(workspace, &mut ours).unwrap();
    }
    let openssl_takes = |signature: &[u8]| {
        let mut verifier = Verifier::new(theirs(), &keys.openssl).unwrap();
        verifier.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
        verifier.set_rsa_mgf1_md(their_mgf()).unwrap();
        verifier.set_rsa_pss_saltlen(their_salt()).unwrap();
        verifier.verify_oneshot(signature, &message).unwrap_or(false)
    };
    assert!(openssl_takes(&ours), "{place}");
    let mut signer = Signer::new(theirs(), &keys.openssl).unwrap();
    signer.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
    signer.set_rsa_mgf1_md(their_mgf()).unwrap();
    signer.set_rsa_pss_saltlen(their_salt()).unwrap();
    let theirs = signer.sign_oneshot_to_vec(&message).unwrap();
    let mut verify = |salt, signature: &[u8]| {
        key.public().verify_pss_with(
            workspace,
            Pss::new(hash).with_mgf_hash(mgf_hash).with_salt(salt),
            digest.as_ref(),
            signature,
        )
    };
    for signature in [&ours, &theirs] {
        verify(salt, signature).expect(&place);
        verify(Salt::Auto, signature).expect(&place);
        assert!(is_refusal(&verify(Salt::Exactly(len + 1), signature)), "{place}");
    }
    let bit = rng.usize(..8 * ours.len());
    ours[bit / 8] ^= 1 << (bit % 8);
    assert!(is_refusal(&verify(Salt::Auto, &ours)), "{place}, bit {bit}");
    assert!(!openssl_takes(&ours), "{place}, bit {bit}");

    if let (Some(aws_key), Some([_, encoding])) = (&keys.aws_lc, aws_lc) {
        // AWS-LC accepts only the salt of TLS 1.3
        aws_key.sign(encoding, &SystemRandom::new(), &message, &mut ours).unwrap();
        let (salt, digest) = (Salt::Digest, digest.as_ref());
        key.public()
            .verify_pss_with(workspace, Pss::new(hash).with_salt(salt), digest, &ours)
            .expect(&place);
        key.sign_pss_with(workspace, Pss::new(hash).with_salt(salt), digest, &mut ours).unwrap();
        let public = aws::KeyPair::public_key(aws_key);
        let verifier = aws::UnparsedPublicKey::new(aws_lc_parameters(hash)[1], public);
        verifier.verify(&message, &ours).expect(&place);
    }
}

#[test]
fn signatures_agree_with_openssl_and_aws_lc() {
    let long = std::env::var_os("TOLLGATE_TEST_LONG").is_some();
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut workspace = Workspace::new().unwrap();
    let e = BigNum::from_u32(65_537).unwrap();
    for round in 0..if long { 50 } else { 1 } {
        // usual sizes; odd sizes, generated by OpenSSL; primes of unequal length, in both orders
        let files = KEYS[1..7].iter().map(|(name, _)| Keys::new(&Key::read(name).ours.to_parts()));
        let mut keys: Vec<_> = files.chain([1025, 3000].map(Keys::generated)).collect();
        let sizes = [(400, 625), (1300, 748), (600, 1447), (512, 513)];
        keys.extend(sizes.map(|(p, q)| Keys::of_primes(p, q, &e)));
        if long {
            keys.push(Keys::generated(rng.u32(1024..=4096)));
            let (p, q) = (rng.i32(512..=1024), rng.i32(700..=1024));
            keys.push(Keys::of_primes(p, q, &e));
        }
        for keys in &keys {
            for _ in 0..6 {
                pkcs1v15(keys, &mut workspace, &mut rng);
                pss(keys, &mut workspace, &mut rng);
            }
        }
        if long {
            println!("round {round} of 50");
        }
    }
}
