//! Settings, a running signer, and a client that sends bytes.

use core::time::Duration;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private, Public};
use openssl::rsa::Padding;
use openssl::sign::{RsaPssSaltlen, Verifier};
use tempfile::TempDir;
use tollgate_keyless::{ErrorCode, Message, Operation, REFUSAL, RESPONSE, Ski, Split, split};
use tollgate_rsa::Hash;
use tollgate_signer::{Config, Error, Running, Signer};

/// A folder that is removed when dropped.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::with_prefix("tollgate-signer-").unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }
}

/// The path of a test key.
pub(crate) fn key_file(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/keys");
    folder.join(name).canonicalize().unwrap().display().to_string()
}

pub(crate) fn key(name: &str) -> PKey<Private> {
    PKey::private_key_from_pem(&fs::read(key_file(name)).unwrap()).unwrap()
}

pub(crate) fn ski(name: &str) -> Ski {
    Ski::of_public_key(&key(name).public_key_to_der().unwrap()).unwrap()
}

/// The user of this process.
pub(crate) fn own_uid() -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").unwrap().uid()
}

/// The keys of [`settings`]: RSA, RSA with raw operations, and P-256.
pub(crate) const KEYS: [(&str, &str); 4] = [
    ("site", "rsa-2048.pem"),
    ("raw", "rsa-3072.pem"),
    ("curve", "ec-p256.pem"),
    ("other", "rsa-4096.pem"),
];

/// Settings with a Unix socket, the keys, and these tables of clients.
pub(crate) fn settings(folder: &Folder, clients: &str) -> String {
    let mut text = format!(
        "unix = {:?}\naudit_log = {:?}\nworkers = 2\n",
        folder.path("socket"),
        folder.path("audit.log")
    );
    for (name, file) in KEYS {
        let raw = name == "raw";
        text += &format!("[[key]]\nname = {name:?}\nfile = {:?}\nraw = {raw}\n", key_file(file));
    }
    text + clients
}

/// A client that this process is, with these keys and operations.
pub(crate) fn own_client(keys: &str, allow: &str) -> String {
    let uid = own_uid();
    format!("[[client]]\nname = \"own\"\nuid = {uid}\nkeys = {keys}\nallow = {allow}\n")
}

/// Prints a line for the operator.
pub(crate) type Say = Box<dyn Fn(&str) + Send + Sync>;

pub(crate) struct Rig {
    pub(crate) folder: Folder,
    pub(crate) running: Running,
    pub(crate) said: Arc<Mutex<Vec<String>>>,
}

impl Rig {
    /// Starts a signer whose client is this process.
    pub(crate) fn start(keys: &str, allow: &str) -> Self {
        Self::with("", &own_client(keys, allow))
    }

    /// Starts a signer with these settings before the tables, and these tables.
    pub(crate) fn with(before: &str, tables: &str) -> Self {
        let folder = Folder::new();
        let text = before.to_owned() + &settings(&folder, tables);
        Self::new(folder, &text, |config, say| Signer::start(config, say))
    }

    /// Starts a signer in this folder with the settings of a text.
    pub(crate) fn new(
        folder: Folder,
        text: &str,
        start: impl FnOnce(Config, Say) -> Result<Running, Error>,
    ) -> Self {
        let config = read(&folder, text).unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let hear = Arc::clone(&said);
        let say = move |line: &str| hear.lock().unwrap().push(line.to_owned());
        let running = start(config, Box::new(say)).unwrap();
        Self { folder, running, said }
    }

    pub(crate) fn connect(&self) -> Client<UnixStream> {
        let stream = UnixStream::connect(self.folder.path("socket")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Client { stream, received: Vec::new() }
    }

    /// Returns the page of metrics.
    pub(crate) fn metrics(&self) -> String {
        let mut page = TcpStream::connect(self.running.metrics_addr().unwrap()).unwrap();
        page.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut text = String::new();
        page.read_to_string(&mut text).unwrap();
        text
    }

    pub(crate) fn reload(&self, tables: &str) -> Result<(), Error> {
        self.running.reload(&read(&self.folder, &settings(&self.folder, tables))?)
    }

    /// Waits until the audit log contains this text.
    #[track_caller]
    pub(crate) fn logged(&self, text: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        while !self.audit().contains(text) {
            assert!(Instant::now() < end, "{text:?} in {}", self.audit());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the audit log has the number of a client's lines that were left out.
    #[track_caller]
    pub(crate) fn logged_sum(&self, client: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        let name = format!("\"client\":\"{client}\"");
        let is = |line: &str| line.contains("without lines of their own") && line.contains(&name);
        while !self.audit().lines().any(is) {
            assert!(Instant::now() < end, "{}", self.audit());
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn audit(&self) -> String {
        fs::read_to_string(self.folder.path("audit.log")).unwrap()
    }
}

/// Reads settings from a file.
pub(crate) fn read(folder: &Folder, text: &str) -> Result<Config, Error> {
    Config::from_file(&folder.write("signer.toml", text))
}

/// A client of the protocol.
pub(crate) struct Client<S> {
    pub(crate) stream: S,
    received: Vec<u8>,
}

/// The answer to a request.
pub(crate) type Answer = Result<Vec<u8>, ErrorCode>;

impl<S: Read + Write> Client<S> {
    pub(crate) const fn new(stream: S) -> Self {
        Self { stream, received: Vec::new() }
    }

    /// Sends bytes; the signer may have closed the connection.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Returns the next answer: its number, its opcode and its payload; `None` at the end.
    pub(crate) fn receive(&mut self) -> Option<(u32, u8, Vec<u8>)> {
        loop {
            if let Split::Frame { frame, len } = split(&self.received, usize::from(u16::MAX)) {
                let message = Message::read(frame).unwrap();
                let answer = (message.id, message.opcode, message.payload.to_vec());
                assert!(len >= 1024 && message.ski.is_none());
                self.received.drain(..len);
                return Some(answer);
            }
            let mut piece = [0; 4096];
            match self.stream.read(&mut piece) {
                Ok(0) => return None,
                Ok(count) => self.received.extend(&piece[..count]),
                Err(why) if why.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(why) => panic!("no answer: {why}"),
            }
        }
    }

    pub(crate) fn ask(&mut self, ski: Option<Ski>, opcode: u8, payload: &[u8]) -> Answer {
        self.send(&request(9, ski, opcode, payload));
        let (id, opcode, payload) = self.receive().expect("an answer");
        assert_eq!(id, 9);
        match opcode {
            RESPONSE => Ok(payload),
            REFUSAL => Err(ErrorCode::from_number(payload[0]).unwrap()),
            other => panic!("{other}"),
        }
    }

    pub(crate) fn run(&mut self, key: &str, operation: Operation, payload: &[u8]) -> Answer {
        self.ask(Some(ski(key)), operation.code(), payload)
    }
}

pub(crate) fn request(id: u32, ski: Option<Ski>, opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Message { id, opcode, ski, payload }.write(&mut bytes);
    bytes
}

pub(crate) const SIGN: Operation = Operation::SignPkcs1v15(Hash::Sha256);

pub(crate) const MESSAGE: &[u8] = b"a message";

pub(crate) fn digest() -> Vec<u8> {
    Hash::Sha256.digest(MESSAGE).as_ref().to_vec()
}

/// Returns whether OpenSSL finds the signature of [`MESSAGE`] valid.
pub(crate) fn is_valid(name: &str, operation: Operation, signature: &[u8]) -> bool {
    is_valid_for(MESSAGE, name, operation, signature)
}

/// Returns whether OpenSSL finds the signature of this message valid.
pub(crate) fn is_valid_for(
    message: &[u8],
    name: &str,
    operation: Operation,
    signature: &[u8],
) -> bool {
    let key = key(name);
    let key: PKey<Public> = PKey::public_key_from_der(&key.public_key_to_der().unwrap()).unwrap();
    let (Operation::SignPkcs1v15(hash) | Operation::SignPss(hash) | Operation::SignEcdsa(hash)) =
        operation
    else {
        panic!("{operation:?}")
    };
    let md = match hash {
        Hash::Sha224 => MessageDigest::sha224(),
        Hash::Sha256 => MessageDigest::sha256(),
        Hash::Sha384 => MessageDigest::sha384(),
        _ => MessageDigest::sha512(),
    };
    let mut verifier = Verifier::new(md, &key).unwrap();
    if let Operation::SignPss(_) = operation {
        verifier.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
        verifier.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH).unwrap();
    }
    verifier.verify_oneshot(signature, message).unwrap_or(false)
}
