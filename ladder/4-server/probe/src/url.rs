//! URLs: scheme, host, port, path.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr};
use core::str::FromStr;

const PATH_BYTES_MAX: usize = 1024;

tollgate_load::words! {
    /// The scheme: with or without TLS.
    Scheme {
        /// HTTP without TLS.
        Http = "http",
        /// HTTP over TLS.
        Https = "https",
    }
}

impl Scheme {
    const fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// A URL of a server: `https://HOST[:PORT][/PATH]`.
///
/// ```
/// use tollgate_probe::Url;
///
/// let url: Url = "https://Example.org".parse()?;
/// assert_eq!(url.to_string(), "https://example.org/");
/// assert_eq!((url.port(), url.authority()), (443, "example.org".to_owned()));
/// assert_eq!("https://[::1]:8443/a".parse::<Url>()?.authority(), "[::1]:8443");
/// // the dot of an absolute name is not sent to the server
/// assert_eq!("https://localhost./".parse::<Url>()?.authority(), "localhost");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    scheme: Scheme,
    host: Host,
    port: u16,
    path: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Address(IpAddr),
    /// An absolute name had a dot at its end: the resolver appends no domain.
    Name {
        name: String,
        is_absolute: bool,
    },
}

impl Url {
    /// Returns the scheme: with or without TLS.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns the host: a lower-case name without a dot at its end, or an address without its
    /// brackets.
    #[must_use]
    pub fn host(&self) -> String {
        match &self.host {
            Host::Address(ip) => ip.to_string(),
            Host::Name { name, .. } => name.clone(),
        }
    }

    /// Returns the host for the resolver, with the dot of an absolute name.
    #[must_use]
    pub fn lookup_name(&self) -> String {
        match &self.host {
            Host::Name { name, is_absolute: true } => format!("{name}."),
            _ => self.host(),
        }
    }

    /// Returns the host's name without a dot at its end; `None` if it is an address.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.host {
            Host::Address(_) => None,
            Host::Name { name, .. } => Some(name),
        }
    }

    /// Returns the host's address; `None` if it is a name.
    #[must_use]
    pub const fn address(&self) -> Option<IpAddr> {
        match &self.host {
            Host::Address(ip) => Some(*ip),
            Host::Name { .. } => None,
        }
    }

    /// Returns the port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns path and query, as a request has them.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the value of `Host`, which includes the port only if the port is not the scheme's
    /// default. It has no dot at the end of a name.
    #[must_use]
    pub fn authority(&self) -> String {
        self.with_port(self.host())
    }

    fn with_port(&self, host: String) -> String {
        let host = match &self.host {
            Host::Address(IpAddr::V6(_)) => format!("[{host}]"),
            _ => host,
        };
        if self.port == self.scheme.port() { host } else { format!("{host}:{}", self.port) }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.with_port(self.lookup_name()), self.path)
    }
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        read(text).map_err(|why| format!("{why}: give a URL as https://HOST[:PORT]/PATH"))
    }
}

fn read(text: &str) -> Result<Url, &'static str> {
    let (scheme, rest) = text.split_once("://").ok_or("there is no scheme")?;
    let known = |known: &Scheme| scheme.eq_ignore_ascii_case(known.word());
    let scheme = Scheme::ALL.into_iter().find(known);
    let scheme = scheme.ok_or("the scheme is neither http nor https")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return Err("user names and passwords are not supported");
    }
    let (host, port) = split(authority)?;
    let port = match port {
        None => scheme.port(),
        Some(port) => number(port).ok_or("the port is not a number from 1 to 65535")?,
    };
    Ok(Url { scheme, host, port, path: path_of(path)? })
}

/// Returns the host and port of an authority.
fn split(authority: &str) -> Result<(Host, Option<&str>), &'static str> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (ip, rest) = rest.split_once(']').ok_or("a bracket is not closed")?;
        let ip: Ipv6Addr = ip.parse().map_err(|_| "the brackets hold no IPv6 address")?;
        let port = match rest {
            "" => None,
            rest => Some(rest.strip_prefix(':').ok_or("no port follows the brackets")?),
        };
        return Ok((Host::Address(ip.into()), port));
    }
    let (host, port) = match authority.split_once(':') {
        None => (authority, None),
        Some((_, port)) if port.contains(':') => {
            return Err("an IPv6 address needs brackets");
        }
        Some((host, port)) => (host, Some(port)),
    };
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok((Host::Address(ip), port));
    }
    let (host, is_absolute) = match host.strip_suffix('.') {
        Some(host) => (host, true),
        None => (host, false),
    };
    let is_name = host.len() <= 253 && host.split('.').all(is_label);
    // resolvers read these as addresses in an old form: 127.1, 0x7f000001
    let is_number = host.rsplit('.').next().is_some_and(|last| last.starts_with(is_digit));
    if !is_name || is_number {
        return Err("the host is neither a DNS name in ASCII nor an address");
    }
    let name = host.to_ascii_lowercase();
    // /etc/hosts has this name without a dot, and no domain is appended to it (RFC 6761 §6.3)
    let is_absolute = is_absolute && name != "localhost";
    Ok((Host::Name { name, is_absolute }, port))
}

const fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn is_label(label: &str) -> bool {
    let is_visible = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=63).contains(&label.len()) && label.bytes().all(is_visible)
}

fn number(port: &str) -> Option<u16> {
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    port.parse().ok().filter(|&port: &u16| digits && port > 0)
}

fn path_of(text: &str) -> Result<String, &'static str> {
    if text.contains('#') {
        return Err("a fragment (#) is never sent");
    }
    // a query without a path belongs to the root
    let path = if text.starts_with('/') { text.to_owned() } else { format!("/{text}") };
    if path.len() > PATH_BYTES_MAX || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("a path is visible ASCII of at most 1024 characters");
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap_or_else(|bad| panic!("{text}: {bad}"))
    }

    #[test]
    fn urls_are_parsed() {
        let whole = url("HTTPS://Www.Example.org:8443/a/b?c=d&e");
        assert_eq!((whole.scheme(), whole.port()), (Scheme::Https, 8443));
        assert_eq!((whole.name(), whole.path()), (Some("www.example.org"), "/a/b?c=d&e"));
        assert_eq!(whole.authority(), "www.example.org:8443");
        assert_eq!(url("http://h").to_string(), "http://h/");
        assert_eq!(url("http://h:443?q").to_string(), "http://h:443/?q");
        assert_eq!(url("http://127.0.0.1/").address(), Some([127, 0, 0, 1].into()));
        let six = url("https://[::1]");
        assert_eq!((six.host(), six.authority(), six.port()), ("::1".into(), "[::1]".into(), 443));
        for text in ["https://example.org/", "http://[2001:db8::1]:81/x"] {
            assert_eq!(url(&url(text).to_string()), url(text));
        }
    }

    #[test]
    fn absolute_names_are_for_the_resolver_alone() {
        for (text, lookup_name, host, whole) in [
            ("https://LocalHost./", "localhost", "localhost", "https://localhost/"),
            ("https://h./", "h.", "h", "https://h./"),
            ("https://a.b.:81/", "a.b.", "a.b:81", "https://a.b.:81/"),
        ] {
            let url = url(text);
            assert_eq!((url.lookup_name().as_str(), url.authority().as_str()), (lookup_name, host));
            assert_eq!(url.to_string(), whole);
            assert!(url.name().is_none_or(|name| !name.ends_with('.')), "{text}");
        }
    }

    #[test]
    fn invalid_urls_say_what_is_wrong() {
        for (text, why) in [
            ("127.0.0.1:8443", "no scheme"),
            ("ftp://h/", "neither http nor https"),
            ("https://", "neither a DNS name"),
            ("https://user:secret@h/", "passwords"),
            ("https://h:0/", "1 to 65535"),
            ("https://h:+1/", "1 to 65535"),
            ("https://h:65536/", "1 to 65535"),
            ("https://h:/", "1 to 65535"),
            ("https://::1/", "needs brackets"),
            ("https://[::1/", "not closed"),
            ("https://[::1]8/", "follows the brackets"),
            ("https://[h]/", "no IPv6"),
            ("https://a..b/", "neither a DNS name"),
            ("https://h../", "neither a DNS name"),
            ("https://./", "neither a DNS name"),
            ("https://127.0.0.1./", "neither a DNS name"),
            ("https://[fe80::1%eth0]/", "no IPv6"),
            ("https://ä.example/", "neither a DNS name"),
            ("https://127.1/", "neither a DNS name"),
            ("https://0x7f000001/", "neither a DNS name"),
            ("https://2130706433/", "neither a DNS name"),
            ("https://h/a b", "visible ASCII"),
            ("https://h/a\r\nX: y", "visible ASCII"),
            ("https://h/#top", "fragment"),
            (&format!("https://h/{}", "x".repeat(1024)), "1024"),
        ] {
            let message = text.parse::<Url>().unwrap_err();
            assert!(message.contains(why) && !message.contains('\n'), "{text}: {message}");
        }
    }
}
