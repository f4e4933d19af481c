//! The metrics of real processes: commands that end, and a server that forks.

use std::fs;
use std::process::{Command, Stdio};

use crate::host::openssl_conf::Folder;
use crate::host::pem_path;

/// Returns the sum of a counter over the files of a folder, and the number of files.
fn sum(folder: &str, counter: &str) -> (u64, usize) {
    let start = format!("tollgate_{counter}_total{{");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let values: Vec<u64> = names
        .map(|name| {
            assert_eq!(name.extension().unwrap(), "prom", "other files are removed: {name:?}");
            let text = fs::read_to_string(&name).unwrap();
            let line = text.lines().find(|line| line.starts_with(&start)).unwrap();
            line.rsplit(' ').next().unwrap().parse().unwrap()
        })
        .collect();
    (values.iter().sum(), values.len())
}

#[test]
fn a_command_writes_its_counters() {
    let folder = Folder::new();
    let metrics = folder.path("metrics");
    fs::create_dir(&metrics).unwrap();
    folder.configure(&format!("metrics = {metrics}"));
    folder.write("message", b"a message");
    let key = pem_path("rsa-2048.pem");
    folder.openssl(true, "dgst -sha256 message");
    assert_eq!(sum(&metrics, "signatures"), (0, 0), "a process without an operation has no file");
    for files in 1..=3 {
        folder.openssl(true, &format!("dgst -sha256 -sign {key} message"));
        assert_eq!(sum(&metrics, "signatures"), (files, files.try_into().unwrap()));
    }
    fs::remove_dir_all(&metrics).unwrap();
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
    let metrics = folder.path("metrics");
    fs::create_dir(&metrics).unwrap();
    folder.configure(&format!("metrics = {metrics}"));
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
    assert_eq!(sum(&metrics, "signatures"), (6, 3));
    assert_eq!(sum(&metrics, "unwritten_metrics"), (0, 3));
}
