//! Decides whether a server may be put under load.
//!
//! A flood of handshakes without consent is an attack. Servers on this machine and in private
//! networks need no consent. Any other server needs two permissions: the user names the host, and
//! the server itself serves a consent file at the address that gets the load.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use crate::messages::messages;

/// Path of the consent file.
pub const CONSENT_PATH: &str = "/.well-known/tollgate-consent";

/// Maximum size of the consent file, in bytes.
pub const CONSENT_BYTES_MAX: usize = 4096;

/// A consent may end at most this many days from now.
const DAYS_MAX: i64 = 366;

/// Metadata services of clouds. They answer with the secrets of machines and tasks. Their addresses
/// are link-local or unique local, but a test must never reach them.
const METADATA: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// The scope of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// This machine: 127.0.0.0/8, `::1`.
    Loopback,
    /// A private network: RFC 1918, unique local (`fc00::/7`) or link-local addresses.
    Private,
    /// A public address.
    Public,
    /// An address that no target may have: unspecified, multicast, broadcast, IPv4-mapped IPv6 (a
    /// dual-stack socket is not a loopback socket), and cloud metadata services.
    Nobody,
}

impl Reach {
    /// Classifies an address.
    #[must_use]
    pub fn new(ip: IpAddr) -> Self {
        match ip {
            _ if ip.is_unspecified() || ip.is_multicast() => Self::Nobody,
            _ if METADATA.contains(&ip) => Self::Nobody,
            _ if ip.is_loopback() => Self::Loopback,
            IpAddr::V4(ip) if ip.is_broadcast() => Self::Nobody,
            IpAddr::V4(ip) if ip.is_private() || ip.is_link_local() => Self::Private,
            IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some() => Self::Nobody,
            IpAddr::V6(ip) if ip.is_unique_local() || ip.is_unicast_link_local() => Self::Private,
            IpAddr::V4(_) | IpAddr::V6(_) => Self::Public,
        }
    }
}

messages! {
    /// The missing permission to put a server under load.
    #[derive(Clone, Debug, PartialEq, Eq)]
    Refusal {
        Unasked =>
            "it is neither loopback nor private: load on somebody else's server is an attack; if \
             you may test it, give --i-may-test with its host name, and let it serve {}",
            CONSENT_PATH;
        OtherHost { host: String, named: String } =>
            "--i-may-test names {named}, and the host is {host}: they must be the same";
        NoFile(why: String) =>
            "it does not consent: {}: {why}; its owner must put the file there, with the lines \
             'host: NAME' and 'until: YEAR-MONTH-DAY'", CONSENT_PATH;
        BadFile(why: String) => "it does not consent: {}: {why}", CONSENT_PATH;
        Nobody => "no server has such an address: give another one";
    }
}

/// Returns the end of the permission to load-test the server at `address` with the name `host`.
/// `None` means that the permission has no end. `named` is the host that the user allows to be
/// tested. `fetch` requests [`CONSENT_PATH`] from the address without following redirections. It is
/// not called if `named` is `None`.
pub(crate) fn consent(
    address: SocketAddr,
    host: &str,
    named: Option<&str>,
    fetch: &dyn Fn(SocketAddr) -> Result<String, String>,
    now: Timestamp,
) -> Result<Option<Timestamp>, Refusal> {
    match Reach::new(address.ip()) {
        Reach::Loopback | Reach::Private => return Ok(None),
        Reach::Nobody => return Err(Refusal::Nobody),
        Reach::Public => {}
    }
    let named = named.ok_or(Refusal::Unasked)?;
    // an absolute name has a dot at its end
    if !named.strip_suffix('.').unwrap_or(named).eq_ignore_ascii_case(host) {
        return Err(Refusal::OtherHost { host: host.to_owned(), named: named.to_owned() });
    }
    let file = fetch(address).map_err(Refusal::NoFile)?;
    until(&file, host, now).map(Some).map_err(Refusal::BadFile)
}

/// Returns the end of a consent file's permission for `host`.
fn until(file: &str, host: &str, now: Timestamp) -> Result<Timestamp, String> {
    if file.len() > CONSENT_BYTES_MAX {
        return Err(format!("the file is longer than {CONSENT_BYTES_MAX} bytes"));
    }
    let (mut is_host, mut end) = (false, None);
    for (number, line) in (1..).zip(file.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.split_once(':').map(|(name, value)| (name.trim(), value.trim())) {
            Some(("host", name)) => is_host |= name.eq_ignore_ascii_case(host),
            Some(("until", _)) if end.is_some() => {
                return Err(format!("line {number}: there is a second 'until'"));
            }
            Some(("until", date)) => {
                end = Some(
                    date.parse::<Date>()
                        .map_err(|_| format!("line {number}: not a date like 2030-12-31"))?,
                );
            }
            _ => return Err(format!("line {number}: neither 'host: NAME' nor 'until: DATE'")),
        }
    }
    if !is_host {
        return Err(format!("no line says 'host: {host}'"));
    }
    let date = end.ok_or("no line says 'until: DATE'")?;
    // the consent includes its last day
    let end = date.tomorrow().and_then(|next| next.to_zoned(TimeZone::UTC));
    let end = end.map_err(|_| format!("{date} is out of reach"))?.timestamp();
    if end <= now {
        return Err(format!("it ended with {date}: its owner must set a later day"));
    }
    let latest = now.checked_add((24 * DAYS_MAX).hours());
    if latest.is_ok_and(|latest| end > latest) {
        return Err(format!("{date} is more than a year ahead: its owner must set an earlier day"));
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    const PUBLIC: &str = "192.0.2.1:443";
    const GOOD: &str = "# ours\nhost: www.example.org\nuntil: 2026-12-31\n";

    fn now() -> Timestamp {
        "2026-11-22T08:00:00Z".parse().unwrap()
    }

    fn asked(
        address: &str,
        named: Option<&str>,
        file: Result<&str, &str>,
    ) -> (Result<Option<Timestamp>, Refusal>, u32) {
        let calls = Cell::new(0);
        let fetch = |at: SocketAddr| {
            calls.set(calls.get() + 1);
            assert_eq!(at, address.parse().unwrap(), "the address of the load is asked");
            file.map(str::to_owned).map_err(str::to_owned)
        };
        let address = address.parse().unwrap();
        let found = consent(address, "www.example.org", named, &fetch, now());
        (found, calls.get())
    }

    #[test]
    fn addresses_are_classified() {
        let each = [
            (Reach::Loopback, &["127.0.0.1", "127.255.255.254", "::1"][..]),
            (
                Reach::Private,
                &["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.0.1"],
            ),
            (Reach::Private, &["fc00::1", "fdff::1", "fe80::1", "febf::1"]),
            (
                Reach::Public,
                &["126.255.255.255", "128.0.0.1", "172.15.0.1", "172.32.0.1", "192.167.0.1"],
            ),
            (Reach::Public, &["100.64.0.1", "11.0.0.1", "9.255.255.255", "2001:db8::1", "fec0::1"]),
            (Reach::Nobody, &["0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255"]),
            (Reach::Nobody, &["::ffff:127.0.0.1", "::ffff:192.0.2.1", "169.254.169.254"]),
            (Reach::Nobody, &["169.254.170.2", "169.254.170.23", "fd00:ec2::254"]),
        ];
        for (reach, addresses) in each {
            for address in addresses {
                assert_eq!(Reach::new(address.parse().unwrap()), reach, "{address}");
            }
        }
    }

    #[test]
    fn without_permission_nothing_is_sent() {
        let (found, calls) = asked(PUBLIC, None, Ok(GOOD));
        assert_eq!((found, calls), (Err(Refusal::Unasked), 0));
        let (found, calls) = asked(PUBLIC, Some("example.org"), Ok(GOOD));
        assert!(matches!(found, Err(Refusal::OtherHost { .. })));
        assert_eq!(calls, 0);
        let (found, calls) = asked("0.0.0.0:443", Some("www.example.org"), Ok(GOOD));
        assert_eq!((found, calls), (Err(Refusal::Nobody), 0));
        for near in ["127.0.0.1:1", "10.1.2.3:443", "[fd00::1]:443"] {
            assert_eq!(asked(near, None, Ok(GOOD)), (Ok(None), 0), "{near}");
        }
    }

    #[test]
    fn the_server_agrees_by_name_and_for_a_time() {
        let end: Timestamp = "2027-01-01T00:00:00Z".parse().unwrap();
        for named in ["WWW.example.org", "www.example.org."] {
            let (found, calls) = asked(PUBLIC, Some(named), Ok(GOOD));
            assert_eq!((found, calls), (Ok(Some(end)), 1));
        }
        assert_eq!(
            asked(PUBLIC, Some("www.example.org"), Err("status 404")).0,
            Err(Refusal::NoFile("status 404".to_owned()))
        );
        for (file, why) in [
            ("", "no line says 'host"),
            ("host: example.org\nuntil: 2026-12-31", "no line says 'host"),
            ("host: www.example.org", "no line says 'until"),
            ("host: www.example.org\nuntil: tomorrow", "line 2"),
            ("host: www.example.org\nuntil: 2026-11-21", "later day"),
            ("host: www.example.org\nuntil: 2099-12-31", "a year ahead"),
            ("host: www.example.org\nuntil: 2026-12-01\nuntil: 2026-12-31", "second"),
            ("<html>\nwww.example.org\n</html>", "line 1"),
            (&"#".repeat(5000), "4096 bytes"),
        ] {
            let Err(refusal) = asked(PUBLIC, Some("www.example.org"), Ok(file)).0 else {
                panic!("{file} agrees")
            };
            let text = refusal.to_string();
            assert!(text.contains(why) && !text.contains('\n'), "{file}: {text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_files_do_not_panic(
            file in "(host: h.example\n)?(until: [0-9-]{0,12})?.{0,80}"
        ) {
            let _ = until(&file, "h.example", now());
        }
    }
}
