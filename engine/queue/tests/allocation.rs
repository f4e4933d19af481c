//! In steady state no request allocates, whichever method submits it.
#![allow(clippy::unwrap_used, reason = "tests")]

use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;

use tollgate_queue::{Config, Lanes, Queue, Unit, Work};
use tollgate_rsa::{Form, Hash, Plans, PrivateKey, Pss, TlsVersions, Workspace};

#[test]
fn requests_do_not_allocate() {
    let pem = include_str!("../../../vectors/keys/rsa-1024.pem");
    let key = Arc::new(PrivateKey::from_pem(pem).unwrap());
    let workspace = Workspace::new().unwrap().with_plans(Plans::always(Form::Lanes));
    let unit: Box<dyn Unit<_>> = Box::new(Lanes::with_workspace(0, workspace));
    let queue = Queue::start(Config::default(), [unit]).unwrap();
    let caller = queue.caller().unwrap();
    let digest = Hash::Sha256.digest(b"message");
    let hash = Hash::Sha256;
    let (pkcs1v15, pss) = (Work::SignPkcs1v15 { hash }, Work::SignPss(Pss::new(hash)));
    let mut signature = vec![0; key.size()];
    let decryptions = [
        Work::DecryptPkcs1v15,
        Work::DecryptOaep { label_digest: hash.digest(b"label"), mgf_hash: hash },
        Work::DecryptTlsPremaster { versions: TlsVersions { client: 0x0303, negotiated: None } },
    ];
    let (mut ciphertext, mut refused) = (vec![7; key.size()], 0);
    ciphertext[0] = 0;
    let mut run = || {
        for work in decryptions {
            let answer = caller.private(&key, work, &ciphertext, &mut signature);
            refused += u32::from(answer.is_err());
        }
        caller.private(&key, pkcs1v15, digest.as_ref(), &mut signature).unwrap();
        caller.private(&key, pss, digest.as_ref(), &mut signature).unwrap();

        let submit = |_| caller.submit(|job| job.load(&key, pkcs1v15, digest.as_ref())).unwrap();
        let [first, second, dropped] = [0; 3].map(submit);
        drop(dropped);
        assert_eq!(first.wait().unwrap().output().len(), key.size());
        let mut second = pin!(second);
        let polled = second.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Ok(_))));
    };
    // The first runs allocate a blinding pair for each concurrent operation.
    (0..3).for_each(|_| run());
    let allocations = allocation_counter::measure(|| (0..50).for_each(|_| run()));
    assert_eq!(allocations.count_total, 0);
    assert_eq!(refused, 53, "only OAEP refuses");
}
