//! `tollgate signer` as a relay to other signers: three processes, of which two are stopped and killed.

use core::time::Duration;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout};
use std::thread::sleep;
use std::time::Instant;

use tollgate_keyless::{RESPONSE, Stub};
use tollgate_rsa::{Hash, PublicKey};

use crate::program::{Scratch, certificates, keys, line, said, scratch, signal, start};
use crate::signer::ask;

/// A signer that runs; killed when dropped.
struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// Its messages up to the start.
    ready: String,
}

impl Running {
    fn start(file: &Path) -> Self {
        let mut child = start("signer --config", &[file.to_str().unwrap()]);
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        while !ready.contains("worker threads: 1") {
            assert!(stdout.read_line(&mut ready).unwrap() > 0, "it ended: {ready}");
        }
        Self { child, stdout, ready }
    }

    /// Returns the port of its listener with TLS.
    fn port(&self) -> u16 {
        let (_, port) = self.ready.split_once("tls:127.0.0.1:").unwrap();
        port.lines().next().unwrap().parse().unwrap()
    }

    fn signal(&self, name: &str) {
        signal(name, self.child.id());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const CERTIFICATES: [(&str, &str); 2] = [("signer", "DNS:signer"), ("front", "DNS:front")];

/// Starts an upstream signer at this port; 0 chooses one.
fn upstream(folder: &Scratch, name: &str, port: u16) -> Running {
    let key = keys().join("rsa-2048.pem").canonicalize().unwrap();
    let file = folder.join(format!("{name}.toml"));
    let text = format!(
        "workers = 1\n[tls]\naddress = \"127.0.0.1:{port}\"\nchain = \"signer.pem\"\n\
         key = \"signer.key\"\nclient_roots = \"ca.pem\"\n\
         [[key]]\nname = \"site\"\nfile = {key:?}\n\
         [[client]]\nname = \"front\"\ncertificate = \"front\"\nkeys = [\"site\"]\n"
    );
    fs::write(&file, text).unwrap();
    Running::start(&file)
}

/// Signs through the relay, and checks the signature.
fn signs(folder: &Scratch, stub: &Stub) -> bool {
    let mut stream = UnixStream::connect(folder.join("socket")).unwrap();
    let (opcode, signature) = ask(&mut stream, stub);
    let key = PublicKey::from_der(stub.spki()).unwrap();
    let is_done = opcode == RESPONSE;
    if is_done {
        key.verify_pkcs1v15(Hash::Sha256, b"a message", &signature).unwrap();
    }
    is_done
}

fn eventually(what: &str, is: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is() {
        assert!(Instant::now() < end, "{what}");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_relay_outlives_the_signers_that_it_asks() {
    let folder = scratch("relay");
    fs::create_dir(&folder).unwrap();
    certificates(&folder, &CERTIFICATES);
    let stub = said(&line("key stub", &[keys().join("rsa-2048.pem").to_str().unwrap()]));
    fs::write(folder.join("site.stub.pem"), &stub).unwrap();
    let stub = Stub::from_pem(stub.as_bytes()).unwrap().unwrap();
    let [first, second] = ["first", "second"].map(|name| upstream(&folder, name, 0));
    let ports = [first.port(), second.port()];
    let uid = fs::metadata("/proc/self").unwrap().uid();
    let text = format!(
        "unix = \"socket\"\nworkers = 1\n\
         [relay]\nchain = \"front.pem\"\nkey = \"front.key\"\nroots = \"ca.pem\"\nlimit = 8\n\
         [[upstream]]\nname = \"first\"\naddress = \"127.0.0.1:{}\"\ncertificate = \"signer\"\n\
         [[upstream]]\nname = \"second\"\naddress = \"127.0.0.1:{}\"\ncertificate = \"signer\"\n\
         [[key]]\nname = \"site\"\nfile = \"site.stub.pem\"\n\
         [[client]]\nname = \"nginx\"\nuid = {uid}\nkeys = [\"site\"]\n",
        ports[0], ports[1]
    );
    fs::write(folder.join("relay.toml"), &text).unwrap();
    let mut relay = Running::start(&folder.join("relay.toml"));
    assert!(relay.ready.contains("upstream: first on tls:127.0.0.1:"), "{}", relay.ready);
    let signs = || signs(&folder, &stub);
    assert!(signs(), "at first");

    // It accepts connections and bytes, and does nothing.
    first.signal("STOP");
    let threads = format!("/proc/{}/task", first.child.id());
    eventually("the first one is stopped", || {
        fs::read_dir(&threads).unwrap().all(|thread| {
            let status = fs::read_to_string(thread.unwrap().path().join("status"));
            status.is_ok_and(|status| status.contains("State:\tT"))
        })
    });
    (0..10).for_each(|_| assert!(signs(), "the first one hangs"));
    first.signal("CONT");
    drop(first);
    (0..10).for_each(|_| assert!(signs(), "the first one was killed"));
    let first = upstream(&folder, "first", ports[0]);
    drop(second);
    eventually("the first one is there again", signs);

    // New certificates, under the filter of system calls.
    certificates(&folder, &CERTIFICATES);
    relay.signal("HUP");
    drop(first);
    let first = upstream(&folder, "first", ports[0]);
    eventually("with new certificates", signs);
    drop(first);
    let begin = Instant::now();
    while signs() {}
    assert!(begin.elapsed() < Duration::from_secs(60), "no signer is there");

    relay.signal("TERM");
    let mut report = String::new();
    relay.stdout.read_to_string(&mut report).unwrap();
    assert_eq!(relay.child.wait().unwrap().code(), Some(0), "{report}");
    for word in ["upstream first: done", "upstream second: done 2", "fallbacks: 0"] {
        assert!(report.contains(word), "{word} in {report}");
    }
    let mut said = String::new();
    relay.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("the signer first did not answer in time"), "{said}");
}
