//! Values of a workload, each with its source. Values out of range are refused while parsing, so
//! that the message has a line number.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// A value and its source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// The source of the value, with the reason; never empty.
    pub source: Source,
    /// The value that the source gives, if it is no longer in use. `value` is then the nearest one
    /// in use.
    pub instead_of: Option<String>,
}

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
            /// Checks a value.
            ///
            /// # Errors
            ///
            /// The value is out of range; one line names the range.
            pub fn new(value: $from) -> Result<Self, String> {
                let check: fn(&$from) -> bool = $check;
                if check(&value) { Ok(Self(value)) } else { Err($why.to_owned()) }
            }

            /// Returns the value.
            #[must_use]
            pub const fn get(&self) -> &$from {
                &self.0
            }
        }
    };
}

pub(crate) use checked;

checked!(
    /// The source of a value, in words.
    Source(String),
    |words| !words.trim().is_empty(),
    "the source is empty: say where the value comes from"
);
checked!(
    /// The server's key, as records spell it: `rsa-2048`.
    Key(String),
    |key| ["rsa-1024", "rsa-2048", "rsa-3072", "rsa-4096", "ecdsa-p256"].contains(&key.as_str()),
    "a key is rsa-1024, rsa-2048, rsa-3072, rsa-4096 or ecdsa-p256"
);
checked!(
    /// Protocol version and key exchange, as plans spell them: `tls12-rsa`. A group that only a
    /// later plan may have is also possible: `tls13-x25519mlkem768`.
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
    /// The length of a body in bytes.
    Bytes(u64),
    |bytes| *bytes <= 1 << 40,
    "bytes are at most 2^40"
);
checked!(
    /// Mean number of requests on a connection.
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
    /// The paper to compare a run with, as the prefix of `by` in published records: `hp01`.
    Paper(String),
    |word| {
        (1..=16).contains(&word.len())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    },
    "a paper is a word of small letters and digits, as hp01"
);

/// Arrivals of connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// A fixed number of connections is in flight. Each connection that ends is replaced.
    Closed,
    /// Arrivals at a rate independent of the server, as in a log.
    Open {
        /// Mean requests per second.
        #[serde(deserialize_with = "counted")]
        per_s: f64,
        /// The number of requests in the busiest second.
        peak_per_s: u64,
        /// Variance of the requests per second divided by their mean, within a minute: 1 for
        /// Poisson arrivals, more for bursts.
        #[serde(deserialize_with = "counted")]
        dispersion: f64,
    },
}

/// Reads a finite number of at least 0; TOML also has `nan` and `inf`.
fn counted<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    let is_count = number.is_finite() && number >= 0.0;
    is_count
        .then_some(number)
        .ok_or_else(|| D::Error::custom("rates and dispersions are 0 or more"))
}

impl<T> Sourced<T> {
    /// Creates a value and its source.
    ///
    /// # Errors
    ///
    /// The source is empty.
    pub fn new(value: T, source: &str) -> Result<Self, String> {
        Ok(Self { value, source: Source::new(source.to_owned())?, instead_of: None })
    }
}
