//! Handshakes of a server whose `SSL_CTX` prefers the provider, like the embedded server, with a
//! client that does not use it. The counters show which provider signed and which one decrypted.
#![allow(non_camel_case_types, non_snake_case, clippy::upper_case_acronyms, reason = "C names")]

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr;
use core::time::Duration;
use std::ffi::CString;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;

use crate::host::libcrypto::OSSL_LIB_CTX;
use crate::host::openssl_conf::Folder;
use crate::host::{Host, PREFER, errors, pem_path};
use openssl::ssl::{SslConnector, SslMethod, SslVersion};

#[repr(C)]
struct SSL_CTX {
    _opaque: [u8; 0],
}

#[repr(C)]
struct SSL {
    _opaque: [u8; 0],
}

#[link(name = "ssl")]
unsafe extern "C" {
    fn TLS_server_method() -> *const c_void;
    fn SSL_CTX_new_ex(
        context: *mut OSSL_LIB_CTX,
        query: *const c_char,
        method: *const c_void,
    ) -> *mut SSL_CTX;
    fn SSL_CTX_free(context: *mut SSL_CTX);
    fn SSL_CTX_use_certificate_chain_file(context: *mut SSL_CTX, file: *const c_char) -> c_int;
    fn SSL_CTX_use_PrivateKey_file(
        context: *mut SSL_CTX,
        file: *const c_char,
        format: c_int,
    ) -> c_int;
    fn SSL_CTX_set_cipher_list(context: *mut SSL_CTX, list: *const c_char) -> c_int;
    fn SSL_CTX_ctrl(
        context: *mut SSL_CTX,
        command: c_int,
        number: c_long,
        pointer: *mut c_void,
    ) -> c_long;
    fn SSL_new(context: *mut SSL_CTX) -> *mut SSL;
    fn SSL_free(ssl: *mut SSL);
    fn SSL_set_fd(ssl: *mut SSL, fd: c_int) -> c_int;
    fn SSL_accept(ssl: *mut SSL) -> c_int;
    fn SSL_write(ssl: *mut SSL, bytes: *const c_void, len: c_int) -> c_int;
}

/// `SSL_FILETYPE_PEM` and `SSL_CTRL_SET_MIN_PROTO_VERSION` of `ssl.h`.
const PEM: c_int = 1;
const SET_MIN_PROTO_VERSION: c_int = 123;

/// A server with `default` and the provider, and its own certificate.
struct Server {
    host: Host,
    context: *mut SSL_CTX,
    folder: Folder,
}

// SAFETY: an `SSL_CTX` may be used by several threads.
unsafe impl Sync for Server {}

impl Server {
    fn new(key: &str) -> Self {
        let host = Host::builtin();
        let folder = Folder::new();
        let key = pem_path(key);
        folder.openssl(
            false,
            &format!("req -new -x509 -key {key} -subj /CN=localhost -days 1 -out cert.pem"),
        );
        let (cert, key) =
            (CString::new(folder.path("cert.pem")).unwrap(), CString::new(key).unwrap());
        // SAFETY: no arguments.
        let method = unsafe { TLS_server_method() };
        // SAFETY: a context, a string, a method.
        let context = unsafe { SSL_CTX_new_ex(host.context, PREFER.as_ptr(), method) };
        assert!(!context.is_null(), "{}", errors());
        // SAFETY: a context and a file name.
        let used = unsafe { SSL_CTX_use_certificate_chain_file(context, cert.as_ptr()) };
        assert_eq!(used, 1, "{}", errors());
        // SAFETY: a context and a file name.
        let used = unsafe { SSL_CTX_use_PrivateKey_file(context, key.as_ptr(), PEM) };
        assert_eq!(used, 1, "{}", errors());
        let ciphers: &CStr = c"ALL:@SECLEVEL=0";
        // SAFETY: a context and a string.
        let done = unsafe { SSL_CTX_set_cipher_list(context, ciphers.as_ptr()) };
        assert_eq!(done, 1);
        // SAFETY: a context; allows TLS 1.0 and later.
        unsafe { SSL_CTX_ctrl(context, SET_MIN_PROTO_VERSION, 0x0301, ptr::null_mut()) };
        Self { host, context, folder }
    }

    /// Accepts a connection: a handshake, and a greeting.
    fn serve(&self, stream: &TcpStream) {
        // SAFETY: a context.
        let ssl = unsafe { SSL_new(self.context) };
        // SAFETY: a connection and an open socket that outlives it.
        assert_eq!(unsafe { SSL_set_fd(ssl, stream.as_raw_fd()) }, 1);
        // SAFETY: a connection.
        let accepted = unsafe { SSL_accept(ssl) };
        assert_eq!(accepted, 1, "{}", errors());
        // SAFETY: a connection and five bytes.
        assert_eq!(unsafe { SSL_write(ssl, c"hello".as_ptr().cast(), 5) }, 5);
        // SAFETY: freed once.
        unsafe { SSL_free(ssl) };
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

impl Drop for Server {
    fn drop(&mut self) {
        // SAFETY: freed once, before its library context.
        unsafe { SSL_CTX_free(self.context) };
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
