//! Clients with certificates.

use core::time::Duration;
use std::net::TcpStream;

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{SslConnector, SslMethod, SslStream, SslVerifyMode, SslVersion};
use openssl::x509::extension::{BasicConstraints, ExtendedKeyUsage, SubjectAlternativeName};
use openssl::x509::{X509, X509Builder, X509Name};
use tollgate_keyless::{PING, PONG};

use crate::rig::{
    Client, Folder, KEYS, Rig, SIGN, digest, is_valid, key_file, own_client, request, ski,
};

/// A certificate and its key.
#[derive(Clone)]
struct Pair {
    certificate: X509,
    key: PKey<Private>,
}

/// The properties of a certificate.
#[derive(Clone, Copy)]
struct Subject<'a> {
    name: &'a str,
    dns: &'a [&'a str],
    is_authority: bool,
    is_for_servers: bool,
    /// Seconds until the end of its validity.
    valid_s: i64,
}

const DAY: i64 = 86_400;

const CLIENT: Subject<'_> = Subject {
    name: "a",
    dns: &["front"],
    is_authority: false,
    is_for_servers: false,
    valid_s: 2 * DAY,
};
const AUTHORITY: Subject<'_> = Subject { name: "roots", dns: &[], is_authority: true, ..CLIENT };

impl Pair {
    fn new(subject: Subject<'_>, issuer: Option<&Self>) -> Self {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
        let mut name = X509Name::builder().unwrap();
        name.append_entry_by_nid(Nid::COMMONNAME, subject.name).unwrap();
        let name = name.build();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let at = |seconds: i64| {
            Asn1Time::from_unix(i64::try_from(now.as_secs()).unwrap() + seconds).unwrap()
        };
        let mut builder = X509Builder::new().unwrap();
        builder.set_version(2).unwrap();
        builder
            .set_serial_number(&BigNum::from_u32(1).unwrap().to_asn1_integer().unwrap())
            .unwrap();
        builder.set_subject_name(&name).unwrap();
        let issuer_name = issuer.map_or(&*name, |issuer| issuer.certificate.subject_name());
        builder.set_issuer_name(issuer_name).unwrap();
        builder.set_not_before(&at(-9 * DAY)).unwrap();
        builder.set_not_after(&at(subject.valid_s)).unwrap();
        builder.set_pubkey(&key).unwrap();
        if subject.is_authority {
            builder
                .append_extension(BasicConstraints::new().critical().ca().build().unwrap())
                .unwrap();
        }
        if subject.is_for_servers {
            builder
                .append_extension(ExtendedKeyUsage::new().server_auth().build().unwrap())
                .unwrap();
        }
        if !subject.dns.is_empty() {
            let mut names = SubjectAlternativeName::new();
            subject.dns.iter().for_each(|dns| {
                names.dns(dns);
            });
            let context = builder.x509v3_context(None, None);
            let names = names.build(&context).unwrap();
            builder.append_extension(names).unwrap();
        }
        builder.sign(issuer.map_or(&key, |issuer| &issuer.key), MessageDigest::sha256()).unwrap();
        Self { certificate: builder.build(), key }
    }
}

/// A signer with TLS: its files `chain.pem`, `key.pem` and `roots.pem`, and the authority of all.
struct TlsRig {
    rig: Rig,
    roots: Pair,
    files: Folder,
}

/// Two clients: "front" by a name, with a key, and "back".
const CLIENTS: &str = "[[client]]\nname = \"front\"\ncertificate = \"front\"\nkeys = [\"site\"]\n\
    [[client]]\nname = \"back\"\ncertificate = \"back\"\nkeys = [\"curve\"]\n";

impl TlsRig {
    fn start() -> Self {
        Self::with("", "")
    }

    /// Starts a signer with these clients too, and these limits.
    fn with(clients: &str, limits: &str) -> Self {
        let (roots, files) = (Pair::new(AUTHORITY, None), Folder::new());
        files.write("roots.pem", roots.certificate.to_pem().unwrap());
        let server = Pair::new(Subject { dns: &["signer"], ..CLIENT }, Some(&roots));
        files.write("chain.pem", server.certificate.to_pem().unwrap());
        files.write("key.pem", server.key.private_key_to_pem_pkcs8().unwrap());
        let rig = Rig::with("", &(tables(&files, &(CLIENTS.to_owned() + clients)) + limits));
        Self { rig, roots, files }
    }

    fn client(&self, subject: Subject<'_>) -> Pair {
        Pair::new(subject, Some(&self.roots))
    }

    /// Connects; with TLS 1.3 the client learns only from an answer if it was accepted.
    fn connect(
        &self,
        pair: Option<&Pair>,
        version: SslVersion,
    ) -> Option<Client<SslStream<TcpStream>>> {
        let mut builder = SslConnector::builder(SslMethod::tls_client()).unwrap();
        builder.set_verify(SslVerifyMode::NONE);
        builder.set_max_proto_version(Some(version)).unwrap();
        if let Some(pair) = pair {
            builder.set_certificate(&pair.certificate).unwrap();
            builder.set_private_key(&pair.key).unwrap();
        }
        let socket = TcpStream::connect(self.rig.running.addr().unwrap()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        builder.build().connect("signer", socket).ok().map(Client::new)
    }

    /// Returns whether the client gets an answer.
    fn is_served(&self, pair: Option<&Pair>) -> bool {
        let Some(mut client) = self.connect(pair, SslVersion::TLS1_3) else { return false };
        let bytes = request(1, Some(ski("rsa-2048.pem")), SIGN.code(), &digest());
        use std::io::{Read as _, Write as _};
        client.stream.write_all(&bytes).is_ok()
            && client.stream.read(&mut [0; 9]).is_ok_and(|n| n > 0)
    }
}

fn tables(files: &Folder, clients: &str) -> String {
    let path = |name| files.path(name);
    format!(
        "{clients}[tls]\naddress = \"127.0.0.1:0\"\nchain = {:?}\nkey = {:?}\nclient_roots = \
         {:?}\n",
        path("chain.pem"),
        path("key.pem"),
        path("roots.pem")
    )
}

#[test]
fn a_client_has_the_keys_of_its_certificate() {
    assert_eq!(KEYS[0].0, "site");
    let tls = TlsRig::start();
    let front = tls.client(CLIENT);
    let mut client = tls.connect(Some(&front), SslVersion::TLS1_3).unwrap();
    for _ in 0..3 {
        let signature = client.run("rsa-2048.pem", SIGN, &digest()).unwrap();
        assert!(is_valid("rsa-2048.pem", SIGN, &signature));
    }
    assert!(client.run("ec-p256.pem", SIGN, &digest()).is_err(), "the key of another client");
    let back = tls.client(Subject { dns: &["elsewhere", "back"], ..CLIENT });
    let mut other = tls.connect(Some(&back), SslVersion::TLS1_3).unwrap();
    assert!(other.run("rsa-2048.pem", SIGN, &digest()).is_err(), "the key of another client");
    // without a subjectAltName, the common name counts
    assert!(tls.is_served(Some(&tls.client(Subject { name: "front", dns: &[], ..CLIENT }))));
    let log = tls.rig.audit();
    assert!(log.contains("\"client\":\"front\"") && log.contains("\"client\":\"back\""), "{log}");
}

#[test]
fn other_clients_are_refused() {
    let tls = TlsRig::start();
    assert!(tls.is_served(Some(&tls.client(CLIENT))));
    let other_roots = Pair::new(AUTHORITY, None);
    let refused = [
        ("another name", tls.client(Subject { dns: &["stranger"], ..CLIENT })),
        ("a part of a name", tls.client(Subject { dns: &["front.example"], ..CLIENT })),
        (
            "a common name beside other names",
            tls.client(Subject { name: "front", dns: &["x"], ..CLIENT }),
        ),
        ("the names of two clients", tls.client(Subject { dns: &["front", "back"], ..CLIENT })),
        ("an expired certificate", tls.client(Subject { valid_s: -DAY, ..CLIENT })),
        ("a certificate for servers", tls.client(Subject { is_for_servers: true, ..CLIENT })),
        ("another authority", Pair::new(CLIENT, Some(&other_roots))),
        ("its own authority", Pair::new(CLIENT, None)),
        ("a name with NUL", tls.client(Subject { name: "front\0.evil", dns: &[], ..CLIENT })),
    ];
    for (why, pair) in &refused {
        assert!(!tls.is_served(Some(pair)), "{why}");
    }
    assert!(!tls.is_served(None), "no certificate");
    let front = tls.client(CLIENT);
    assert!(tls.connect(Some(&front), SslVersion::TLS1_2).is_none(), "TLS 1.2");
    // the certificate of another, without its key
    let theft = Pair { certificate: front.certificate, key: Pair::new(CLIENT, None).key };
    let mut builder = SslConnector::builder(SslMethod::tls_client()).unwrap();
    builder.set_certificate(&theft.certificate).unwrap();
    assert!(builder.set_private_key(&theft.key).is_err(), "libssl itself refuses the pair");
    let counts = tls.rig.running.counts();
    assert!(counts.connections_refused >= 10, "{counts:?}");
    assert!(!tls.rig.audit().contains("stranger"), "names of strangers are not logged");
    assert_eq!(counts.requests_of("sign", "done"), 1);
}

/// More requests come while answers wait in a full socket.
#[test]
fn a_slow_reader_gets_all_answers() {
    let tls = TlsRig::start();
    let mut client = tls.connect(Some(&tls.client(CLIENT)), SslVersion::TLS1_3).unwrap();
    let payload = vec![7; 4000];
    let pings = |ids: core::ops::Range<u32>| -> Vec<u8> {
        ids.flat_map(|id| request(id, None, PING, &payload)).collect()
    };
    // more than the buffers of a socket on the loopback take
    for part in 0..10 {
        client.send(&pings(part * 120..(part + 1) * 120));
        std::thread::sleep(Duration::from_millis(30));
    }
    for id in 0..1200 {
        assert_eq!(client.receive(), Some((id, PONG, payload.clone())));
    }
}

#[test]
fn a_handshake_has_a_limit() {
    let TlsRig { rig, files, .. } = TlsRig::with("", "[limits]\nhandshake = 0.2\n");
    let mut silent = TcpStream::connect(rig.running.addr().unwrap()).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(std::io::Read::read(&mut silent, &mut [0; 9]).unwrap_or(0), 0);
    rig.logged("no handshake");
    // a key that does not belong to the certificate
    files.write("key.pem", std::fs::read(key_file("rsa-2048.pem")).unwrap());
    let why = rig.reload(&tables(&files, CLIENTS)).err().unwrap().to_string();
    assert!(why.contains("matching pair"), "{why}");
}

/// A client opens as many connections as it can, on the socket or with TLS; others are served.
#[test]
fn a_client_has_its_share_of_connections() {
    let client = own_client(r#"["site"]"#, r#"["sign"]"#);
    let tls = TlsRig::with(&client, "[limits]\nconnections_max = 8\n");
    // Three clients: none has more than half.
    let mut local: Vec<_> = (0..100).map(|_| tls.rig.connect()).collect();
    let ping = request(1, None, PING, &[]);
    local.iter_mut().for_each(|client| client.send(&ping));
    local.retain_mut(|client| client.receive().is_some());
    assert_eq!(local.len(), 4);

    let front = tls.client(CLIENT);
    drop(local.split_off(2));
    while tls.rig.running.counts().connections_open > 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let connect = || tls.connect(Some(&front), SslVersion::TLS1_3).unwrap();
    let mut remote: Vec<_> = (0..4).map(|_| connect()).collect();
    assert!(remote.iter_mut().all(still_served));
    assert!(!tls.is_served(Some(&front)));
    assert!(tls.is_served(Some(&tls.client(Subject { dns: &["back"], ..CLIENT }))));
    let log = tls.rig.audit();
    for name in ["own", "front"] {
        let end = format!(r#""client":"{name}","outcome":"refused: too many connections of"#);
        assert!(log.contains(&end), "{log}");
    }
    assert_eq!(tls.rig.running.counts().connections_refused, 97);
    drop(remote);
    while !tls.is_served(Some(&front)) {}
}

#[test]
fn revoked_clients_and_roots_lose_their_connections() {
    let tls = TlsRig::start();
    let front = tls.client(CLIENT);
    let mut client = tls.connect(Some(&front), SslVersion::TLS1_3).unwrap();
    client.run("rsa-2048.pem", SIGN, &digest()).unwrap();
    let only_back = CLIENTS[CLIENTS.find("[[client]]\nname = \"back\"").unwrap()..].to_owned();
    tls.rig.reload(&tables(&tls.files, &only_back)).unwrap();
    assert!(!still_served(&mut client));

    tls.rig.reload(&tables(&tls.files, CLIENTS)).unwrap();
    let mut client = tls.connect(Some(&front), SslVersion::TLS1_3).unwrap();
    client.run("rsa-2048.pem", SIGN, &digest()).unwrap();
    let other = Pair::new(AUTHORITY, None);
    tls.files.write("roots.pem", other.certificate.to_pem().unwrap());
    tls.rig.reload(&tables(&tls.files, CLIENTS)).unwrap();
    assert!(!still_served(&mut client), "another authority");
    assert!(!tls.is_served(Some(&front)));
}

fn still_served(client: &mut Client<SslStream<TcpStream>>) -> bool {
    use std::io::{Read as _, Write as _};
    let bytes = request(1, Some(ski("rsa-2048.pem")), SIGN.code(), &digest());
    client.stream.write_all(&bytes).is_ok() && client.stream.read(&mut [0; 9]).is_ok_and(|n| n > 0)
}
