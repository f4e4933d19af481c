//! Stock TLS servers from packages on loopback, with and without the provider.
//!
//! [`Product::start`] writes a configuration into a folder of its own, starts the program as it
//! comes from Debian's package, and waits until it listens. The server, everything that it forked
//! and the folder are gone when [`Running`] is dropped, and also when this process is killed.
//!
//! Every server has the same settings: TLS 1.2 and 1.3, RSA key exchange, keys from 1,024 bits, no
//! session cache, one connection for one request, `/bytes/N` for each of [`Settings::bodies`].
//! Whether it signs with the provider is said by its `OPENSSL_CONF` and nothing else.
//!
//! The logs of nginx, HAProxy and Apache are written as `docs/bench-url.md` says, so that
//! [`tollgate_load::AccessLog`] reads them. A handshake that no request follows is in none.
#![forbid(unsafe_code)]

mod backend;
mod error;
mod folder;
mod group;
mod module;
mod openssl_conf;
mod port;
mod product;
mod running;
mod settings;

pub use error::Error;
pub use module::module;
pub use product::Product;
pub use running::Running;
pub use settings::Settings;
