//! Subjects and quantities of figures, and their spelling.

use core::fmt;
use core::str::FromStr;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::topic::{Area, Key, Protocol, Topic};

/// The subject of a figure: a [`Topic`] with parameters, such as `kernel/amm52_mb8_ifma?K=20` or
/// `operation/rsa-2048/sign?batch=8&by=tollgate`.
///
/// Path: segments of ASCII lower-case letters, digits, `_`, `-` and `.`, joined by `/`. Parameters:
/// keys of ASCII letters, digits and `_`; values of ASCII letters, digits, `_`, `-`, `.`, `+` and
/// `:`; each key once. At most 512 bytes. Parameters are read in any order and written in sorted
/// order, so equal subjects have equal spellings.
///
/// ```
/// use tollgate_record::{Key, Operation, Subject, Topic};
///
/// let subject: Subject = "operation/rsa-2048/sign?by=tollgate&batch=8".parse()?;
/// assert_eq!(subject.to_string(), "operation/rsa-2048/sign?batch=8&by=tollgate");
/// assert_eq!(subject.parameter("batch"), Some("8"));
///
/// let topic = Topic::Operation { key: Key::Rsa(2048), operation: Operation::Sign };
/// assert_eq!(Subject::new(topic)?.with("by", "tollgate")?.with("batch", 8)?, subject);
/// # Ok::<(), tollgate_record::BadSubject>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Subject {
    topic: Topic,
    parameters: BTreeMap<String, String>,
}

/// Maximum number of bytes that a subject may have.
const LENGTH_MAX_BYTES: usize = 512;

impl Subject {
    /// Creates a subject without parameters.
    ///
    /// # Errors
    ///
    /// A name in the topic holds a character that is not allowed in a path, or the path is too
    /// long.
    pub fn new(topic: Topic) -> Result<Self, BadSubject> {
        Self { topic, parameters: BTreeMap::new() }.checked()
    }

    /// Returns the topic.
    #[must_use]
    pub const fn topic(&self) -> &Topic {
        &self.topic
    }

    /// Returns the area of the topic.
    #[must_use]
    pub fn area(&self) -> Area {
        self.topic.area()
    }

    /// Returns the key of an operation, session, server or fleet.
    #[must_use]
    pub const fn key(&self) -> Option<&Key> {
        self.topic.key()
    }

    /// Returns the protocol of a session, server or fleet.
    #[must_use]
    pub const fn protocol(&self) -> Option<&Protocol> {
        self.topic.protocol()
    }

    /// Returns the value of a parameter.
    #[must_use]
    pub fn parameter(&self, key: &str) -> Option<&str> {
        self.parameters.get(key).map(String::as_str)
    }

    /// Returns all parameters, sorted by key.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns the same subject with another topic.
    ///
    /// # Errors
    ///
    /// As [`Subject::new`].
    pub fn with_topic(&self, topic: Topic) -> Result<Self, BadSubject> {
        Self { topic, parameters: self.parameters.clone() }.checked()
    }

    /// Returns the same subject with one more parameter, or with another value for it.
    ///
    /// # Errors
    ///
    /// The key or the value holds a character that is not allowed there, or the whole is too long.
    pub fn with(&self, key: &str, value: impl fmt::Display) -> Result<Self, BadSubject> {
        let mut subject = self.clone();
        subject.parameters.insert(key.to_owned(), value.to_string());
        subject.checked()
    }

    /// Returns the same subject without these parameters.
    #[must_use]
    pub fn without(&self, keys: &[&str]) -> Self {
        let mut subject = self.clone();
        subject.parameters.retain(|key, _| !keys.contains(&key.as_str()));
        subject
    }

    /// Returns the subject, if its spelling is valid.
    fn checked(self) -> Result<Self, BadSubject> {
        self.to_string().parse()
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
                return Err(bad("a parameter is given twice"));
            }
        }
        Ok(Self { topic: path.into(), parameters })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.topic)?;
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

/// The quantity of a subject, such as `cycles_per_call`: at most 64 ASCII lower-case letters,
/// digits and `_`, beginning with a letter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Quantity {
    /// The name, followed by zeros.
    bytes: [u8; NAME_MAX_BYTES],
    length: usize,
}

/// Maximum number of bytes that a quantity may have.
const NAME_MAX_BYTES: usize = 64;

impl Quantity {
    /// Creates a quantity of the [vocabulary](crate::vocabulary).
    ///
    /// # Panics
    ///
    /// If `name` is longer than 64 bytes.
    #[must_use]
    pub const fn known(name: &'static str) -> Self {
        Self::copied(name)
    }

    const fn copied(name: &str) -> Self {
        let mut bytes = [0; NAME_MAX_BYTES];
        let (start, _) = bytes.split_at_mut(name.len());
        start.copy_from_slice(name.as_bytes());
        Self { bytes, length: name.len() }
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl FromStr for Quantity {
    type Err = BadSubject;

    fn from_str(text: &str) -> Result<Self, BadSubject> {
        let is_name = text.len() <= NAME_MAX_BYTES
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && made_of(text, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !is_name {
            let text = text.chars().take(LENGTH_MAX_BYTES).collect();
            let why = "a quantity is a-z 0-9 _, a letter first, at most 64";
            return Err(BadSubject { text, why });
        }
        Ok(Self::copied(text))
    }
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Quantity({:?})", self.as_str())
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
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
        quantity.as_str().to_owned()
    }
}

/// Text that is not a subject or a quantity. Correct its spelling.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}: {why}")]
pub struct BadSubject {
    text: String,
    why: &'static str,
}

/// Returns `true` if the text is not empty and every character is allowed.
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
