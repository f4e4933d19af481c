//! Maps request targets to resources.

use std::path::PathBuf;

use super::body::BODY_BYTES_MAX;

/// The resource of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/bytes/N`: a body of N bytes.
    Bytes(u64),
    /// A file, by its path below the root, without empty, `.` and `..` segments.
    File(PathBuf),
    /// An unknown resource.
    Nothing,
    /// An invalid number of bytes, one above [`BODY_BYTES_MAX`], or an invalid escape.
    Senseless,
}

/// Parses a target in origin form, and ignores its query.
pub(crate) fn route(target: &str) -> Route {
    let path = target.split('?').next().unwrap_or_default();
    if let Some(number) = path.strip_prefix("/bytes/") {
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        return match number.parse() {
            Ok(bytes) if digits && bytes <= BODY_BYTES_MAX => Route::Bytes(bytes),
            _ => Route::Senseless,
        };
    }
    let Some(path) = path.strip_prefix('/') else {
        return Route::Nothing;
    };
    let Some(path) = unescape(path) else {
        return Route::Senseless;
    };
    let whole =
        |segment: &str| !matches!(segment, "" | "." | "..") && !segment.contains(['\0', '\\']);
    if path.split('/').all(whole) { Route::File(PathBuf::from(path)) } else { Route::Nothing }
}

/// Decodes `%XX`; returns `None` if an escape is malformed or the result is not UTF-8.
fn unescape(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            bytes.push(u8::try_from(high * 16 + low).expect("two hexadecimal digits"));
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_sizes_are_parsed() {
        assert_eq!(route("/bytes/0"), Route::Bytes(0));
        assert_eq!(route("/bytes/14336?x"), Route::Bytes(14_336));
        assert_eq!(route("/bytes/1073741824"), Route::Bytes(BODY_BYTES_MAX));
        for number in ["1073741825", "", "-1", "+1", "1/", "99999999999999999999", "0x1"] {
            assert_eq!(route(&format!("/bytes/{number}")), Route::Senseless, "{number}");
        }
    }

    #[test]
    fn paths_cannot_leave_the_root() {
        assert_eq!(route("/a/b%20c.txt"), Route::File("a/b c.txt".into()));
        for path in
            ["/", "/../x", "/a/../../x", "/%2e%2e/x", "/a/%2E%2e/x", "/..%2fx", "//x", "/a/"]
        {
            assert_eq!(route(path), Route::Nothing, "{path}");
        }
        for path in ["/a%00", "/./x", "/a\\..\\x", "*", "/%5c"] {
            assert_eq!(route(path), Route::Nothing, "{path}");
        }
        for path in ["/%", "/%1", "/%zz", "/%+1", "/%ff"] {
            assert_eq!(route(path), Route::Senseless, "{path}");
        }
    }
}
