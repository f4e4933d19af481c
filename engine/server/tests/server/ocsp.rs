//! OCSP responses beside certificates.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream, SslVerifyMode, StatusType};
use tollgate_server::{Certificate, Config, KeyKind, Notify, Running, Server};

use crate::rig::{Folder, keys, run, tcp};

/// An authority, and files of a certificate of it.
struct Authority {
    folder: Folder,
}

impl Authority {
    fn new() -> Self {
        let this = Self { folder: Folder::new() };
        let (key, out) = (this.key(), this.path("ca.pem"));
        let args = ["req", "-x509", "-subj", "/CN=authority", "-key", &key, "-out", &out];
        openssl(&args);
        this
    }

    fn key(&self) -> String {
        keys().join("rsa-2048.pem").to_str().unwrap().to_owned()
    }

    fn path(&self, name: &str) -> String {
        self.folder.path(name).to_str().unwrap().to_owned()
    }

    /// Issues a certificate with this serial number, in hexadecimal, and returns the file of its chain.
    fn issue(&self, serial: &str) -> PathBuf {
        let (key, ca) = (self.key(), self.path("ca.pem"));
        let [request, leaf] = ["csr", "crt"].map(|end| self.path(&format!("{serial}.{end}")));
        openssl(&["req", "-new", "-subj", "/CN=site", "-key", &key, "-out", &request]);
        let number = format!("0x{serial}");
        let signed = ["x509", "-req", "-in", &request, "-CA", &ca, "-CAkey", &key];
        openssl(&[&signed[..], &["-set_serial", &number, "-out", &leaf]].concat());
        let chain = self.folder.path(&format!("{serial}.pem"));
        fs::write(&chain, [fs::read(&leaf).unwrap(), fs::read(&ca).unwrap()].concat()).unwrap();
        chain
    }

    /// Returns a response of a day about the certificate with this number; `state` is V, or R for
    /// revoked. `age` is an argument of `faketime`.
    fn respond(&self, serial: &str, state: &str, age: &str) -> Vec<u8> {
        let [index, out] = ["index", "response"].map(|name| self.path(name));
        let revoked = if state == "R" { "200101000000Z" } else { "" };
        let line = format!("{state}\t400101000000Z\t{revoked}\t{serial}\tunknown\t/CN=site\n");
        fs::write(&index, line).unwrap();
        let (key, ca) = (self.key(), self.path("ca.pem"));
        let leaf = self.path(&format!("{serial}.crt"));
        let args = ["-f", age, "openssl", "ocsp", "-index", &index, "-CA", &ca, "-rsigner", &ca];
        let about = ["-rkey", &key, "-issuer", &ca, "-cert", &leaf, "-ndays", "1"];
        let output = run("faketime", &[&args[..], &about, &["-respout", &out]].concat(), b"");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read(out).unwrap()
    }
}

fn openssl(args: &[&str]) {
    let output = run("openssl", args, b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn beside(chain: &Path) -> PathBuf {
    PathBuf::from(format!("{}.ocsp", chain.display()))
}

/// Connects, and returns the response that the server sends.
fn stapled(running: &Running) -> Option<Vec<u8>> {
    let mut context = SslContext::builder(SslMethod::tls_client()).unwrap();
    context.set_verify(SslVerifyMode::NONE);
    let mut ssl = Ssl::new(&context.build()).unwrap();
    ssl.set_status_type(StatusType::OCSP).unwrap();
    let mut stream = SslStream::new(ssl, tcp(running.addr())).unwrap();
    stream.connect().unwrap();
    stream.ssl().ocsp_status().map(<[u8]>::to_vec)
}

#[test]
fn responses_are_stapled_while_they_hold_and_wrong_ones_are_not() {
    let authority = Authority::new();
    let (chain, other) = (authority.issue("1001"), authority.issue("1002"));
    let key = PathBuf::from(authority.key());
    let certificate =
        |chain: &PathBuf| Certificate::Files { chain: chain.clone(), key: key.clone() };
    let said = Arc::new(Mutex::new(Vec::new()));
    let notify = Notify::new({
        let said = Arc::clone(&said);
        move |notice| said.lock().unwrap().push(notice.to_string())
    });
    let config = Config { certificate: certificate(&chain), notify, ..Config::default() };
    let running = Server::start(config).unwrap();
    assert_eq!(stapled(&running), None);

    let good = authority.respond("1001", "V", "-1h");
    fs::write(beside(&chain), &good).unwrap();
    assert_eq!(stapled(&running), None, "before a reload");
    running.reload().unwrap();
    assert_eq!(stapled(&running), Some(good.clone()));

    for (wrong, why) in [
        (authority.respond("1002", "V", "-1h"), "it is about another certificate"),
        (authority.respond("1001", "R", "-1h"), "the certificate is revoked"),
        (authority.respond("1001", "V", "-2d"), "it has expired"),
        (b"nonsense".to_vec(), "1001.pem.ocsp is not sent ("),
    ] {
        fs::write(beside(&chain), &good).unwrap();
        running.reload().unwrap();
        assert_eq!(stapled(&running).as_ref(), Some(&good));
        assert_eq!(said.lock().unwrap()[..], [""; 0]);
        fs::write(beside(&chain), wrong).unwrap();
        running.reload().unwrap();
        assert_eq!(stapled(&running), None, "{why}");
        let said = said.lock().unwrap().pop().unwrap();
        assert!(said.contains("1001.pem.ocsp") && said.contains(why), "{said}");
    }

    // each certificate has its own response
    let second = authority.respond("1002", "V", "-1h");
    fs::write(beside(&other), &second).unwrap();
    let running = Server::start(Config {
        certificate: certificate(&other),
        more_certificates: vec![Certificate::SelfSigned(KeyKind::EcdsaP256)],
        ..Config::default()
    });
    assert_eq!(stapled(&running.unwrap()), Some(second));
}
