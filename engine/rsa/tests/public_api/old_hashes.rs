//! Hash functions with known collisions, and content without a hash function: verified, but signed
//! only after explicit encoding.

use openssl::hash::MessageDigest;
use openssl::rsa::Padding;
use openssl::sign::Signer;
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
    let info = [Hash::Sha256.digest_info_prefix(), Hash::Sha256.digest(b"a").as_ref()].concat();
    for t in [&[][..], &[7], &[7; 36], &[7; 117], &info] {
        let (mut ours, mut signature) = (vec![0; key.size()], vec![0; key.size()]);
        pkcs1v15::encode_raw(&mut ours, t).unwrap();
        key.private(&mut ws, &mut ours).unwrap();
        rsa.private_encrypt(t, &mut signature, Padding::PKCS1).unwrap();
        assert_eq!(ours, signature);
        key.public().public(&mut ws, &mut signature).unwrap();
        assert!(pkcs1v15::matches_raw(&signature, t));
        signature[100] ^= 1;
        assert!(!pkcs1v15::matches_raw(&signature, t));
    }
    let (found_bytes, needed_bytes) = (128, 129);
    let long = pkcs1v15::encode_raw(&mut [0; 128], &[7; 118]);
    assert_eq!(long, Err(Rejected::ModulusSmall { found_bytes, needed_bytes }.into()));
}
