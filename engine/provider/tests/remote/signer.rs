//! A signer in this process, for tests of keys that are elsewhere.

use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use core::time::Duration;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use openssl::md::Md;
use openssl::pkey::{PKey, Private};
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::Padding;
use tollgate_keyless::{Message, RESPONSE, Split, Stub, split};

use crate::host::{Host, Key, pem};

/// Returns the key of all signers.
pub(crate) fn private_key() -> PKey<Private> {
    PKey::private_key_from_pem(pem("rsa-2048.pem").as_bytes()).unwrap()
}

/// A signer on a socket in this process. It answers a request when so many have come as its gate
/// says.
pub(crate) struct Signer {
    path: PathBuf,
    pub(crate) gate: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
    pub(crate) connections: Arc<AtomicUsize>,
}

impl Signer {
    /// Creates one that signs with PKCS#1 v1.5 and SHA-256.
    pub(crate) fn new(gate: usize) -> Self {
        Self::slow(gate, Duration::ZERO)
    }

    /// Creates one that works at least for this time.
    pub(crate) fn slow(gate: usize, time: Duration) -> Self {
        let key = private_key();
        Self::answering(gate, move |digest| {
            thread::sleep(time);
            let mut signing = PkeyCtx::new(&key).unwrap();
            signing.sign_init().unwrap();
            signing.set_rsa_padding(Padding::PKCS1).unwrap();
            signing.set_signature_md(Md::sha256()).unwrap();
            let mut signature = Vec::new();
            signing.sign_to_vec(digest, &mut signature).unwrap();
            (RESPONSE, signature)
        })
    }

    /// Creates one that answers a payload with this opcode and payload, or ends the connection if
    /// the opcode is 0.
    pub(crate) fn answering(
        gate: usize,
        answer: impl Fn(&[u8]) -> (u8, Vec<u8>) + Send + Sync + 'static,
    ) -> Self {
        let (signer, listener) = Self::unserved(gate);
        let answer = Arc::new(answer);
        let state = [&signer.gate, &signer.asked].map(Arc::clone);
        let accepted = Arc::clone(&signer.connections);
        thread::spawn(move || {
            for stream in listener.incoming() {
                accepted.fetch_add(1, SeqCst);
                let (stream, answer) = (stream.unwrap(), Arc::clone(&answer));
                let [gate, asked] = state.clone();
                thread::spawn(move || serve(stream, &*answer, &gate, &asked));
            }
        });
        signer
    }

    /// Creates one whose socket is full: it accepts no connection.
    pub(crate) fn full() -> (Self, UnixListener, UnixStream) {
        let (signer, listener) = Self::unserved(0);
        rustix::net::listen(&listener, 0).unwrap();
        let stream = UnixStream::connect(&signer.path).unwrap();
        (signer, listener, stream)
    }

    fn unserved(gate: usize) -> (Self, UnixListener) {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, SeqCst);
        let name = format!("tollgate-remote-jobs-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let [gate, asked, connections] =
            [gate, 0, 0].map(|number| Arc::new(AtomicUsize::new(number)));
        (Self { path, gate, asked, connections }, listener)
    }

    /// Returns a host, and the stub of its key.
    pub(crate) fn host(&self, limit_ms: u32) -> (Host, Key) {
        Self::host_of(&[self], limit_ms)
    }

    /// Returns a host with several signers.
    pub(crate) fn host_of(signers: &[&Self], limit_ms: u32) -> (Host, Key) {
        let paths = signers.iter().map(|signer| format!(" unix:{}", signer.path.display()));
        let remote: String = core::iter::once("remote =".to_owned()).chain(paths).collect();
        let host = Host::configured(&format!("{remote}\nremote_limit_ms = {limit_ms}"));
        let public = private_key().public_key_to_der().unwrap();
        let stub = host.key(&Stub::new(public).unwrap().to_pem());
        (host, stub)
    }

    /// Removes the socket, so that nobody can connect.
    pub(crate) fn hide(&self) {
        fs::remove_file(&self.path).unwrap();
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(SeqCst)
    }

    pub(crate) fn open_gate(&self) {
        self.gate.store(0, SeqCst);
    }
}

impl Drop for Signer {
    fn drop(&mut self) {
        self.open_gate();
        let _ = fs::remove_file(&self.path);
    }
}

fn serve(
    mut stream: UnixStream,
    answer: &impl Fn(&[u8]) -> (u8, Vec<u8>),
    gate: &AtomicUsize,
    asked: &AtomicUsize,
) {
    let mut request = vec![0; 1024];
    while stream.read_exact(&mut request).is_ok() {
        asked.fetch_add(1, SeqCst);
        while asked.load(SeqCst) < gate.load(SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        let Split::Frame { frame, .. } = split(&request, 2048) else { panic!() };
        let message = Message::read(frame).unwrap();
        let (opcode, payload) = answer(message.payload);
        if opcode == 0 {
            break;
        }
        let mut sent = Vec::new();
        Message { opcode, ski: None, payload: &payload, ..message }.write(&mut sent);
        if stream.write_all(&sent).is_err() {
            break; // the job was abandoned
        }
    }
}
