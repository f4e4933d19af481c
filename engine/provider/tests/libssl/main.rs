//! Handshakes between a server whose `SSL_CTX` prefers the provider, like the embedded server's,
//! and a client that does not use the provider; and the other way round for X25519 and ECDSA. The
//! counters show which provider signed, verified, decrypted or exchanged keys.
#![allow(unsafe_code, reason = "functions of libssl")]
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../host/mod.rs"]
mod host;

use core::ffi::{CStr, c_char, c_void};
use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use openssl::pkey::Id;
use openssl::ssl::{
    Ssl, SslContext, SslContextBuilder, SslFiletype, SslMethod, SslRef, SslStream, SslVerifyMode,
    SslVersion,
};

use host::libcrypto::OSSL_LIB_CTX;
use host::openssl_conf::Folder;
use host::{Host, PREFER, errors, pem_path};

#[link(name = "ssl")]
unsafe extern "C" {
    fn TLS_server_method() -> *const c_void;
    fn TLS_client_method() -> *const c_void;
    fn SSL_CTX_new_ex(
        context: *mut OSSL_LIB_CTX,
        query: *const c_char,
        method: *const c_void,
    ) -> *mut c_void;
}

/// Creates a TLS context in the library context of the provider.
fn tls_context(host: &Host, query: &CStr, method: *const c_void) -> SslContextBuilder {
    // SAFETY: a context, a string, a method.
    let context = unsafe { SSL_CTX_new_ex(host.context, query.as_ptr(), method) };
    assert!(!context.is_null(), "{}", errors());
    // SAFETY: a new context without another owner.
    unsafe { SslContextBuilder::from_ptr(context.cast()) }
}

/// A server with `default` and the provider, and its own certificate. The TLS context is freed
/// before its library context.
struct Server {
    context: SslContext,
    host: Host,
    folder: Folder,
}

impl Server {
    fn new(key: &str) -> Self {
        Self::with_host(Host::builtin(), PREFER, key, |_| {})
    }

    /// The query is that of the TLS context; it replaces clauses of the configuration.
    fn with_host(
        host: Host,
        query: &CStr,
        key: &str,
        change: impl FnOnce(&mut SslContextBuilder),
    ) -> Self {
        let folder = Folder::new();
        let key = pem_path(key);
        folder.openssl(
            false,
            &format!("req -new -x509 -key {key} -subj /CN=localhost -days 1 -out cert.pem"),
        );
        // SAFETY: no arguments.
        let mut context = tls_context(&host, query, unsafe { TLS_server_method() });
        context.set_certificate_chain_file(folder.path("cert.pem")).unwrap();
        context.set_private_key_file(key, SslFiletype::PEM).unwrap();
        context.set_cipher_list("ALL:@SECLEVEL=0").unwrap();
        context.set_min_proto_version(Some(SslVersion::TLS1)).unwrap();
        change(&mut context);
        Self { context: context.build(), host, folder }
    }

    /// Accepts a connection: a handshake, and a greeting.
    fn serve(&self, stream: &TcpStream) {
        let mut stream = SslStream::new(Ssl::new(&self.context).unwrap(), stream).unwrap();
        stream.accept().unwrap();
        stream.write_all(b"hello").unwrap();
        drop(stream);
        assert_eq!(errors(), "");
    }

    /// Performs a handshake with a client in the default library context, which checks the
    /// certificate and all signatures. Returns the suite.
    fn handshake(&self, version: SslVersion, ciphers: &str, signatures: &str) -> String {
        let mut client = SslContextBuilder::new(SslMethod::tls_client()).unwrap();
        client.set_cipher_list(ciphers).unwrap();
        client.set_sigalgs_list(signatures).unwrap();
        self.connect(client, version, |ssl| ssl.current_cipher().unwrap().name().into())
    }

    /// Performs a handshake with this client. Returns what `ask` returns for the client's end.
    fn connect<T>(
        &self,
        client: SslContextBuilder,
        version: SslVersion,
        ask: impl FnOnce(&SslRef) -> T,
    ) -> T {
        self.connect_built(&self.build(client, version), ask)
    }

    /// Builds a client that checks the server's certificate.
    fn build(&self, mut client: SslContextBuilder, version: SslVersion) -> SslContext {
        client.set_ca_file(self.folder.path("cert.pem")).unwrap();
        client.set_verify(SslVerifyMode::PEER);
        client.set_min_proto_version(Some(version)).unwrap();
        client.set_max_proto_version(Some(version)).unwrap();
        client.build()
    }

    fn connect_built<T>(&self, client: &SslContext, ask: impl FnOnce(&SslRef) -> T) -> T {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let bounded = |stream: TcpStream| {
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            stream
        };
        thread::scope(|scope| {
            let server = scope.spawn(|| self.serve(&bounded(listener.accept().unwrap().0)));
            let stream = bounded(TcpStream::connect(address).unwrap());
            let mut ssl = Ssl::new(client).unwrap();
            ssl.param_mut().set_host("localhost").unwrap();
            let mut stream = SslStream::new(ssl, stream).unwrap();
            stream.connect().unwrap();
            let mut greeting = [0; 5];
            stream.read_exact(&mut greeting).unwrap();
            assert_eq!(&greeting, b"hello");
            server.join().unwrap();
            ask(stream.ssl())
        })
    }
}

const ECDHE: &str = "ECDHE-RSA-AES128-GCM-SHA256";
const RSA_KEY_EXCHANGE: &str = "AES128-GCM-SHA256";
const ANY: &str = "rsa_pss_rsae_sha256:RSA+SHA256";

#[test]
fn handshakes_sign_or_decrypt_with_the_provider() {
    for key in ["rsa-2048.pem", "rsa-3072.pem"] {
        let server = Server::new(key);
        let refused = server.host.counter("refused-keys");
        for (version, ciphers, signatures, counter) in [
            (SslVersion::TLS1_3, ECDHE, ANY, "signatures"),
            (SslVersion::TLS1_3, ECDHE, "rsa_pss_rsae_sha512", "signatures"),
            (SslVersion::TLS1_2, ECDHE, ANY, "signatures"),
            (SslVersion::TLS1_2, ECDHE, "RSA+SHA384", "signatures"),
            (SslVersion::TLS1_2, RSA_KEY_EXCHANGE, ANY, "decryptions"),
            (SslVersion::TLS1_2, "AES128-SHA", ANY, "decryptions"),
        ] {
            let (count, suite) =
                server.host.counted(counter, || server.handshake(version, ciphers, signatures));
            assert_eq!(count, 1, "{version:?} {ciphers} {signatures}");
            let expected =
                if version == SslVersion::TLS1_3 { "TLS_AES_256_GCM_SHA384" } else { ciphers };
            assert_eq!(suite, expected);
        }
        assert_eq!(server.host.counter("refused-keys"), refused);
    }
}

/// These signatures use MD5 and SHA-1, concatenated.
#[test]
fn old_protocols_still_work() {
    let server = Server::new("rsa-2048.pem");
    for version in [SslVersion::TLS1, SslVersion::TLS1_1] {
        let (count, suite) = server.host.counted("signatures", || {
            server.handshake(version, "ECDHE-RSA-AES128-SHA:@SECLEVEL=0", ANY)
        });
        assert_eq!((count, suite.as_str()), (1, "ECDHE-RSA-AES128-SHA"));
    }
}

#[test]
fn refused_keys_are_served_by_openssl() {
    let server = Server::new("rsa-2048-3primes.pem");
    let before = server.host.counter("refused-keys");
    for (version, ciphers) in [(SslVersion::TLS1_3, ECDHE), (SslVersion::TLS1_2, RSA_KEY_EXCHANGE)]
    {
        let (signed, (decrypted, _)) = server.host.counted("signatures", || {
            server.host.counted("decryptions", || server.handshake(version, ciphers, ANY))
        });
        assert_eq!((signed, decrypted), (0, 0));
    }
    assert!(server.host.counter("refused-keys") > before);
}

/// Returns the type of the server's key share, with a client of these groups.
fn share(server: &Server, mut client: SslContextBuilder, version: SslVersion, groups: &str) -> Id {
    client.set_groups_list(groups).unwrap();
    server.connect(client, version, |ssl| ssl.peer_tmp_key().unwrap().id())
}

/// The server sets its groups too: libssl refuses a list with a group that it does not know. The
/// empty query is that of nginx, Apache and HAProxy; the second one is that of stunnel.
#[test]
fn handshakes_exchange_keys_with_the_provider() {
    for query in [c"", c"provider!=fips"] {
        for (of_server, of_client, id) in [
            ("X25519", "X25519", Id::X25519),
            ("X25519:P-256", "X25519:P-256", Id::X25519),
            ("X25519:P-256", "P-256", Id::EC),
            ("P-256", "X25519:P-256", Id::EC), // in TLS 1.3, after a HelloRetryRequest
            ("X25519", "P-256:X25519", Id::X25519), // as above
        ] {
            for version in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
                let what = format!("{query:?} {of_server} {of_client} {version:?}");
                let Some(host) = Host::with_curves("x25519 = on") else { return };
                let server = Server::with_host(host, query, "rsa-2048.pem", |context| {
                    context.set_groups_list(of_server).unwrap();
                });
                let ours = if id == Id::X25519 { 1 } else { 0 };
                let client = SslContextBuilder::new(SslMethod::tls_client()).unwrap();
                assert_eq!(share(&server, client, version, of_client), id, "{what}");
                assert_eq!(exchanges(&server.host), [ours, ours, 1], "{what}");
            }
        }
    }
}

/// Returns the numbers of new keys, secrets and signatures.
fn exchanges(host: &Host) -> [u64; 3] {
    ["x25519-generations", "x25519-derivations", "signatures"].map(|name| host.counter(name))
}

#[test]
fn clients_exchange_keys_with_the_provider() {
    let server = Server::new("rsa-2048.pem");
    for version in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
        for (groups, id, ours) in [("X25519", Id::X25519, 1), ("P-256", Id::EC, 0)] {
            let Some(host) = Host::with_curves("x25519 = on") else { return };
            // SAFETY: no arguments.
            let client = tls_context(&host, c"", unsafe { TLS_client_method() });
            assert_eq!(share(&server, client, version, groups), id);
            assert_eq!(exchanges(&host)[..2], [ours, ours], "{version:?} {groups}");
        }
    }
}

/// Versions of TLS, a suite for a key on a curve, and signatures for it.
const ON_CURVES: [(SslVersion, &str, &str); 4] = [
    (SslVersion::TLS1_3, ECDHE, "ECDSA+SHA256"),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDSA+SHA256"),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDSA+SHA512"),
    (SslVersion::TLS1_2, "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDSA+SHA384"),
];

/// Returns the numbers of signatures and verifications.
fn ecdsa(host: &Host) -> [u64; 2] {
    ["ecdsa-signatures", "ecdsa-verifications"].map(|name| host.counter(name))
}

/// The empty query is that of nginx, Apache and HAProxy; the second one is that of stunnel.
#[test]
fn handshakes_sign_with_ecdsa() {
    for query in [c"", c"provider!=fips"] {
        let Some(host) = Host::with_curves("ecdsa = on") else { return };
        let server = Server::with_host(host, query, "ec-p256.pem", |_| {});
        for (count, (version, ciphers, signatures)) in (1..).zip(ON_CURVES) {
            let suite = server.handshake(version, ciphers, signatures);
            let is_13 = version == SslVersion::TLS1_3;
            assert_eq!(suite, if is_13 { "TLS_AES_256_GCM_SHA384" } else { ciphers });
            assert_eq!(ecdsa(&server.host), [count, 0], "{query:?} {version:?} {signatures}");
        }
    }
}

/// OpenSSL signs with keys of another curve, and exchanges keys on P-256 and P-384.
#[test]
fn handshakes_with_another_curve_are_openssl_s() {
    let folder = Folder::new();
    folder.openssl(false, "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out key.pem");
    let Some(host) = Host::with_curves("ecdsa = on") else { return };
    let server = Server::with_host(host, c"", &folder.path("key.pem"), |_| {});
    for version in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
        // In TLS 1.2, the groups are also the curves of keys.
        for groups in ["P-256:P-384", "P-384:P-256"] {
            let client = SslContextBuilder::new(SslMethod::tls_client()).unwrap();
            assert_eq!(share(&server, client, version, groups), Id::EC);
        }
    }
    assert_eq!(ecdsa(&server.host), [0, 0]);
}

/// Clients in the library context of the server, one for each group.
fn clients(server: &Server, query: &CStr) -> [(SslContext, Id); 3] {
    [("X25519", Id::X25519), ("P-256", Id::EC), ("P-384", Id::EC)].map(|(group, id)| {
        // SAFETY: no arguments.
        let mut client = tls_context(&server.host, query, unsafe { TLS_client_method() });
        client.set_groups_list(group).unwrap();
        (server.build(client, SslVersion::TLS1_3), id)
    })
}

/// Performs a handshake with each client.
fn exchange(server: &Server, clients: [(SslContext, Id); 3]) {
    for (client, id) in clients {
        let share = server.connect_built(&client, |ssl| ssl.peer_tmp_key().unwrap().id());
        assert_eq!(share, id);
    }
}

/// A server that reads its configuration again signs before it creates its new TLS context.
#[test]
fn groups_exist_after_a_signature() {
    for query in [c"", c"provider!=fips"] {
        let Some(host) = Host::with_curves("ecdsa = on\nx25519 = on") else { return };
        let key = host.key(&host::pem("ec-p256.pem"));
        host.sign(&key, query, c"SHA256", &[], b"a message").unwrap();
        let server = Server::with_host(host, query, "ec-p256.pem", |context| {
            context.set_groups_list("P-256:P-384:P-521:X25519").unwrap();
        });
        exchange(&server, clients(&server, query));
        assert_eq!(ecdsa(&server.host)[0], 4, "{query:?}");
    }
}

/// Loading a provider empties libcrypto's cache of methods, and adds its decoders of certificates.
#[test]
fn handshakes_succeed_after_another_provider_is_loaded() {
    for key in ["ec-p256.pem", "rsa-2048.pem"] {
        let Some(host) = Host::with_curves("ecdsa = on\nx25519 = on") else { return };
        let server = Server::with_host(host, c"", key, |_| {});
        // A new TLS context fetches the key management of all groups. These are older.
        let [before, after] = [(); 2].map(|()| clients(&server, c""));
        exchange(&server, before);
        server.host.load(c"base");
        exchange(&server, after);
    }
}

/// With client certificates, the client signs with the provider, and OpenSSL's own verifies: public
/// keys are not accepted.
#[test]
fn clients_sign_with_ecdsa_and_openssl_verifies() {
    for version in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
        let Some(host) = Host::with_curves("ecdsa = on") else { return };
        let folder = Folder::new();
        let key = pem_path("ec-p256.pem");
        folder.openssl(
            false,
            &format!("req -new -x509 -key {key} -subj /CN=client -days 1 -out client.pem"),
        );
        let certificate = folder.path("client.pem");
        let server = Server::with_host(host, c"", "ec-p256.pem", |context| {
            context.set_ca_file(&certificate).unwrap();
            context.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
        });
        let Some(host) = Host::with_curves("ecdsa = on") else { return };
        // SAFETY: no arguments.
        let mut client = tls_context(&host, c"", unsafe { TLS_client_method() });
        client.set_certificate_chain_file(&certificate).unwrap();
        client.set_private_key_file(&key, SslFiletype::PEM).unwrap();
        server.connect(client, version, |_| {});
        assert_eq!((ecdsa(&server.host), ecdsa(&host)), ([1, 0], [1, 0]), "{version:?}");
    }
}
