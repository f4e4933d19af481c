//! Handshakes between a server whose `SSL_CTX` prefers the provider, like the embedded server's,
//! and a client that does not use the provider. The counters show which provider signed and which
//! provider decrypted.

use core::ffi::{c_char, c_void};
use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use openssl::ssl::{
    Ssl, SslConnector, SslContext, SslContextBuilder, SslFiletype, SslMethod, SslStream, SslVersion,
};

use crate::host::libcrypto::OSSL_LIB_CTX;
use crate::host::openssl_conf::Folder;
use crate::host::{Host, PREFER, errors, pem_path};

#[link(name = "ssl")]
unsafe extern "C" {
    fn TLS_server_method() -> *const c_void;
    fn SSL_CTX_new_ex(
        context: *mut OSSL_LIB_CTX,
        query: *const c_char,
        method: *const c_void,
    ) -> *mut c_void;
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
        let host = Host::builtin();
        let folder = Folder::new();
        let key = pem_path(key);
        folder.openssl(
            false,
            &format!("req -new -x509 -key {key} -subj /CN=localhost -days 1 -out cert.pem"),
        );
        // SAFETY: no arguments.
        let method = unsafe { TLS_server_method() };
        // SAFETY: a context, a string, a method.
        let context = unsafe { SSL_CTX_new_ex(host.context, PREFER.as_ptr(), method) };
        assert!(!context.is_null(), "{}", errors());
        // SAFETY: a new context without another owner.
        let mut context = unsafe { SslContextBuilder::from_ptr(context.cast()) };
        context.set_certificate_chain_file(folder.path("cert.pem")).unwrap();
        context.set_private_key_file(key, SslFiletype::PEM).unwrap();
        context.set_cipher_list("ALL:@SECLEVEL=0").unwrap();
        context.set_min_proto_version(Some(SslVersion::TLS1)).unwrap();
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
        let mut client = SslConnector::builder(SslMethod::tls_client()).unwrap();
        client.set_ca_file(self.folder.path("cert.pem")).unwrap();
        client.set_min_proto_version(Some(version)).unwrap();
        client.set_max_proto_version(Some(version)).unwrap();
        client.set_cipher_list(ciphers).unwrap();
        client.set_sigalgs_list(signatures).unwrap();
        let client = client.build();

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let bounded = |stream: TcpStream| {
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            stream
        };
        thread::scope(|scope| {
            let server = scope.spawn(|| self.serve(&bounded(listener.accept().unwrap().0)));
            let stream = bounded(TcpStream::connect(address).unwrap());
            let mut stream = client.connect("localhost", stream).unwrap();
            let mut greeting = [0; 5];
            stream.read_exact(&mut greeting).unwrap();
            assert_eq!(&greeting, b"hello");
            server.join().unwrap();
            stream.ssl().current_cipher().unwrap().name().into()
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
