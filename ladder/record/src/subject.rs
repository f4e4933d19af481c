//! What a figure is about: the spelling of subjects and quantities.

use core::fmt;
use core::str::FromStr;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A path with parameters, such as `kernel/amm52_mb8_ifma?K=20` or
/// `operation/rsa-2048/sign?batch=8&by=tollgate`.
///
/// Path: segments of ASCII lower-case letters, digits, `_`, `-` and `.`, joined by `/`. Parameters:
/// keys of ASCII letters, digits and `_`; values of ASCII letters, digits, `_`, `-`, `.`, `+` and
/// `:`; each key once. Any order is read, sorted order is written, so equal subjects are spelled
/// alike.
///
/// ```
/// use tollgate_record::Subject;
///
/// let subject: Subject = "operation/rsa-2048/sign?by=tollgate&batch=8".parse()?;
/// assert_eq!(subject.to_string(), "operation/rsa-2048/sign?batch=8&by=tollgate");
/// assert_eq!(subject.segments().next(), Some("operation"));
/// assert_eq!(subject.parameter("batch"), Some("8"));
/// # Ok::<(), tollgate_record::BadSubject>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Subject {
    path: String,
    parameters: BTreeMap<String, String>,
}

/// The most bytes that a subject may have.
const LENGTH_MAX_BYTES: usize = 512;

impl Subject {
    /// The path without parameters, `kernel/amm52_mb8_ifma`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path's segments; the first one is the rung.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.path.split('/')
    }

    /// The value of a parameter.
    #[must_use]
    pub fn parameter(&self, key: &str) -> Option<&str> {
        self.parameters.get(key).map(String::as_str)
    }

    /// All parameters, sorted by key.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The same subject with one more parameter, or with another value for it.
    ///
    /// # Errors
    ///
    /// The key or the value holds a character that is not allowed there, or the whole is too long.
    pub fn with(&self, key: &str, value: impl fmt::Display) -> Result<Self, BadSubject> {
        let mut subject = self.clone();
        subject.parameters.insert(key.to_owned(), value.to_string());
        subject.to_string().parse()
    }
}

impl FromStr for Subject {
    type Err = BadSubject;

    fn from_str(text: &str) -> Result<Self, BadSubject> {
        let bad = |why| BadSubject { text: text.to_owned(), why };
        if text.len() > LENGTH_MAX_BYTES {
            return Err(BadSubject { text: String::new(), why: "longer than 512 bytes" });
        }
        let (path, query) = match text.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (text, None),
        };
        if !path.split('/').all(|segment| made_of(segment, is_path_character)) {
            return Err(bad("a path is segments of a-z 0-9 _ - . joined by single slashes"));
        }
        let mut parameters = BTreeMap::new();
        for pair in query.into_iter().flat_map(|query| query.split('&')) {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| bad("a parameter is key=value"))?;
            if !made_of(key, is_key_character) {
                return Err(bad("a parameter's key is made of A-Z a-z 0-9 _"));
            }
            if !made_of(value, is_value_character) {
                return Err(bad("a parameter's value is made of A-Z a-z 0-9 _ - . + :"));
            }
            if parameters.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(bad("a parameter stands there twice"));
            }
        }
        Ok(Self { path: path.to_owned(), parameters })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        for (i, (key, value)) in self.parameters().enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

impl TryFrom<String> for Subject {
    type Error = BadSubject;

    fn try_from(text: String) -> Result<Self, BadSubject> {
        text.parse()
    }
}

impl From<Subject> for String {
    fn from(subject: Subject) -> Self {
        subject.to_string()
    }
}

/// Which figure of the subject it is, such as `cycles_per_call`: ASCII lower-case letters, digits
/// and `_`, a letter first, at most 64 of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Quantity(String);

impl Quantity {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Quantity {
    type Err = BadSubject;

    fn from_str(text: &str) -> Result<Self, BadSubject> {
        let is_name = text.len() <= 64
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && made_of(text, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !is_name {
            let text = text.chars().take(LENGTH_MAX_BYTES).collect();
            return Err(BadSubject {
                text,
                why: "a quantity is a-z 0-9 _, a letter first, at most 64",
            });
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for Quantity {
    type Error = BadSubject;

    fn try_from(text: String) -> Result<Self, BadSubject> {
        text.parse()
    }
}

impl From<Quantity> for String {
    fn from(quantity: Quantity) -> Self {
        quantity.0
    }
}

/// Text that is no subject or no quantity. Fixed by spelling it right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSubject {
    text: String,
    why: &'static str,
}

impl fmt::Display for BadSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.text, self.why)
    }
}

impl core::error::Error for BadSubject {}

/// Not empty, and every character is allowed.
fn made_of(text: &str, allowed: impl Fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(allowed)
}

fn is_path_character(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c)
}

fn is_key_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_value_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.+:".contains(c)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn accepts_the_spellings_in_use() {
        for good in [
            "kernel/amm52_mb8_ifma?K=20",
            "operation/rsa-2048/sign?batch=8&by=tollgate",
            "operation/rsa-2048/sign?by=openssl-3.0.19:sys",
            "clock",
        ] {
            assert_eq!(good.parse::<Subject>().unwrap().to_string(), good);
        }
    }

    #[test]
    fn refuses_the_rest() {
        for bad in [
            "",
            "/",
            "a//b",
            "/a",
            "a/",
            "A/b",
            "a b",
            "a?",
            "a?x",
            "a?x=",
            "a?=1",
            "a?x=1&",
            "a?x=1&x=2",
            "a?x=a b",
            "a?x=1?y=2",
            "a\n",
            "ä",
            "a?x=1&&y=2",
        ] {
            assert!(bad.parse::<Subject>().is_err(), "{bad:?} was accepted");
        }
        assert!("a".repeat(513).parse::<Subject>().is_err());
        for bad in ["", "Cycles", "1st", "_a", "a-b", "a b"] {
            assert!(bad.parse::<Quantity>().is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn with_adds_and_replaces() {
        let subject: Subject = "kernel/x?K=20".parse().unwrap();
        assert_eq!(
            subject.with("K", 40).unwrap().with("B", 8).unwrap().to_string(),
            "kernel/x?B=8&K=40"
        );
        assert!(subject.with("K", "4 0").is_err());
    }
}
