//! Ten thousand certificates by name: the memory that they take, and their reload under load.

use core::fmt::Write as _;
use core::net::SocketAddr;
use std::fs;
use std::net::TcpStream;
use std::time::Instant;

use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream, SslVerifyMode};
use openssl::x509::extension::SubjectAlternativeName;
use openssl::x509::{X509, X509Name};

use crate::apart::Apart;
use crate::load::Load;
use crate::rig::{Folder, Log, keys, tcp};

const NAMES: usize = 10_000;
/// The names that clients ask for.
const ASKED: usize = 1000;

/// Writes certificates with a name each, all for one key, and returns their settings.
fn certificates(folder: &Folder) -> String {
    let key_file = keys().join("rsa-2048.pem");
    let key = PKey::private_key_from_pem(&fs::read(&key_file).unwrap()).unwrap();
    let mut settings = String::new();
    for at in 0..NAMES {
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
        let file = folder.path(&format!("{at}.pem"));
        fs::write(&file, certificate.build().to_pem().unwrap()).unwrap();
        writeln!(settings, "[[certificate]]\nchain = {file:?}\nkey = {key_file:?}").unwrap();
    }
    settings
}

fn site(at: usize) -> String {
    format!("site-{at}.example")
}

/// Connects and returns the common name of the certificate.
fn visit(address: SocketAddr, name: &str) -> String {
    let mut context = SslContext::builder(SslMethod::tls_client()).unwrap();
    context.set_verify(SslVerifyMode::NONE);
    let mut ssl = Ssl::new(&context.build()).unwrap();
    ssl.set_hostname(name).unwrap();
    let mut stream: SslStream<TcpStream> = SslStream::new(ssl, tcp(address)).unwrap();
    stream.connect().unwrap();
    let certificate = stream.ssl().peer_certificate().unwrap();
    certificate.subject_name().entries().next().unwrap().data().to_string().unwrap()
}

#[test]
#[ignore = "four minutes: ./x test --long"]
#[allow(clippy::print_stdout, reason = "docs/serve.md has the figures")]
fn ten_thousand_names_take_little_memory_and_a_reload_loses_no_connection() {
    let one = Apart::start("", &[]);
    let base = one.resident_kib();
    drop(one);
    let folder = Folder::new();
    let settings = certificates(&folder);
    let begun = Instant::now();
    let mut server = Apart::start_with("workers = 1", &settings, &[]);
    let (start, loaded) = (begun.elapsed(), server.resident_kib());
    for at in 0..ASKED {
        assert_eq!(visit(server.address, &site(at)), site(at));
    }
    let used = server.resident_kib();
    let load = Load::start(&[server.address], 2);
    load.until_more(20);
    let begun = Instant::now();
    assert_eq!(server.reload(), "");
    let reload = begun.elapsed();
    load.until_more(20);
    let seen = load.end();
    let after = server.resident_kib();
    let each = |kib: u64, names: usize| kib * 1024 / names as u64;
    println!(
        "{NAMES} names: start {start:?}, reload {reload:?}, longest wait of a client {:?}; bytes \
         for each name: {} when read, {} more when asked for; {after} KiB after the reload",
        seen.longest,
        each(loaded - base, NAMES),
        each(used - loaded, ASKED)
    );
    assert_eq!((seen.cut.len(), seen.unconnected), (0, 0), "{:?}", seen.cut);
    let (ended, folder) = server.stop();
    assert!(ended.log_complete);
    let log = Log::of(&folder);
    assert_eq!(log.handshakes().len(), ASKED + seen.connections);
    seen.agrees_with(&[log]);
}
