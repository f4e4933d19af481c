//! A slow and strict reading of HTTP/1.1 by the grammar of RFC 9112. A message that it accepts can
//! be read in one way only.

/// Bytes that no message begins with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Invalid;

/// A whole message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// The words of the first line; the third may contain spaces.
    pub(crate) start: [&'a [u8]; 3],
    pub(crate) fields: Vec<Field<'a>>,
    pub(crate) body: Vec<u8>,
    pub(crate) bytes: usize,
}

/// A name and a value.
pub(crate) type Field<'a> = (&'a [u8], &'a [u8]);

impl Message<'_> {
    /// Returns the values of a field.
    pub(crate) fn values(&self, name: &str) -> Vec<&[u8]> {
        values(&self.fields, name)
    }
}

fn values<'a>(fields: &[Field<'a>], name: &str) -> Vec<&'a [u8]> {
    let named = fields.iter().filter(|(it, _)| it.eq_ignore_ascii_case(name.as_bytes()));
    named.map(|(_, value)| *value).collect()
}

/// The end of a body whose head does not tell it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Otherwise {
    /// There is none.
    Empty,
    /// All bytes.
    All,
}

/// Reads the message at the start of `bytes`. `ignored` says that there is no body whatever the head
/// tells. Returns `None` if it is incomplete.
pub(crate) fn read(
    bytes: &[u8],
    ignored: bool,
    otherwise: Otherwise,
) -> Result<Option<Message<'_>>, Invalid> {
    let mut rest = bytes;
    let Some(start) = line(&mut rest)? else { return Ok(None) };
    let mut words = start.splitn(3, |byte| *byte == b' ');
    let mut word = || words.next().filter(|word| word.iter().all(u8::is_ascii_graphic));
    let (first, second) = (word().ok_or(Invalid)?, word().ok_or(Invalid)?);
    let third = words.next().ok_or(Invalid)?;
    let Some(fields) = fields(&mut rest)? else { return Ok(None) };
    let lengths = values(&fields, "content-length");
    let codings = values(&fields, "transfer-encoding");
    let body = match (&lengths[..], &codings[..]) {
        _ if ignored => Some(Vec::new()),
        ([], []) if otherwise == Otherwise::Empty => Some(Vec::new()),
        ([], []) => Some(core::mem::take(&mut rest).to_vec()),
        ([length], []) => {
            let text = str::from_utf8(length).map_err(|_| Invalid)?;
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let length: u64 = text.parse().ok().filter(|_| is_number).ok_or(Invalid)?;
            let body =
                usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
            body.map(|(body, after)| {
                rest = after;
                body.to_vec()
            })
        }
        ([], [coding]) if coding.to_ascii_lowercase().ends_with(b"chunked") => chunks(&mut rest)?,
        _ => return Err(Invalid),
    };
    let message = |body| Message {
        start: [first, second, third],
        fields,
        body,
        bytes: bytes.len() - rest.len(),
    };
    Ok(body.map(message))
}

/// Takes a line, without its end.
fn line<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, Invalid> {
    let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
        // a carriage return may be the last byte only
        let before = rest.strip_suffix(b"\r").unwrap_or(rest);
        return if before.iter().all(|byte| is_text(*byte)) { Ok(None) } else { Err(Invalid) };
    };
    let line = rest[..end].strip_suffix(b"\r").ok_or(Invalid)?;
    *rest = &rest[end + 1..];
    if line.iter().all(|byte| is_text(*byte)) { Ok(Some(line)) } else { Err(Invalid) }
}

/// Takes lines with fields, and the empty line after them.
fn fields<'a>(rest: &mut &'a [u8]) -> Result<Option<Vec<Field<'a>>>, Invalid> {
    let mut fields = Vec::new();
    while let Some(line) = line(rest)? {
        if line.is_empty() {
            return Ok(Some(fields));
        }
        let colon = line.iter().position(|byte| *byte == b':').ok_or(Invalid)?;
        let name = &line[..colon];
        if name.is_empty() || !name.iter().all(|byte| is_of_token(*byte)) {
            return Err(Invalid);
        }
        fields.push((name, line[colon + 1..].trim_ascii()));
    }
    Ok(None)
}

/// Takes chunks. A trailer section with fields is invalid, because the proxy passes none on.
fn chunks(rest: &mut &[u8]) -> Result<Option<Vec<u8>>, Invalid> {
    let mut body = Vec::new();
    while let Some(line) = line(rest)? {
        let end = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
        let (digits, extensions) = line.split_at(end);
        let text = str::from_utf8(digits).expect("digits");
        let size = u64::from_str_radix(text, 16).map_err(|_| Invalid)?;
        let extensions = extensions.trim_ascii_start();
        if !extensions.is_empty() && extensions[0] != b';' {
            return Err(Invalid);
        }
        if size == 0 {
            return match fields(rest)? {
                None => Ok(None),
                Some(trailers) if trailers.is_empty() => Ok(Some(body)),
                Some(_) => Err(Invalid),
            };
        }
        let Some((data, after)) =
            usize::try_from(size).ok().and_then(|size| rest.split_at_checked(size))
        else {
            return Ok(None);
        };
        body.extend_from_slice(data);
        *rest = match after {
            [b'\r', b'\n', rest @ ..] => rest,
            [] | [b'\r'] => return Ok(None),
            _ => return Err(Invalid),
        };
    }
    Ok(None)
}

/// RFC 9110 §5.5: visible characters, spaces, tabs, and bytes above ASCII.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// RFC 9110 §5.6.2.
fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
