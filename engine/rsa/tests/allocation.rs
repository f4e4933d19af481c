//! No operation allocates after its key is loaded and the workspace has been used for this size.

#![allow(clippy::unwrap_used, reason = "tests")]

use tollgate_rsa::{
    Form, Hash, Oaep, Plans, PrivateKey, PrivateRequest, Pss, TlsVersions, Workspace, private_batch,
};

#[test]
fn operations_do_not_allocate() {
    let key = PrivateKey::from_pem(include_str!("../../../vectors/keys/rsa-1024.pem")).unwrap();
    let mut workspace = Workspace::new().unwrap().with_plans(Plans::always(Form::Lanes));
    let digest = Hash::Sha256.digest(b"message");
    let (mut signature, mut buffers) = (vec![0; key.size()], vec![vec![1; key.size()]; 8]);
    buffers.iter_mut().for_each(|b| b[0] = 0);
    let mut buffer = vec![0; key.size()];
    let mut run = || {
        key.sign_pkcs1v15_with(&mut workspace, Hash::Sha256, digest.as_ref(), &mut signature)
            .unwrap();
        let public = key.public();
        public
            .verify_pkcs1v15_with(&mut workspace, Hash::Sha256, digest.as_ref(), &signature)
            .unwrap();
        key.sign_pss_with(&mut workspace, Pss::new(Hash::Sha256), digest.as_ref(), &mut signature)
            .unwrap();
        let mut buffers = buffers.iter_mut();
        let mut requests: [_; 8] =
            core::array::from_fn(|_| PrivateRequest::new(&key, buffers.next().unwrap()));
        private_batch(&mut workspace, &mut requests);
        requests.iter().for_each(|r| r.outcome().unwrap());
        let hash = Hash::Sha256;
        public.encrypt_pkcs1v15_with(&mut workspace, b"message", &mut signature).unwrap();
        key.decrypt_pkcs1v15_with(&mut workspace, &signature, &mut buffer).unwrap();
        let versions = TlsVersions { client: 0x0303, negotiated: None };
        key.decrypt_tls_premaster(&mut workspace, versions, &signature).unwrap();
        public
            .encrypt_oaep_with(&mut workspace, Oaep::new(hash), b"message", &mut signature)
            .unwrap();
        key.decrypt_oaep_with(&mut workspace, Oaep::new(hash), &signature, &mut buffer).unwrap();
        key.decrypt_pkcs1v15_with(&mut workspace, &[0; 128], &mut buffer).unwrap(); // bad padding
    };
    run();
    // Enough rounds to make fresh blinding pairs. Each inversion gives pairs for eight times 64
    // single operations, or for four times 64 batches.
    let allocations = allocation_counter::measure(|| (0..300).for_each(|_| run()));
    assert_eq!(allocations.count_total, 0);
}
