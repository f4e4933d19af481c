//! Where the load goes, and whether it may.

use core::net::SocketAddr;

use crate::error::Error;

/// A server's address, checked: a flood of handshakes is an attack where nobody agreed to it, so
/// load goes to this machine only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    address: SocketAddr,
    server_name: Option<String>,
}

impl Target {
    /// The server that listens on `address`.
    ///
    /// # Errors
    ///
    /// [`Error::Consent`] for an address that is not a loopback address.
    ///
    /// ```
    /// use tollgate_load::Target;
    ///
    /// assert!(Target::new("127.0.0.1:4433".parse()?).is_ok());
    /// let refused = Target::new("192.0.2.1:443".parse()?).expect_err("somebody else's");
    /// assert!(refused.to_string().contains("loopback addresses only"));
    /// # Ok::<(), core::net::AddrParseError>(())
    /// ```
    pub fn new(address: SocketAddr) -> Result<Self, Error> {
        // An IPv4 address in IPv6 clothes (::ffff:127.0.0.1) is judged by what it is, and refused:
        // a dual-stack socket is not a loopback socket.
        if address.ip().is_loopback() {
            Ok(Self { address, server_name: None })
        } else {
            Err(Error::Consent(address))
        }
    }

    /// The same server, asked for by a name (SNI and `Host`).
    #[must_use]
    pub fn named(self, server_name: impl Into<String>) -> Self {
        Self { server_name: Some(server_name.into()), ..self }
    }

    /// Its address.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The name that it is asked for.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        self.server_name.as_deref()
    }
}

/// Where the transactions of a run go, by their kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Targets<'a> {
    pub(crate) secure: &'a Target,
    pub(crate) plain: &'a Target,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_a_target() {
        for good in ["127.0.0.1:1", "127.255.255.254:65535", "[::1]:443"] {
            Target::new(good.parse().unwrap()).unwrap();
        }
        let others = [
            "0.0.0.0:443",
            "10.0.0.1:443",
            "192.168.0.1:443",
            "126.255.255.255:443",
            "128.0.0.1:443",
            "[::]:443",
            "[::ffff:127.0.0.1]:443",
            "[fe80::1]:443",
        ];
        for other in others {
            let error = Target::new(other.parse().unwrap()).unwrap_err();
            assert!(matches!(error, Error::Consent(_)));
            let text = error.to_string();
            assert!(text.contains("loopback") && !text.contains('\n'), "{text}");
        }
    }
}
