//! Header fields of requests and responses.

use httparse::Header;

/// The maximum number of header fields in a head.
pub(super) const FIELDS_MAX: usize = 64;

/// The longest text of a client in the access log, in bytes.
const LOGGED_BYTES_MAX: usize = 256;

pub(super) fn is(field: &Header<'_>, name: &str) -> bool {
    field.name.eq_ignore_ascii_case(name)
}

/// Returns a text of a client for the access log: of its first 256 bytes, those that are not UTF-8,
/// and characters that command a terminal, are replaced.
pub(super) fn loggable(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(LOGGED_BYTES_MAX)]);
    text.replace(char::is_control, "\u{fffd}")
}

/// Returns a target or a page for the access log, without its query.
pub(crate) fn loggable_path(text: &[u8]) -> String {
    let end = text.iter().position(|byte| b"?#".contains(byte)).unwrap_or(text.len());
    loggable(&text[..end])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_the_log_are_cut_and_command_no_terminal() {
        assert_eq!(loggable(b"a\x1b[1m\xc2\x9b\xff\xc3\xa9"), "a\u{fffd}[1m\u{fffd}\u{fffd}\u{e9}");
        assert_eq!(loggable(&[b'x'; 300]), "x".repeat(256));
        for text in ["/a", "/a?secret", "/a#part?secret"] {
            assert_eq!(loggable_path(text.as_bytes()), "/a");
        }
    }
}
