//! Header fields of requests and responses.

use httparse::Header;

/// The maximum number of header fields in a head.
pub(super) const FIELDS_MAX: usize = 64;

/// The longest value of a field in the access log, in bytes.
const LOGGED_BYTES_MAX: usize = 256;

pub(super) fn is(field: &Header<'_>, name: &str) -> bool {
    field.name.eq_ignore_ascii_case(name)
}

/// Returns the value of a field for the access log: its first 256 bytes, with replacement characters
/// for what is not UTF-8.
pub(super) fn loggable(value: &[u8]) -> String {
    String::from_utf8_lossy(&value[..value.len().min(LOGGED_BYTES_MAX)]).into_owned()
}

/// Returns the value of `Referer` for the access log, without its query.
pub(super) fn referer(value: &[u8]) -> String {
    let end = value.iter().position(|byte| b"?#".contains(byte)).unwrap_or(value.len());
    loggable(&value[..end])
}

/// Returns the options of the `Connection` fields.
pub(super) fn options<'a>(fields: &'a [Header<'a>]) -> impl Iterator<Item = &'a [u8]> {
    let lists = fields.iter().filter(|field| is(field, "connection"));
    lists.flat_map(|field| field.value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii))
}

/// Returns whether the sender wants another protocol on this connection, RFC 9110 §7.8.
pub(super) fn wants_upgrade(fields: &[Header<'_>]) -> bool {
    options(fields).any(|option| option.eq_ignore_ascii_case(b"upgrade"))
        && fields.iter().any(|field| is(field, "upgrade"))
}
