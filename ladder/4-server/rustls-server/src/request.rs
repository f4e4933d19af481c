//! Parses requests; only `GET /bytes/N` has a body.

use tollgate_server::BODY_BYTES_MAX;

pub(crate) const HEAD_BYTES_MAX: usize = 8 * 1024;
const FIELDS_MAX: usize = 64;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The length of the body in bytes; `None` if the target does not exist.
    pub(crate) body_bytes: Option<u64>,
    pub(crate) head_bytes: usize,
}

impl Request {
    /// Parses a head; `Ok(None)` if it is incomplete.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Self>, httparse::Error> {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut request = httparse::Request::new(&mut fields);
        match request.parse(bytes)? {
            httparse::Status::Complete(head_bytes) => {
                let target = request.path.filter(|_| request.method == Some("GET"));
                Ok(Some(Self { body_bytes: target.and_then(length), head_bytes }))
            }
            httparse::Status::Partial if bytes.len() >= HEAD_BYTES_MAX => {
                Err(httparse::Error::TooManyHeaders)
            }
            httparse::Status::Partial => Ok(None),
        }
    }
}

fn length(target: &str) -> Option<u64> {
    let length = target.strip_prefix("/bytes/")?.parse().ok()?;
    (length <= BODY_BYTES_MAX).then_some(length)
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn incomplete_heads_are_not_parsed() {
        let head = b"GET /bytes/14336 HTTP/1.1\r\nHost: x\r\n\r\n";
        let whole = Request { body_bytes: Some(14_336), head_bytes: head.len() };
        assert_eq!(Request::parse(head), Ok(Some(whole)));
        assert_eq!(Request::parse(&[&head[..], b"GET"].concat()), Ok(Some(whole)));
        for end in 0..head.len() {
            assert_eq!(Request::parse(&head[..end]), Ok(None));
        }
        let none = |head: &[u8]| Request::parse(head).unwrap().unwrap().body_bytes;
        assert_eq!(none(b"GET / HTTP/1.1\r\n\r\n"), None);
        assert_eq!(none(b"POST /bytes/1 HTTP/1.1\r\n\r\n"), None);
        assert_eq!(none(b"GET /bytes/-1 HTTP/1.1\r\n\r\n"), None);
        let more = format!("GET /bytes/{} HTTP/1.1\r\n\r\n", BODY_BYTES_MAX + 1);
        assert_eq!(none(more.as_bytes()), None);
        assert!(Request::parse(b"\0\0\0\0").is_err());
        let long = [&b"GET /"[..], &[b'x'; HEAD_BYTES_MAX]].concat();
        assert!(Request::parse(&long).is_err());
    }
}
