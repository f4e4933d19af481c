//! Stock TLS servers from packages on loopback, with and without the provider.
//!
//! [`Product::start`] writes a configuration into a new folder, starts the program of Debian's
//! package, and waits until it listens. The server, its children and the folder are removed when
//! [`Running`] is dropped, and also when this process is killed.
//!
//! Every server but `gnutls-serv` has the same settings: TLS 1.2 and 1.3, RSA key exchange, keys
//! from 1,024 bits, no session cache, one connection for one request, `/bytes/N` for each of
//! [`Settings::bodies`]. Only its `OPENSSL_CONF` determines whether it signs with the provider.
//!
//! nginx, HAProxy, Apache and lighttpd write logs in the format of `docs/bench-url.md`, which
//! [`tollgate_load::AccessLog`] reads. None of these logs has handshakes without a request; the
//! output of `gnutls-serv`, which [`tollgate_load::Descriptions`] reads, has nothing else.

mod directives;
mod error;
mod folder;
mod group;
mod port;
mod product;
mod provider;
mod running;
mod settings;

pub use error::Error;
pub use product::Product;
pub use provider::module;
pub use running::Running;
pub use settings::Settings;
