//! Values that a workload may hold, each with its source; what is out of range is refused where it
//! is read, so that the message has its line.

use core::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Who says so, and why; never empty.
    pub source: Source,
    /// What the source has, where nobody offers that any more and the value is the nearest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
}

/// Words that say where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Source(String);

macro_rules! checked {
    ($(#[$doc:meta])* $name:ident($from:ty), $check:expr, $why:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(transparent)]
        pub struct $name($from);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Self::new(<$from>::deserialize(from)?).map_err(D::Error::custom)
            }
        }

        impl $name {
            /// The value, if a workload may have it.
            ///
            /// # Errors
            ///
            /// It is out of range: what is in it, in one line.
            pub fn new(value: $from) -> Result<Self, String> {
                let check: fn(&$from) -> bool = $check;
                if check(&value) { Ok(Self(value)) } else { Err($why.to_owned()) }
            }
        }
    };
}

pub(crate) use checked;

checked!(
    /// The server's key, as records spell it: `rsa-2048`.
    Key(String),
    |key| ["rsa-1024", "rsa-2048", "rsa-3072", "rsa-4096", "ecdsa-p256"].contains(&key.as_str()),
    "a key is rsa-1024, rsa-2048, rsa-3072, rsa-4096 or ecdsa-p256"
);
checked!(
    /// Protocol version and key exchange, as plans spell them: `tls12-rsa`, or with a group that
    /// plans have in time, `tls13-x25519mlkem768`.
    Protocol(String),
    |word| {
        let mut letters = word.chars();
        (1..=40).contains(&word.len())
            && word.starts_with("tls")
            && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    },
    "a protocol is tls12-rsa, tls12-x25519, tls12-p256, tls13, or another word that begins with tls"
);
checked!(
    /// Bytes of a body.
    Bytes(u64),
    |bytes| *bytes <= 1 << 40,
    "bytes are at most 2^40"
);
checked!(
    /// Requests of a connection, in the mean.
    Requests(f64),
    |requests| (1.0..=1e9).contains(requests),
    "requests of a connection are 1 or more"
);
checked!(
    /// A share of all connections.
    Share(f64),
    |share| (0.0..=1.0).contains(share),
    "a share is 0 to 1"
);
checked!(
    /// The paper that a run is compared with, as published records have it in front of their
    /// parameter `by`: `hp01`.
    Paper(String),
    |word| {
        (1..=16).contains(&word.len())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    },
    "a paper is a word of small letters and digits, as hp01"
);

impl Key {
    /// The word.
    #[must_use]
    pub fn word(&self) -> &str {
        &self.0
    }
}

impl Protocol {
    /// The word.
    #[must_use]
    pub fn word(&self) -> &str {
        &self.0
    }
}

impl Bytes {
    /// The number.
    #[must_use]
    pub const fn get(&self) -> u64 {
        self.0
    }
}

impl Requests {
    /// The number.
    #[must_use]
    pub const fn get(&self) -> f64 {
        self.0
    }
}

impl Share {
    /// The number.
    #[must_use]
    pub const fn get(&self) -> f64 {
        self.0
    }
}

impl Paper {
    /// The word.
    #[must_use]
    pub fn word(&self) -> &str {
        &self.0
    }
}

/// How connections arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// So many are in flight, and each that ends is replaced.
    Closed,
    /// At a rate that knows nothing of the server, as seen in a log.
    Open {
        /// Requests per second, in the mean.
        #[serde(deserialize_with = "counted")]
        per_s: f64,
        /// Requests of the busiest second.
        peak_per_s: u64,
        /// Variance of the requests of a second over their mean, within a minute: 1 for Poisson
        /// arrivals, more for crowds.
        #[serde(deserialize_with = "counted")]
        dispersion: f64,
    },
}

/// What came of counting: TOML has numbers that are none.
fn counted<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    let is_count = number.is_finite() && number >= 0.0;
    is_count
        .then_some(number)
        .ok_or_else(|| D::Error::custom("rates and dispersions are 0 or more"))
}

impl<T> Sourced<T> {
    /// A value and its source.
    ///
    /// # Errors
    ///
    /// The source has no words.
    pub fn new(value: T, source: &str) -> Result<Self, String> {
        let source = Source::try_from(source.to_owned())?;
        Ok(Self { value, source, instead_of: None })
    }
}

impl TryFrom<String> for Source {
    type Error = String;

    fn try_from(words: String) -> Result<Self, String> {
        if words.trim().is_empty() {
            return Err("it needs a source: say where the value comes from".to_owned());
        }
        Ok(Self(words))
    }
}

impl From<Source> for String {
    fn from(source: Source) -> Self {
        source.0
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
