//! Decryptions of every kind through a queue: alone, in batches with each other and with signatures
//! of other keys; and results for invalid ciphertexts.

use std::sync::Arc;

use tollgate_queue::{Error, PrivateError, Work};
use tollgate_rsa::{Hash, Oaep, PrivateKey, Rejected, TlsVersions, Workspace, eme_pkcs1v15};

use crate::{queue, run_together};

const VERSIONS: TlsVersions = TlsVersions { client: 0x0303, negotiated: None };
const TLS: Work = Work::DecryptTlsPremaster { versions: VERSIONS };
const SIGN: Work = Work::SignPkcs1v15 { hash: Hash::Sha256 };
const LABEL: &[u8] = b"a label that is longer than any that a job could keep without its digest";

fn oaep(label: &[u8]) -> Work {
    Work::DecryptOaep { label_digest: Hash::Sha1.digest(label), mgf_hash: Hash::Sha256 }
}

/// A key and ciphertexts for it.
struct Peer {
    key: Arc<PrivateKey>,
    workspace: Workspace,
}

impl Peer {
    /// Returns three keys. Keys of different sizes share no batch; the last two keys have the same
    /// size and share batches.
    fn all() -> [Self; 3] {
        [
            include_str!("../../../../vectors/keys/rsa-1024.pem"),
            include_str!("../../../../vectors/keys/rsa-2048.pem"),
            include_str!("../../../../vectors/decryption/rsa-2048.pem"),
        ]
        .map(|pem| Self {
            key: Arc::new(PrivateKey::from_pem(pem).unwrap()),
            workspace: Workspace::new().unwrap(),
        })
    }

    fn pkcs1v15(&mut self, message: &[u8]) -> Vec<u8> {
        let mut c = vec![0; self.key.size()];
        self.key.public().encrypt_pkcs1v15_with(&mut self.workspace, message, &mut c).unwrap();
        c
    }

    fn oaep(&mut self, label: &[u8], message: &[u8]) -> Vec<u8> {
        let mut c = vec![0; self.key.size()];
        let (ws, public) = (&mut self.workspace, self.key.public());
        public
            .encrypt_oaep_with(
                ws,
                Oaep::new(Hash::Sha1).with_mgf_hash(Hash::Sha256).with_label(label),
                message,
                &mut c,
            )
            .unwrap();
        c
    }

    /// Returns a ciphertext whose padding has one changed byte.
    fn bad(&mut self, message: &[u8], at: usize, byte: u8) -> Vec<u8> {
        let mut em = vec![0; self.key.size()];
        eme_pkcs1v15::encode(&mut em, message).unwrap();
        em[at] = byte;
        self.key.public().public(&mut self.workspace, &mut em).unwrap();
        em
    }
}

fn premaster(fill: u8) -> Vec<u8> {
    [3, 3].into_iter().chain([fill; 46]).collect()
}

#[test]
fn every_kind_alone_and_in_batches() {
    let caller = queue().caller().unwrap();
    let mut peers = Peer::all();
    let digest = Hash::Sha256.digest(b"a message");
    let mut asked = Vec::new();
    for i in 0..60_u8 {
        let at = usize::from(i) % 3;
        let peer = &mut peers[at];
        let message = vec![i; usize::from(i) % 63];
        let (work, input, expected) = match i / 3 % 5 {
            0 => (Work::DecryptPkcs1v15, peer.pkcs1v15(&message), message),
            1 => (oaep(b""), peer.oaep(b"", &message), message),
            2 => (oaep(LABEL), peer.oaep(LABEL, &message), message),
            3 => (TLS, peer.pkcs1v15(&premaster(i)), premaster(i)),
            _ => {
                let mut signature = vec![0; peer.key.size()];
                let (ws, hash) = (&mut peer.workspace, Hash::Sha256);
                peer.key.sign_pkcs1v15_with(ws, hash, digest.as_ref(), &mut signature).unwrap();
                (SIGN, digest.as_ref().to_vec(), signature)
            }
        };
        asked.push((at, work, input, expected));
    }
    for (at, work, input, expected) in &asked {
        let mut output = vec![0; peers[*at].key.size()];
        let got = caller.private(&peers[*at].key, *work, input, &mut output).unwrap();
        assert_eq!(got, expected, "{work:?} alone");
    }
    let results = run_together(&caller, asked.len(), |i, job| {
        let (at, work, input, _) = &asked[i];
        job.load(&peers[*at].key, *work, input)
    });
    for (result, (_, work, _, expected)) in results.iter().zip(&asked) {
        assert_eq!(result.as_ref(), Ok(expected), "{work:?} in a batch");
    }
}

#[test]
fn bad_padding_gives_a_synthetic_message() {
    let caller = queue().caller().unwrap();
    for peer in &mut Peer::all() {
        let size = peer.key.size();
        for (at, byte) in [(1, 1), (5, 0), (size - 5, 1)] {
            let c = peer.bad(b"data", at, byte);
            let mut buffer = vec![0; size];
            let (key, ws) = (&peer.key, &mut peer.workspace);
            let expected = key.decrypt_pkcs1v15_with(ws, &c, &mut buffer).unwrap();
            let mut output = vec![0; size];
            let got = caller.private(key, Work::DecryptPkcs1v15, &c, &mut output).unwrap();
            assert_eq!(got, expected, "byte {at}");
        }
    }
}

#[test]
fn an_invalid_premaster_secret_is_replaced_without_an_error() {
    let queue = queue();
    let caller = queue.caller().unwrap();
    let mut answers = Vec::new();
    for peer in &mut Peer::all() {
        let size = peer.key.size();
        let secret = premaster(7);
        let mut bad: Vec<_> = [(1, 1), (5, 0), (size - 49, 1), (size - 48, 4)]
            .map(|(at, byte)| peer.bad(&secret, at, byte))
            .into();
        bad.push(peer.pkcs1v15(&secret[..47]));
        bad.extend([vec![], vec![0; size - 1], vec![0xff; size], vec![0; size + 1], vec![0; 5000]]);
        for c in &bad {
            for _ in 0..2 {
                let mut output = vec![0; size];
                answers.push(caller.private(&peer.key, TLS, c, &mut output).unwrap().to_vec());
            }
        }
        assert!(!answers.contains(&secret));
    }
    assert!(answers.iter().all(|answer| answer.len() == 48));
    let count = answers.len();
    answers.sort();
    answers.dedup();
    assert_eq!(answers.len(), count, "substitutes are random");
    let stats = queue.stats().unwrap();
    assert_eq!((stats.done, stats.quarantines), (count as u64, 0));
}

#[test]
fn invalid_ciphertexts_give_one_error_and_do_not_affect_others() {
    let caller = queue().caller().unwrap();
    let mut peers = Peer::all();
    for peer in &mut peers {
        let size = peer.key.size();
        let good = peer.oaep(LABEL, b"data");
        let bad: [(Work, Vec<u8>); 8] = [
            (oaep(b""), good.clone()), // another label
            (oaep(LABEL), peer.bad(b"data", 1, 1)),
            (oaep(LABEL), vec![0xff; size]), // at least n
            (oaep(LABEL), good[1..].to_vec()),
            (oaep(LABEL), vec![]),
            (Work::DecryptPkcs1v15, vec![0xff; size]),
            (Work::DecryptPkcs1v15, vec![0; size + 1]),
            (Work::DecryptPkcs1v15, vec![0; 5000]),
        ];
        let neighbours = bad.iter().flat_map(|(work, c)| [(oaep(LABEL), &good), (*work, c)]);
        let asked: Vec<_> = neighbours.collect();
        let results = run_together(&caller, asked.len(), |i, job| {
            let (work, c) = asked[i];
            job.load(&peer.key, work, c)
        });
        let failed: PrivateError = Error::Rejected(Rejected::DecryptionFailed.into());
        for pair in results.chunks(2) {
            assert_eq!(*pair, [Ok(b"data".to_vec()), Err(failed.clone())]);
        }
    }
}
