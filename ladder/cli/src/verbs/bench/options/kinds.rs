//! Kinds of servers.

use clap::ValueEnum;
use tollgate_server::Engine;
use tollgate_stock_servers::Product;

/// Kinds of server; each but the one on `GnuTLS` runs with and without Tollgate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServerKind {
    /// Installed Apache, without and with the provider.
    Apache,
    /// Installed `gnutls-serv`, only with its own library.
    Gnutls,
    /// Installed HAProxy, without and with the provider.
    Haproxy,
    /// Installed lighttpd, without and with the provider.
    Lighttpd,
    /// Installed nginx, without and with the provider.
    Nginx,
    /// Event loops on OpenSSL, with its default provider and with Tollgate's.
    Openssl,
}

impl ServerKind {
    /// Returns the engines of the servers of this kind, the baseline first.
    pub(crate) const fn engines(self) -> &'static [Engine] {
        match self {
            Self::Gnutls => &[Engine::OpenSsl], // its own library, which no option names
            _ => &[Engine::OpenSsl, Engine::Tollgate],
        }
    }

    pub(crate) const fn stock(self) -> Option<Product> {
        match self {
            Self::Apache => Some(Product::Apache),
            Self::Gnutls => Some(Product::Gnutls),
            Self::Haproxy => Some(Product::Haproxy),
            Self::Lighttpd => Some(Product::Lighttpd),
            Self::Nginx => Some(Product::Nginx),
            Self::Openssl => None,
        }
    }
}
