//! Options and values that several verbs share.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::ops::RangeBounds;
use core::time::Duration;
use std::net::ToSocketAddrs as _;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Command};
pub(crate) use tollgate::command_line::seconds;
use tollgate_load::duration;

pub(crate) use super::files::OutputFile;

/// The option for records.
#[derive(Args, Clone, Debug)]
pub(crate) struct Written {
    /// Write the records as JSON Lines to FILE, replacing it; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<OutputFile>,
}

/// Returns options with their declared default values, for a verb that runs another verb.
///
/// # Panics
///
/// If the declaration has a required option. Tests call this function for each type that is used.
pub(crate) fn defaults<T: Args>() -> T {
    let mut matches = T::augment_args(Command::new("defaults")).get_matches_from(["defaults"]);
    T::from_arg_matches_mut(&mut matches).expect("every option has a default")
}

/// Returns a parser for numbers in this range, with the error `why`.
pub(crate) fn within(
    range: impl RangeBounds<f64> + Clone + Send + Sync + 'static,
    why: &'static str,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| why.to_owned())
    }
}

/// Reads a time from a millisecond to a day.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let range = Duration::from_millis(1)..=Duration::from_secs(24 * 3600);
    let time = duration(text).filter(|time| range.contains(time));
    time.ok_or_else(|| "give a time from 1ms on, as in 500ms or 2s".to_owned())
}

/// Reads a share, such as 80% or 0.8.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    percentage(text).ok_or_else(|| "give a share from 0 to 1, or from 0% to 100%".to_owned())
}

/// Reads a share from 0 to 1, such as 80% or 0.8.
pub(crate) fn percentage(text: &str) -> Option<f64> {
    let (number, whole) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 100.0),
        None => (text, 1.0),
    };
    within(0.0..=whole, "")(number).ok().map(|share| share / whole)
}

/// Reads an address with its port, or a port of 127.0.0.1.
pub(crate) fn listens(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    let address = port.ok().or_else(|| socket_address(text));
    address.ok_or_else(|| "give IP:PORT, or a port of 127.0.0.1".to_owned())
}

/// Reads an address with its port. An IPv6 address has brackets, and may have a zone.
pub(crate) fn socket_address(text: &str) -> Option<SocketAddr> {
    // only the resolver knows the names of zones
    let with_zone = || {
        let (ip, port) = text.strip_prefix('[')?.split_once("]:")?;
        let _zone = ip.split_once('%')?;
        (ip, port.parse().ok()?).to_socket_addrs().ok()?.next()
    };
    text.parse().ok().or_else(with_zone)
}

/// Returns a parser for one of these words. Each word has a help text and a value.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    values: [(&'static str, &'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let words = values.map(|(word, help, _)| PossibleValue::new(word).help(help));
    PossibleValuesParser::new(words).map(move |text| {
        values.iter().find(|(word, ..)| *word == text).expect("one of the words").2
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_have_zones() {
        for text in ["[fe80::1%lo]:443", "[fe80::1%1]:443"] {
            let Some(SocketAddr::V6(address)) = socket_address(text) else { panic!("{text}") };
            assert_eq!((address.scope_id(), address.port()), (1, 443), "{text}");
        }
        assert_eq!(listens("[::1]:443"), Ok("[::1]:443".parse().unwrap()));
        for text in ["[fe80::1%lo]", "[fe80::1%]:443", "[::1%lo]:443", "fe80::1%lo:443", "h:443"] {
            assert_eq!(socket_address(text), None, "{text}");
        }
    }

    #[test]
    fn a_port_alone_is_one_of_loopback() {
        assert_eq!(listens("9100").unwrap(), "127.0.0.1:9100".parse().unwrap());
        assert_eq!(listens("[::1]:0").unwrap(), "[::1]:0".parse().unwrap());
        assert!(listens("somewhere").is_err() && listens("70000").is_err());
    }
}
