//! The server that gets the load, and its consent.

use core::net::SocketAddr;
use core::time::Duration;

use jiff::Timestamp;

use crate::consent::consent;
use crate::error::Error;
use crate::plan::Plan;

/// A server's address that may get load; constructing a target checks the consent.
#[derive(Clone, Debug)]
pub struct Target {
    address: SocketAddr,
    server_name: Option<String>,
    /// The value of `Host`, if it is not the name or the address.
    host: Option<String>,
    /// The maximum length of a TCP segment in bytes, if it is not the link's.
    pub(crate) segment_bytes: Option<u32>,
    /// The end of the server's consent, if it needs one.
    until: Option<Timestamp>,
}

impl Target {
    /// Returns the server that listens on `address`, on this machine or in a private network.
    ///
    /// # Errors
    ///
    /// [`Error::Consent`] for any other address.
    ///
    /// ```
    /// use tollgate_load::Target;
    ///
    /// assert!(Target::new("127.0.0.1:4433".parse()?).is_ok());
    /// let refused = Target::new("192.0.2.1:443".parse()?).expect_err("somebody else's");
    /// assert!(refused.to_string().contains("neither loopback nor private"));
    /// # Ok::<(), core::net::AddrParseError>(())
    /// ```
    pub fn new(address: SocketAddr) -> Result<Self, Error> {
        Self::admit(address, "", None, &|_| Err("it was not requested".to_owned()))
    }

    /// Returns the server at `address` with the name `host`, on any network.
    ///
    /// Outside this machine and private networks the user must name the host (`may_test`), and the
    /// server must consent: `fetch` requests [`CONSENT_PATH`](crate::CONSENT_PATH) from this
    /// address with the name `host`, without following redirections. It is not called unless the
    /// user has named the host.
    ///
    /// # Errors
    ///
    /// [`Error::Consent`] with the missing permission.
    pub fn admit(
        address: SocketAddr,
        host: &str,
        may_test: Option<&str>,
        fetch: &dyn Fn(SocketAddr) -> Result<String, String>,
    ) -> Result<Self, Error> {
        match consent(address, host, may_test, fetch, Timestamp::now()) {
            Ok(until) => {
                Ok(Self { address, server_name: None, host: None, segment_bytes: None, until })
            }
            Err(why) => Err(Error::Consent { address, why }),
        }
    }

    /// Sets the server name (SNI and `Host`).
    #[must_use]
    pub fn named(self, server_name: impl Into<String>) -> Self {
        Self { server_name: Some(server_name.into()), ..self }
    }

    /// Sets the value of `Host`.
    #[must_use]
    pub fn with_host(self, host: impl Into<String>) -> Self {
        Self { host: Some(host.into()), ..self }
    }

    /// Sets the maximum length of the TCP segments of both sides in bytes, TCP options included:
    /// 1460 is that of Ethernet. The system refuses less than 88 and more than 32767 when a run
    /// begins.
    #[must_use]
    pub fn with_segment_bytes(self, bytes: u32) -> Self {
        Self { segment_bytes: Some(bytes), ..self }
    }

    /// Returns the server's address.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the server name.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        self.server_name.as_deref()
    }

    /// Returns the end of the server's consent, if the server needs one.
    #[must_use]
    pub fn consent_until(&self) -> Option<String> {
        self.until.map(|until| until.to_string())
    }

    /// Returns the value of `Host`.
    #[must_use]
    pub fn host(&self) -> String {
        let name = self.host.as_ref().or(self.server_name.as_ref());
        name.map_or_else(|| self.address.to_string(), String::clone)
    }

    /// Checks that the server's consent lasts for a run of the plan that begins now.
    ///
    /// # Errors
    ///
    /// [`Error::ConsentEnds`].
    pub fn lasts(&self, plan: &Plan) -> Result<(), Error> {
        // one phase for the first transaction alone, and one for the end of transactions in flight
        let around = plan.phase_ms_max.saturating_mul(2);
        let run = plan.warm_up_ms.saturating_add(plan.sustain_ms).saturating_add(around);
        let run = Duration::from_millis(run);
        match self.until {
            Some(until) if Timestamp::now().checked_add(run).is_ok_and(|end| end > until) => {
                Err(Error::ConsentEnds { address: self.address, until: until.to_string() })
            }
            _ => Ok(()),
        }
    }
}

/// The targets of a run, by kind of transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Targets<'a> {
    pub(crate) secure: &'a Target,
    pub(crate) plain: &'a Target,
}

impl<'a> Targets<'a> {
    /// Selects the targets. Without a target for plain transactions, all transactions have the same
    /// target.
    pub(crate) fn new(secure: &'a Target, plain: Option<&'a Target>) -> Self {
        Self { secure, plain: plain.unwrap_or(secure) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::Protocol;

    #[test]
    fn only_near_servers_are_targets_without_consent() {
        for good in ["127.0.0.1:1", "127.255.255.254:65535", "[::1]:443", "10.0.0.1:443"] {
            Target::new(good.parse().unwrap()).unwrap();
        }
        for other in ["0.0.0.0:443", "128.0.0.1:443", "[::]:443", "[::ffff:127.0.0.1]:443"] {
            let error = Target::new(other.parse().unwrap()).unwrap_err();
            assert!(matches!(error, Error::Consent { .. }));
            let text = error.to_string();
            assert!(text.starts_with(other) && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn a_consent_must_last_for_the_run() {
        let plan = Plan::new(Protocol::Tls13);
        let near = Target::new("127.0.0.1:1".parse().unwrap()).unwrap();
        near.lasts(&plan).unwrap();
        let ends = |seconds: u64| Target {
            until: Some(Timestamp::now() + Duration::from_secs(seconds)),
            ..near.clone()
        };
        ends(3600).lasts(&plan).unwrap();
        let error = ends(3).lasts(&plan).unwrap_err().to_string();
        assert!(error.contains("consent ends"), "{error}");
    }

    #[test]
    fn requests_have_the_host() {
        let target = Target::new("127.0.0.1:81".parse().unwrap()).unwrap();
        assert_eq!(target.host(), "127.0.0.1:81");
        let named = target.named("localhost");
        assert_eq!(named.host(), "localhost");
        assert_eq!(named.with_host("localhost:81").host(), "localhost:81");
    }
}
