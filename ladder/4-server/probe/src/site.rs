//! A server that may be put under load, and its one address.

use core::net::SocketAddr;
use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};

use tollgate_load::{CONSENT_BYTES_MAX, CONSENT_PATH, Target};
use tollgate_tls_client::Suite;

use crate::blocking_client::BlockingClient;
use crate::body;
use crate::error::Error;
use crate::support::with_every_group;
use crate::url::{Scheme, Url};
use crate::wire::{CALL_TIMEOUT, Wire};

/// Resolves a host to its addresses.
pub type Resolve<'a> = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + 'a;

/// Returns the system's resolver.
///
/// # Errors
///
/// The resolver has no address for the host.
pub fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((host, port).to_socket_addrs()?.collect())
}

/// A server, its URL and its address.
#[derive(Clone, Debug)]
pub struct Site {
    url: Url,
    target: Target,
}

impl Site {
    /// Finds the server of a URL: the first of its addresses on which a server listens. `may_test`
    /// is the host that the user allows to be tested. A server outside this machine and private
    /// networks must be this host, and must itself consent. If one address of a name is refused,
    /// nothing is sent to any address of the name.
    ///
    /// # Errors
    ///
    /// The server may not be tested, has no address, or does not listen.
    pub fn find(url: &Url, may_test: Option<&str>, resolve: &Resolve<'_>) -> Result<Self, Error> {
        let addresses = match url.address() {
            Some(ip) => vec![SocketAddr::new(ip, url.port())],
            None => addresses(url, resolve)?,
        };
        // This check fetches no consent. A host without permission is refused before any packet is
        // sent.
        let silent = |_: SocketAddr| Err(String::new());
        for &address in &addresses {
            match Target::admit(address, &url.host(), may_test, &silent) {
                Err(tollgate_load::Error::Consent {
                    why: tollgate_load::Refusal::NoFile(_),
                    ..
                })
                | Ok(_) => {}
                Err(error) => return Err(Error::Consent(error)),
            }
        }
        let mut error = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in addresses {
            // consent is fetched only from an address that accepts connections
            if let Err(refused) = TcpStream::connect_timeout(&address, CALL_TIMEOUT) {
                error = refused;
                continue;
            }
            let fetch = |address| consent_file(url, address);
            let target = Target::admit(address, &url.host(), may_test, &fetch);
            let target = named(target.map_err(Error::Consent)?, url);
            return Ok(Self { url: url.clone(), target });
        }
        Err(Error::Unreachable { authority: url.authority(), error })
    }

    /// Returns the server's URL.
    #[must_use]
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the server's address, for the load.
    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.target
    }
}

/// Sets SNI and `Host` to the URL's name.
fn named(target: Target, url: &Url) -> Target {
    let target = target.with_host(url.authority());
    match url.name() {
        Some(name) => target.named(name),
        None => target,
    }
}

fn addresses(url: &Url, resolve: &Resolve<'_>) -> Result<Vec<SocketAddr>, Error> {
    let host = url.lookup_name();
    let unknown = |why: String| Error::Unknown { host: host.clone(), why };
    let found = resolve(&host, url.port()).map_err(|error| unknown(error.to_string()))?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(unknown("the resolver gave none".to_owned()));
    }
    Ok(addresses)
}

/// Fetches the consent file from this address with the scheme of the URL. A redirection is refused
/// like every other status but 200.
fn consent_file(url: &Url, address: SocketAddr) -> Result<String, String> {
    let host = url.authority();
    let answer = match url.scheme() {
        Scheme::Http => Wire::connect(&address)
            .and_then(|mut wire| body::get(&mut wire, &host, CONSENT_PATH, CONSENT_BYTES_MAX)),
        Scheme::Https => {
            let mut client = usual_client(url, address)?;
            body::get(&mut client, &host, CONSENT_PATH, CONSENT_BYTES_MAX)
        }
    };
    let answer = answer.map_err(|error| error.to_string())?;
    match answer.status {
        200 => String::from_utf8(answer.kept).map_err(|_| "it is not text".to_owned()),
        status => Err(format!("status {status}, not 200")),
    }
}

/// Connects with the first of the suites that servers usually have.
fn usual_client(url: &Url, address: SocketAddr) -> Result<BlockingClient, String> {
    let mut why = String::new();
    for suite in [
        Suite::TLS_AES_128_GCM_SHA256,
        Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        Suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        Suite::TLS_RSA_WITH_AES_128_GCM_SHA256,
    ] {
        match BlockingClient::connect(url, address, with_every_group(suite)) {
            Ok(client) => return Ok(client),
            Err(failed) => why = failed.why(),
        }
    }
    Err(why)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A documentation address (RFC 5737), which no host has.
    const PUBLIC: [u8; 4] = [192, 0, 2, 1];

    fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    fn find(url: &str, may_test: Option<&str>, all: &[SocketAddr]) -> Result<Site, Error> {
        Site::find(&url.parse().unwrap(), may_test, &|_, _| Ok(all.to_vec()))
    }

    #[test]
    fn a_name_with_one_refused_address_gets_no_packet() {
        let (listener, near) = listener();
        listener.set_nonblocking(true).unwrap();
        let far = SocketAddr::from((PUBLIC, near.port()));
        for all in [[near, far], [far, near]] {
            for may_test in [None, Some("example.com")] {
                let error = find("https://example.org/", may_test, &all).unwrap_err().to_string();
                assert!(error.contains("192.0.2.1"), "{error}");
            }
        }
        let error = find("https://example.org/", None, &[near, "[::]:1".parse().unwrap()]);
        assert!(error.unwrap_err().to_string().contains("no server"));
        assert!(listener.accept().is_err(), "no connection");
    }

    #[test]
    fn the_first_listening_address_is_used() {
        let (_listener, near) = listener();
        let (closed, nobody) = listener();
        drop(closed);
        let site = find("http://Name.example:81/x", None, &[nobody, near, near]).unwrap();
        assert_eq!(site.target().address(), near);
        assert_eq!(site.target().server_name(), Some("name.example"));
        assert_eq!(site.target().host(), "name.example:81");
        let error = find("http://name.example/", None, &[nobody]).unwrap_err().to_string();
        assert!(error.contains("nothing listens on name.example"), "{error}");
        assert!(matches!(find("http://name.example/", None, &[]), Err(Error::Unknown { .. })));
        let url = format!("http://{near}/");
        let site = Site::find(&url.parse().unwrap(), None, &|_, _| unreachable!("an address"));
        assert_eq!(site.unwrap().target().server_name(), None);
    }

    /// Serves one request with this answer; returns the consent found, and the request.
    fn served(answer: &'static str) -> (Result<String, String>, String) {
        let (listener, near) = listener();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut asked, mut chunk) = (Vec::new(), [0; 1024]);
            while !asked.ends_with(b"\r\n\r\n") {
                let count = stream.read(&mut chunk).unwrap();
                asked.extend_from_slice(&chunk[..count]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(asked).unwrap()
        });
        let url = format!("http://example.org:{}/path", near.port()).parse().unwrap();
        let found = consent_file(&url, near);
        (found, server.join().unwrap())
    }

    #[test]
    fn consent_is_fetched_from_the_address_and_never_elsewhere() {
        let (found, asked) = served("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhost:");
        assert_eq!(found.as_deref(), Ok("host:"));
        assert!(asked.starts_with("GET /.well-known/tollgate-consent HTTP/1.1\r\n"), "{asked}");
        assert!(asked.contains("Host: example.org:"), "{asked}");
        let elsewhere = concat!(
            "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1/.well-known/tollgate-consent\r\n",
            "Content-Length: 0\r\n\r\n"
        );
        assert_eq!(served(elsewhere).0, Err("status 301, not 200".to_owned()));
        let long = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n";
        assert!(served(long).0.is_err());
        assert!(served("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").0.is_err());
    }
}
