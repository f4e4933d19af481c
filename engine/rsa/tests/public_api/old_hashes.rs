//! Hash functions with known collisions, and content without a hash function: verified, but signed
//! only after explicit encoding.

use openssl::hash::MessageDigest;
use openssl::rsa::Padding;
use openssl::sign::{Signer, Verifier};
use tollgate_rsa::{Hash, PrivateRequest, Pss, Rejected, Workspace, pkcs1v15, private_batch};

use crate::Key;

#[test]
fn old_signatures_are_verified_and_need_explicit_encoding() {
    let Key { ours: key, theirs } = Key::read("rsa-1024.pem");
    let mut ws = Workspace::new().unwrap();
    for (hash, name) in [(Hash::Md5, "MD5"), (Hash::Md5Sha1, "MD5-SHA1"), (Hash::Sha1, "SHA1")] {
        let md = MessageDigest::from_name(name).unwrap();
        let digest = hash.digest(b"a message");
        let digest = digest.as_ref();
        let mut signer = Signer::new(md, &theirs).unwrap();
        signer.update(b"a message").unwrap();
        let signature = signer.sign_to_vec().unwrap();
        key.public().verify_pkcs1v15_with(&mut ws, hash, digest, &signature).unwrap();

        let refused = Err(Rejected::HashBroken(hash).into());
        let mut ours = vec![0; key.size()];
        assert_eq!(key.sign_pkcs1v15_with(&mut ws, hash, digest, &mut ours), refused);
        let pss = key.sign_pss_with(&mut ws, Pss::new(hash), digest, &mut ours);
        assert_eq!(pss, refused);
        let mut requests = [PrivateRequest::sign_pkcs1v15(&key, hash, digest, &mut ours)];
        private_batch(&mut ws, &mut requests);
        assert_eq!(requests[0].outcome(), refused);

        pkcs1v15::encode(&mut ours, hash, digest).unwrap();
        key.private(&mut ws, &mut ours).unwrap();
        assert_eq!(ours, signature, "{hash}");
    }
}

#[test]
fn caller_built_content_agrees_with_openssl() {
    let Key { ours: key, theirs } = Key::read("rsa-1024.pem");
    let rsa = theirs.rsa().unwrap();
    let mut ws = Workspace::new().unwrap();
    for len in [0, 1, 36, 117] {
        let t = vec![7; len];
        let (mut ours, mut signature) = (vec![0; key.size()], vec![0; key.size()]);
        key.sign_pkcs1v15_raw(&mut ws, &t, &mut ours).unwrap();
        rsa.private_encrypt(&t, &mut signature, Padding::PKCS1).unwrap();
        assert_eq!(ours, signature);
        key.public().verify_pkcs1v15_raw(&mut ws, &t, &signature).unwrap();
        signature[100] ^= 1;
        let refused = key.public().verify_pkcs1v15_raw(&mut ws, &t, &signature);
        assert_eq!(refused, Err(Rejected::SignatureInvalid.into()));
    }
    let long = key.sign_pkcs1v15_raw(&mut ws, &[7; 118], &mut vec![0; key.size()]);
    let (found_bytes, needed_bytes) = (128, 129);
    assert_eq!(long, Err(Rejected::ModulusSmall { found_bytes, needed_bytes }.into()));

    // a DigestInfo instead of a hash function
    let digest = Hash::Sha256.digest(b"a message");
    let info = [Hash::Sha256.digest_info_prefix(), digest.as_ref()].concat();
    let mut signature = vec![0; key.size()];
    key.sign_pkcs1v15_raw(&mut ws, &info, &mut signature).unwrap();
    let mut verifier = Verifier::new(MessageDigest::sha256(), &theirs).unwrap();
    assert!(verifier.verify_oneshot(&signature, b"a message").unwrap());
}
