//! A signer whose keys upstream signers have, and upstream signers that follow a script.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use openssl::md::Md;
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::Padding;
use openssl::ssl::{SslAcceptor, SslMethod};
use tollgate_keyless::{Incoming, Message, PING, PONG, RESPONSE, Stub};
use tollgate_signer::Signer;

use crate::rig::{Folder, Rig, key, key_file, own_client};
use crate::tls::{AUTHORITY, CLIENT, Pair, Subject, TlsRig};

/// The client of upstream signers that a relay is.
pub(crate) const RELAY: &str = "[[client]]\nname = \"relay\"\ncertificate = \"relay\"\n\
    keys = [\"site\", \"curve\", \"raw\"]\nallow = [\"sign\", \"decrypt\"]\n";

/// An authority, whose certificates all signers of a test have.
pub(crate) struct Site {
    pub(crate) roots: Pair,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self { roots: Pair::new(AUTHORITY, None) }
    }

    /// Starts an upstream signer.
    pub(crate) fn upstream(&self) -> TlsRig {
        TlsRig::of(self.roots.clone(), RELAY, "")
    }

    /// Writes the files of a relay, whose keys are stubs, into a folder.
    pub(crate) fn files(&self, folder: &Folder, own: &Pair) {
        folder.write("roots.pem", self.roots.certificate.to_pem().unwrap());
        folder.write("chain.pem", own.certificate.to_pem().unwrap());
        folder.write("key.pem", own.key.private_key_to_pem_pkcs8().unwrap());
        for name in ["rsa-2048.pem", "rsa-3072.pem", "ec-p256.pem"] {
            let stub = Stub::new(key(name).public_key_to_der().unwrap()).unwrap();
            folder.write(name, stub.to_pem());
        }
    }

    /// Returns a certificate of this authority.
    pub(crate) fn pair(&self, subject: Subject<'_>) -> Pair {
        Pair::new(subject, Some(&self.roots))
    }

    /// Starts a relay with these signers, and these further lines of `[relay]`.
    pub(crate) fn relay(&self, upstreams: &[SocketAddr], lines: &str) -> Rig {
        self.relay_as(&self.pair(Subject { dns: &["relay"], ..CLIENT }), upstreams, lines, "")
    }

    /// Starts a relay with a certificate of its own, and further lines for its key "site".
    pub(crate) fn relay_as(
        &self,
        own: &Pair,
        upstreams: &[SocketAddr],
        lines: &str,
        of_key: &str,
    ) -> Rig {
        let folder = Folder::new();
        self.files(&folder, own);
        let text = relay_settings(&folder, upstreams, lines, of_key);
        Rig::of(folder, &text, |config, say| Signer::start(config, say))
    }
}

/// Settings of a relay.
pub(crate) fn relay_settings(
    folder: &Folder,
    upstreams: &[SocketAddr],
    lines: &str,
    of_key: &str,
) -> String {
    let path = |name| folder.path(name);
    let mut text = format!(
        "unix = {:?}\naudit_log = {:?}\nmetrics = \"127.0.0.1:0\"\nworkers = 1\n\
         [relay]\nchain = \"chain.pem\"\nkey = \"key.pem\"\nroots = \"roots.pem\"\n{lines}\n\
         [[key]]\nname = \"site\"\nfile = \"rsa-2048.pem\"\n{of_key}\n\
         [[key]]\nname = \"curve\"\nfile = \"ec-p256.pem\"\n\
         [[key]]\nname = \"own\"\nfile = {:?}\n",
        path("socket"),
        path("audit.log"),
        key_file("rsa-4096.pem"),
    );
    for (number, address) in upstreams.iter().enumerate() {
        text += &format!(
            "[[upstream]]\nname = \"up{number}\"\naddress = \"{address}\"\ncertificate = \"signer\"\n"
        );
    }
    text + &own_client(r#"["site", "curve", "own"]"#, r#"["sign", "decrypt"]"#)
}

/// Waits until a relay has a connection to its signers `up0` to `upN`.
#[track_caller]
pub(crate) fn connected(relay: &Rig, upstreams: usize) {
    eventually("connected", || {
        relay.running.counts().upstreams.iter().filter(|it| it.connected == 1).count() == upstreams
    });
}

#[track_caller]
pub(crate) fn eventually(what: &str, is: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is() {
        assert!(Instant::now() < end, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The reaction to a request.
pub(crate) enum Reaction {
    /// The right signature, PKCS#1 v1.5 with SHA-256, after this time.
    Sign(Duration),
    /// These bytes.
    Bytes(Vec<u8>),
    /// The end of the connection.
    Close,
    /// Nothing.
    Silence,
}

/// An upstream signer that follows a script.
pub(crate) struct Script {
    pub(crate) address: SocketAddr,
    pub(crate) asked: Arc<AtomicU32>,
}

impl Script {
    /// Starts one with this certificate. It reacts to the n-th request.
    pub(crate) fn start(
        pair: &Pair,
        react: impl Fn(u32, &Message<'_>) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        let mut builder = SslAcceptor::mozilla_modern_v5(SslMethod::tls_server()).unwrap();
        builder.set_certificate(&pair.certificate).unwrap();
        builder.set_private_key(&pair.key).unwrap();
        let acceptor = builder.build();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (react, asked) = (Arc::new(react), Arc::new(AtomicU32::new(0)));
        let of_thread = Arc::clone(&asked);
        thread::spawn(move || {
            for socket in listener.incoming() {
                let (socket, acceptor) = (socket.unwrap(), acceptor.clone());
                let (react, asked) = (Arc::clone(&react), Arc::clone(&of_thread));
                thread::spawn(move || {
                    if let Ok(stream) = acceptor.accept(socket) {
                        serve(stream, &*react, &asked);
                    }
                });
            }
        });
        Self { address, asked }
    }
}

fn serve(
    mut stream: openssl::ssl::SslStream<TcpStream>,
    react: &dyn Fn(u32, &Message<'_>) -> Reaction,
    asked: &AtomicU32,
) {
    let mut incoming = Incoming::new(4096);
    loop {
        while let Some(frame) = incoming.next_frame().unwrap() {
            let message = Message::read(frame).unwrap();
            if message.opcode == PING {
                let mut bytes = Vec::new();
                Message { opcode: PONG, ..message }.write(&mut bytes);
                stream.write_all(&bytes).unwrap();
                continue;
            }
            match react(asked.fetch_add(1, SeqCst), &message) {
                Reaction::Sign(time) => {
                    thread::sleep(time);
                    if stream.write_all(&signed(&message)).is_err() {
                        return;
                    }
                }
                Reaction::Bytes(bytes) => {
                    if stream.write_all(&bytes).is_err() {
                        return;
                    }
                }
                Reaction::Close => return,
                Reaction::Silence => {}
            }
        }
        match stream.read(incoming.room()) {
            Ok(count) if count > 0 => incoming.add(count),
            _ => return,
        }
    }
}

/// The right answer to a request.
pub(crate) fn signed(request: &Message<'_>) -> Vec<u8> {
    let key = key("rsa-2048.pem");
    let mut signing = PkeyCtx::new(&key).unwrap();
    signing.sign_init().unwrap();
    signing.set_rsa_padding(Padding::PKCS1).unwrap();
    signing.set_signature_md(Md::sha256()).unwrap();
    let mut signature = Vec::new();
    signing.sign_to_vec(request.payload, &mut signature).unwrap();
    answer(request.id, RESPONSE, &signature)
}

pub(crate) fn answer(id: u32, opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Message { id, opcode, ski: None, payload }.write(&mut bytes);
    bytes
}
