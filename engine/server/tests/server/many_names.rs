//! Ten thousand certificates by name: the memory that they take, and their reload under load.

use core::fmt::Write as _;
use core::net::SocketAddr;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Instant;

use openssl::asn1::Asn1Time;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream, SslVerifyMode};
use openssl::x509::extension::SubjectAlternativeName;
use openssl::x509::{X509, X509Name};

use crate::apart::Apart;
use crate::load::Load;
use crate::rig::{self, Folder, Log, tcp};

const NAMES: usize = 10_000;
/// The names that clients ask for.
const ASKED: usize = 100;

/// The keys of the certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    /// One of RSA-2048 for all.
    One,
    /// One for each: of RSA-2048 for names that clients ask for, of ECDSA for all others.
    Own,
}

/// Writes certificates with a name each, and returns their settings.
fn certificates(folder: &Folder, keys: Keys) -> String {
    let mut settings = String::new();
    for at in 0..NAMES {
        let (chain, key) = files(folder, keys, at);
        if keys == Keys::Own {
            fs::write(&key, make_key(at).private_key_to_pem_pkcs8().unwrap()).unwrap();
        }
        certify(&chain, &key, at);
        writeln!(settings, "[[certificate]]\nchain = {chain:?}\nkey = {key:?}").unwrap();
    }
    settings
}

/// Returns the files of a certificate and its key.
fn files(folder: &Folder, keys: Keys, at: usize) -> (PathBuf, PathBuf) {
    let key = match keys {
        Keys::One => rig::keys().join("rsa-2048.pem"),
        Keys::Own => folder.path(&format!("{at}-key.pem")),
    };
    (folder.path(&format!("{at}.pem")), key)
}

fn make_key(at: usize) -> PKey<Private> {
    if at < ASKED {
        return PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
    }
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

fn certify(chain: &Path, key: &Path, at: usize) {
    let key = PKey::private_key_from_pem(&fs::read(key).unwrap()).unwrap();
    let mut certificate = X509::builder().unwrap();
    certificate.set_version(2).unwrap();
    let mut name = X509Name::builder().unwrap();
    name.append_entry_by_text("CN", &site(at)).unwrap();
    let name = name.build();
    certificate.set_subject_name(&name).unwrap();
    certificate.set_issuer_name(&name).unwrap();
    certificate.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    certificate.set_not_after(&Asn1Time::days_from_now(90).unwrap()).unwrap();
    certificate.set_pubkey(&key).unwrap();
    let mut names = SubjectAlternativeName::new();
    let names = names.dns(&site(at)).build(&certificate.x509v3_context(None, None)).unwrap();
    certificate.append_extension(names).unwrap();
    certificate.sign(&key, MessageDigest::sha256()).unwrap();
    fs::write(chain, certificate.build().to_pem().unwrap()).unwrap();
}

fn site(at: usize) -> String {
    format!("site-{at}.example")
}

/// Connects and returns the certificate, in PEM.
fn visit(address: SocketAddr, name: &str) -> Vec<u8> {
    let mut context = SslContext::builder(SslMethod::tls_client()).unwrap();
    context.set_verify(SslVerifyMode::NONE);
    let mut ssl = Ssl::new(&context.build()).unwrap();
    ssl.set_hostname(name).unwrap();
    let mut stream: SslStream<TcpStream> = SslStream::new(ssl, tcp(address)).unwrap();
    stream.connect().unwrap();
    stream.ssl().peer_certificate().unwrap().to_pem().unwrap()
}

#[test]
#[ignore = "two minutes: ./x test --long"]
fn ten_thousand_names_with_one_key_start_soon_and_a_reload_loses_no_connection() {
    serve(Keys::One);
}

#[test]
#[ignore = "two minutes: ./x test --long"]
fn ten_thousand_names_with_own_keys_take_little_memory_and_a_reload_loses_no_connection() {
    serve(Keys::Own);
}

#[allow(clippy::print_stdout, reason = "docs/serve.md has the figures")]
fn serve(keys: Keys) {
    let one = Apart::start("", &[]);
    let base = one.resident_kib();
    drop(one);
    let folder = Folder::new();
    let settings = certificates(&folder, keys);
    let begun = Instant::now();
    let mut server = Apart::start_with("workers = 1", &settings, &[]);
    let (start, loaded) = (begun.elapsed(), server.resident_kib());
    let served = |address| {
        for at in 0..ASKED {
            let expected = fs::read(files(&folder, keys, at).0).unwrap();
            assert_eq!(visit(address, &site(at)), expected, "{at}");
        }
    };
    served(server.address);
    let used = server.resident_kib();
    let load = Load::start(&[server.address], 2);
    load.until_more(20);
    let mut reload = || {
        let begun = Instant::now();
        assert_eq!(server.reload(), "");
        begun.elapsed()
    };
    let unchanged = reload();
    for at in 0..ASKED {
        let (chain, key) = files(&folder, keys, at);
        certify(&chain, &key, at);
    }
    let changed = reload();
    load.until_more(20);
    let seen = load.end();
    served(server.address);
    let after = server.resident_kib();
    let each = |kib: u64, names: usize| kib * 1024 / names as u64;
    println!(
        "{NAMES} names, keys {keys:?}: start {start:?}, reload {unchanged:?} with nothing new and \
         {changed:?} with {ASKED} new certificates, longest wait of a client {:?}; bytes for each \
         name: {} when read, {} more when asked for; {used} KiB before the reloads, {after} after",
        seen.longest,
        each(loaded - base, NAMES),
        each(used - loaded, ASKED)
    );
    assert_eq!((seen.cut.len(), seen.unconnected), (0, 0), "{:?}", seen.cut);
    let (ended, folder) = server.stop();
    assert!(ended.log_complete);
    let log = Log::of(&folder);
    assert_eq!(log.handshakes().len(), 2 * ASKED + seen.connections);
    seen.agrees_with(&[log]);
}
