//! Processes of Python: their metrics when they fork, and TLS contexts made after a signature.

use std::fs;
use std::process::{Command, Stdio};

use crate::host::openssl_conf::Folder;
use crate::host::pem_path;

#[test]
fn a_command_writes_its_counters() {
    let folder = Folder::new();
    folder.configure_counted("");
    folder.write("message", b"a message");
    let key = pem_path("rsa-2048.pem");
    folder.openssl(true, "dgst -sha256 message");
    assert_eq!(folder.counted("signatures"), (0, 0), "a process without an operation has no file");
    for files in 1..=3 {
        folder.openssl(true, &format!("dgst -sha256 -sign {key} message"));
        assert_eq!(folder.counted("signatures"), (files, files.try_into().unwrap()));
    }
    fs::remove_dir_all(folder.path("metrics")).unwrap();
    folder.openssl(true, &format!("dgst -sha256 -sign {key} message"));
}

const SIGNER: &str = "
import os, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain('cert.pem', 'key.pem')
def shake(times):
    for _ in range(times):
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
        out, back = ssl.MemoryBIO(), ssl.MemoryBIO()
        x = client.wrap_bio(back, out)
        y = context.wrap_bio(out, back, server_side=True)
        done = set()
        while len(done) < 2:
            for side in (x, y):
                try: side.do_handshake(); done.add(side)
                except ssl.SSLWantReadError: pass
shake(3)
for times in (1, 2):
    child = os.fork()
    if child == 0:
        shake(times)
        sys.exit(0)
    os.waitpid(child, 0)
";

/// In a server with workers, each worker has its own counters. The parent's counters stay in the
/// parent's file.
#[test]
fn a_forked_process_writes_its_own_file() {
    let folder = Folder::new();
    folder.configure_counted("");
    let key = pem_path("rsa-2048.pem");
    folder.openssl(false, &format!("req -x509 -key {key} -subj /CN=localhost -out cert.pem"));
    folder.write("key.pem", &fs::read(&key).unwrap());
    folder.write("signer.py", SIGNER.as_bytes());
    let status = Command::new("python3")
        .arg("signer.py")
        .current_dir(&folder)
        .env("OPENSSL_CONF", folder.path("on.cnf"))
        .stdin(Stdio::null())
        .status();
    assert!(status.expect("python3 is installed").success());
    assert_eq!(folder.counted("signatures"), (6, 3));
    assert_eq!(folder.counted("unwritten_metrics"), (0, 3));
}
