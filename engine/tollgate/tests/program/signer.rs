//! `tollgate signer` as a service, and the stubs of its keys.

use core::time::Duration;
use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdout};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use tollgate_keyless::{ErrorCode, Message, Operation, REFUSAL, RESPONSE, Split, Stub, split};
use tollgate_rsa::{Hash, PublicKey};

use crate::program::{Scratch, keys, line, refused, run, said, scratch, signal, start};

/// A running signer; killed when dropped.
struct Signer {
    child: Child,
    stdout: BufReader<ChildStdout>,
    folder: Scratch,
}

/// Writes settings whose client is this process, with these keys.
fn write(folder: &Scratch, names: &str) -> String {
    let uid = fs::metadata("/proc/self").unwrap().uid();
    let key = keys().join("rsa-2048.pem").canonicalize().unwrap();
    let file = folder.join("signer.toml");
    let text = format!(
        "unix = \"socket\"\naudit_log = \"audit.log\"\nworkers = 1\n\
         [[key]]\nname = \"site\"\nfile = {key:?}\n\
         [[key]]\nname = \"other\"\nfile = {:?}\n\
         [[client]]\nname = \"nginx\"\nuid = {uid}\nkeys = {names}\n",
        key.with_file_name("ec-p256.pem"),
    );
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

impl Signer {
    fn start(name: &str) -> Self {
        let folder = scratch(name);
        fs::create_dir(&folder).unwrap();
        let file = write(&folder, "[\"site\"]");
        let mut child = start("signer --config", &[&file]);
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while !text.contains("worker threads: 1") {
            assert!(stdout.read_line(&mut text).unwrap() > 0, "it ended: {text}");
        }
        assert!(text.contains("listening on unix:"), "{text}");
        Self { child, stdout, folder }
    }
}

impl Drop for Signer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request to sign, and returns the answer.
pub(crate) fn ask(stream: &mut UnixStream, stub: &Stub) -> (u8, Vec<u8>) {
    send(stream, stub);
    answer(stream)
}

fn send(stream: &mut UnixStream, stub: &Stub) {
    let digest = Hash::Sha256.digest(b"a message");
    let opcode = Operation::SignPkcs1v15(Hash::Sha256).code();
    let mut bytes = Vec::new();
    Message { id: 1, opcode, ski: Some(stub.ski()), payload: digest.as_ref() }.write(&mut bytes);
    stream.write_all(&bytes).unwrap();
}

fn answer(stream: &mut UnixStream) -> (u8, Vec<u8>) {
    let mut answer = vec![0; 1024];
    stream.read_exact(&mut answer).unwrap();
    let Split::Frame { frame, .. } = split(&answer, 4096) else { panic!() };
    let message = Message::read(frame).unwrap();
    (message.opcode, message.payload.to_vec())
}

fn stub(file: &str) -> Stub {
    let name = keys().join(file);
    let text = said(&line("key stub", &[name.to_str().unwrap()]));
    assert!(!text.contains("PRIVATE"), "{text}");
    Stub::from_pem(text.as_bytes()).unwrap().unwrap()
}

/// A client that comes while the signer may open no more files is served when it may again.
#[test]
fn a_client_waits_until_there_are_files() {
    let signer = Signer::start("signer-files");
    let stub = stub("rsa-2048.pem");
    let limit = |current| {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let limit = Rlimit { current, maximum };
        prlimit(Some(Pid::from_child(&signer.child)), Resource::Nofile, limit).unwrap();
        limit.maximum
    };
    let most = limit(Some(0));
    let mut stream = UnixStream::connect(signer.folder.join("socket")).unwrap();
    send(&mut stream, &stub);
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let why = stream.read(&mut [0]).unwrap_err();
    assert_eq!(why.kind(), ErrorKind::WouldBlock);
    limit(most);
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    assert_eq!(answer(&mut stream).0, RESPONSE);
}

#[test]
fn a_signer_signs_reloads_and_drains() {
    let mut signer = Signer::start("signer");
    let stub = stub("rsa-2048.pem");
    let mut stream = UnixStream::connect(signer.folder.join("socket")).unwrap();
    let (opcode, signature) = ask(&mut stream, &stub);
    assert_eq!(opcode, RESPONSE);
    let key = PublicKey::from_der(stub.spki()).unwrap();
    key.verify_pkcs1v15(Hash::Sha256, b"a message", &signature).unwrap();

    let mut stderr = BufReader::new(signer.child.stderr.take().unwrap());
    let mut heard = |word: &str| {
        let mut text = String::new();
        stderr.read_line(&mut text).unwrap();
        assert!(text.contains(word), "{word}: {text}");
    };
    write(&signer.folder, "[\"other\"]");
    signal("HUP", signer.child.id());
    heard("read now");
    let refused = (REFUSAL, vec![ErrorCode::KeyNotFound as u8]);
    assert_eq!(ask(&mut stream, &stub), refused);
    write(&signer.folder, "[\"missing\"]");
    signal("HUP", signer.child.id());
    heard("stay in use");
    // a new file of the audit log, also under the filter of system calls
    let (log, old) = (signer.folder.join("audit.log"), signer.folder.join("old.log"));
    fs::rename(&log, &old).unwrap();
    signal("USR1", signer.child.id());
    while !log.exists() {
        std::thread::yield_now();
    }

    signal("TERM", signer.child.id());
    let mut report = String::new();
    signer.stdout.read_to_string(&mut report).unwrap();
    assert_eq!(signer.child.wait().unwrap().code(), Some(0), "{report}");
    assert!(report.contains("sign done 1, sign key-not-found 1"), "{report}");
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    let lines = fs::read_to_string(&old).unwrap();
    assert!(lines.contains("\"outcome\":\"done\""), "{lines}");
}

#[test]
fn settings_are_checked_and_errors_have_one_line() {
    let folder = scratch("signer-check");
    fs::create_dir(&folder).unwrap();
    let file = write(&folder, "[\"site\", \"other\"]");
    let text = said(&run(&["signer", "--check", "--config", &file]));
    assert!(text.contains("ready to listen on unix:") && text.contains("clients: nginx"), "{text}");
    assert!(!folder.join("socket").exists() && !folder.join("audit.log").exists());
    let file = write(&folder, "[\"missing\"]");
    refused(&run(&["signer", "--check", "--config", &file]), "there is no [[key]] \"missing\"");
    refused(&run(&["signer", "--config", "/no/such.toml"]), "/no/such.toml");
    refused(&run(&["signer"]), "--config");
}

#[test]
fn stubs_are_made_of_keys_that_signers_have() {
    assert_ne!(stub("rsa-2048.pem"), stub("ec-p256.pem"));
    for (file, why) in [("rsa-1024.pem", "2048 to 8192"), ("../../README.md", "no usable key")] {
        let name = keys().join(file);
        refused(&line("key stub", &[name.to_str().unwrap()]), why);
    }
}
