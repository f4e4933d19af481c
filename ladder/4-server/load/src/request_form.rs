//! Method, header fields and body of requests.

use core::fmt;
use std::io::Write as _;

use serde::de::Error as _;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Method, header fields and body of each request of a plan. The default is `GET` without
/// additional header fields and without a body.
///
/// Values of header fields and bodies may be secret. `Debug` and the JSON therefore have only the
/// names of the fields and the length of the body. A plan with own fields or a body cannot be read
/// back from its JSON.
#[derive(Clone, PartialEq, Eq)]
pub struct RequestForm {
    method: String,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Default for RequestForm {
    fn default() -> Self {
        Self { method: "GET".to_owned(), fields: Vec::new(), body: Vec::new() }
    }
}

/// Header fields that the load generator sets, or that change how messages end.
const OWN_FIELDS: [&str; 7] =
    ["host", "connection", "content-length", "transfer-encoding", "te", "expect", "upgrade"];

impl RequestForm {
    /// Maximum length of a body, in bytes.
    pub const BODY_BYTES_MAX: usize = 1 << 20;
    /// Maximum length of all header fields together, in bytes.
    pub const FIELD_BYTES_MAX: usize = 8 * 1024;

    /// Sets the method.
    ///
    /// # Errors
    ///
    /// The method is no token of RFC 9110, is longer than 32 bytes, or its responses have no body.
    pub fn with_method(self, method: &str) -> Result<Self, &'static str> {
        if !is_token(method) || method.len() > 32 {
            return Err("give a method, such as POST");
        }
        if ["HEAD", "CONNECT"].contains(&method) {
            return Err("the response to HEAD and CONNECT has no body, which runs check");
        }
        Ok(Self { method: method.to_owned(), ..self })
    }

    /// Adds a header field, as in `Accept: text/html`.
    ///
    /// # Errors
    ///
    /// The name is no token, the value has bytes that are not visible ASCII, space or tab, the
    /// fields are too long, or the load generator sets this field.
    pub fn with_field(mut self, field: &str) -> Result<Self, &'static str> {
        let (name, value) = field.split_once(':').ok_or("give NAME: VALUE")?;
        if !is_token(name) {
            return Err("a name has letters, digits and !#$%&'*+-.^_`|~, and no space");
        }
        if OWN_FIELDS.iter().any(|field| name.eq_ignore_ascii_case(field)) {
            return Err(
                "the client sets Host, Connection, Content-Length, Transfer-Encoding, TE, \
                        Expect and Upgrade itself: leave it out",
            );
        }
        if !value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
            return Err("a value is visible ASCII, spaces and tabs, in one line");
        }
        self.fields.push((name.to_owned(), value.trim().to_owned()));
        let bytes: usize = self.fields.iter().map(|(name, value)| name.len() + value.len()).sum();
        if bytes > Self::FIELD_BYTES_MAX {
            Err("give at most 8 KiB of header fields")
        } else {
            Ok(self)
        }
    }

    /// Sets the body.
    ///
    /// # Errors
    ///
    /// The body is longer than [`Self::BODY_BYTES_MAX`].
    pub fn with_body(self, body: Vec<u8>) -> Result<Self, &'static str> {
        if body.len() > Self::BODY_BYTES_MAX {
            return Err("a body has at most 1 MiB");
        }
        Ok(Self { body, ..self })
    }

    /// Returns whether requests are `GET` without additional header fields and without a body.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether a request may be early data, which an attacker can replay.
    pub(crate) fn may_be_early(&self) -> bool {
        self.method == "GET" && self.body.is_empty()
    }

    /// Returns the method.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Appends a request; the last one of a connection has `Connection: close`.
    ///
    /// # Panics
    ///
    /// Never: writing to memory does not fail.
    pub fn write(&self, to: &mut Vec<u8>, path: fmt::Arguments<'_>, host: &str, is_last: bool) {
        let failed = "writing to memory does not fail";
        let Self { method, fields, body } = self;
        write!(to, "{method} {path} HTTP/1.1\r\nHost: {host}\r\n").expect(failed);
        for (name, value) in fields {
            write!(to, "{name}: {value}\r\n").expect(failed);
        }
        // RFC 9110 §8.6: these methods give a body a meaning, so they need `Content-Length` even
        // without a body
        if !body.is_empty() || ["POST", "PUT", "PATCH"].contains(&method.as_str()) {
            write!(to, "Content-Length: {}\r\n", body.len()).expect(failed);
        }
        to.extend_from_slice(if is_last { b"Connection: close\r\n\r\n" } else { b"\r\n" });
        to.extend_from_slice(body);
    }

    fn names(&self) -> Vec<&str> {
        self.fields.iter().map(|(name, _)| name.as_str()).collect()
    }
}

/// Returns whether a text is a token (RFC 9110 §5.6.2).
fn is_token(text: &str) -> bool {
    let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_of_token)
}

impl fmt::Display for RequestForm {
    /// `POST with header fields Accept, Authorization and a body of 17 bytes`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.method)?;
        if !self.fields.is_empty() {
            write!(f, " with header fields {}", self.names().join(", "))?;
        }
        match (self.body.len(), self.fields.is_empty()) {
            (0, _) => Ok(()),
            (bytes, true) => write!(f, " with a body of {bytes} bytes"),
            (bytes, false) => write!(f, " and a body of {bytes} bytes"),
        }
    }
}

impl fmt::Debug for RequestForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestForm({self})")
    }
}

impl Serialize for RequestForm {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut object = to.serialize_struct("RequestForm", 3)?;
        object.serialize_field("method", &self.method)?;
        object.serialize_field("header_fields", &self.names())?;
        object.serialize_field("body_bytes", &self.body.len())?;
        object.end()
    }
}

impl<'de> Deserialize<'de> for RequestForm {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom("values of header fields and bodies are not kept in a plan's JSON"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(form: &RequestForm, is_last: bool) -> String {
        let mut out = Vec::new();
        form.write(&mut out, format_args!("/bytes/14336"), "127.0.0.1", is_last);
        String::from_utf8(out).unwrap()
    }

    fn posted() -> RequestForm {
        let form = RequestForm::default().with_method("POST").unwrap();
        let form = form.with_field("Authorization:  Bearer secret ").unwrap();
        form.with_body(b"a=1".to_vec()).unwrap()
    }

    #[test]
    fn requests_have_the_expected_text() {
        let usual = RequestForm::default();
        let last = "GET /bytes/14336 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
        assert_eq!(text(&usual, true), last);
        assert_eq!(text(&usual, false), last.replace("Connection: close\r\n", ""));
        let expected = "POST /bytes/14336 HTTP/1.1\r\nHost: 127.0.0.1\r\n\
                        Authorization: Bearer secret\r\nContent-Length: 3\r\n\r\na=1";
        assert_eq!(text(&posted(), false), expected);
        assert!(usual.is_default() && usual.may_be_early());
        assert!(!posted().is_default() && !posted().may_be_early());
    }

    #[test]
    fn hostile_methods_and_fields_are_refused() {
        let form = RequestForm::default;
        for method in ["", "GET /", "GET\r\n", "P\u{d6}ST", "HEAD", "CONNECT", &"A".repeat(33)] {
            form().with_method(method).unwrap_err();
        }
        for field in [
            "Accept",
            ": x",
            "Accept : x",
            " Accept: x",
            "A\r\nB: x",
            "Accept: x\r\nHost: y",
            "Accept: x\ny",
            "Accept: x\0",
            "Accept: \u{e4}",
            "Host: other.example",
            "HOST:other.example",
            "Content-Length: 5",
            "Transfer-Encoding: chunked",
            "connection: close",
        ] {
            form().with_field(field).unwrap_err();
        }
        let long = format!("X: {}", "x".repeat(RequestForm::FIELD_BYTES_MAX));
        form().with_field(&long).unwrap_err();
        form().with_body(vec![0; RequestForm::BODY_BYTES_MAX + 1]).unwrap_err();
    }

    #[test]
    fn values_are_never_printed() {
        let form = posted();
        let json = serde_json::to_string(&form).unwrap();
        let expected = r#"{"method":"POST","header_fields":["Authorization"],"body_bytes":3}"#;
        assert_eq!(json, expected);
        let shown = format!("{form:?} {form}");
        assert!(!shown.contains("secret") && shown.contains("and a body of 3 bytes"), "{shown}");
        let error = serde_json::from_str::<RequestForm>(&json).unwrap_err().to_string();
        assert!(error.contains("not kept"), "{error}");
    }
}
