//! TLS contexts that are made or used after libcrypto's cache of methods has changed, in one
//! process.

use core::ffi::{CStr, c_char, c_void};
use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use openssl::pkey::Id;
use openssl::ssl::{
    Ssl, SslContext, SslContextBuilder, SslFiletype, SslRef, SslStream, SslVerifyMode, SslVersion,
};

use crate::host::libcrypto::OSSL_LIB_CTX;
use crate::host::openssl_conf::Folder;
use crate::host::{Host, errors, pem, pem_path};

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
        let key = host.key(&pem("ec-p256.pem"));
        host.sign(&key, query, c"SHA256", &[], b"a message").unwrap();
        let server = Server::with_host(host, query, "ec-p256.pem", |context| {
            context.set_groups_list("P-256:P-384:P-521:X25519").unwrap();
        });
        exchange(&server, clients(&server, query));
        assert_eq!(server.host.counter("ecdsa-signatures"), 4, "{query:?}");
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
