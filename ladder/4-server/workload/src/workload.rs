//! A workload, and its file.

use serde::{Deserialize, Serialize};
use tollgate_record::BadFile;

use crate::quantiles::Quantiles;
use crate::sourced::{Arrivals, Bytes, Key, Paper, Protocol, Requests, Share, Sourced};

/// The load of a server. An absent parameter is unknown, not zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// A description in one line.
    pub title: String,
    /// The server's key.
    pub key: Option<Sourced<Key>>,
    /// Protocol version and key exchange.
    pub protocol: Option<Sourced<Protocol>>,
    /// The cipher suite, by its IANA name.
    pub suite: Option<Sourced<String>>,
    /// The length of each body in bytes.
    pub bytes: Option<Sourced<Bytes>>,
    /// The lengths of the bodies in bytes, if they differ.
    pub sizes: Option<Sourced<Quantiles>>,
    /// Requests on a connection.
    pub requests_per_connection: Option<Sourced<Requests>>,
    /// The share of connections that resume a session.
    pub resumed: Option<Sourced<Share>>,
    /// Arrivals of connections.
    pub arrivals: Option<Sourced<Arrivals>>,
    /// The paper to compare a run with.
    pub compared_with: Option<Sourced<Paper>>,
}

impl Workload {
    /// Reads a workload file.
    ///
    /// # Errors
    ///
    /// [`BadFile`] with line and field, if a field is unknown or invalid.
    pub fn from_toml(text: &str) -> Result<Self, BadFile> {
        toml::from_str(text)
            .map_err(|error| BadFile::at("workload", text, error.span(), error.message()))
    }

    /// Returns the workload as TOML.
    ///
    /// # Panics
    ///
    /// Never: names, numbers and words can be written.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a workload is names, numbers and words")
    }

    /// Returns every parameter by name; `None` if it is unknown.
    #[must_use]
    pub fn parameters(&self) -> Vec<(&'static str, Option<Parameter>)> {
        vec![
            ("key", Parameter::new(self.key.as_ref(), |key| key.get().clone())),
            ("protocol", Parameter::new(self.protocol.as_ref(), |word| word.get().clone())),
            ("suite", Parameter::new(self.suite.as_ref(), Clone::clone)),
            ("bytes", Parameter::new(self.bytes.as_ref(), |bytes| bytes.get().to_string())),
            ("sizes", Parameter::new(self.sizes.as_ref(), sizes)),
            (
                "requests per connection",
                Parameter::new(self.requests_per_connection.as_ref(), |n| short(*n.get())),
            ),
            (
                "resumed",
                Parameter::new(self.resumed.as_ref(), |s| format!("{} %", short(100.0 * s.get()))),
            ),
            ("arrivals", Parameter::new(self.arrivals.as_ref(), arrivals)),
            (
                "compared with",
                Parameter::new(self.compared_with.as_ref(), |paper| paper.get().clone()),
            ),
        ]
    }
}

/// A parameter in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The value, in words.
    pub value: String,
    /// The source of the value.
    pub source: String,
    /// The value that the source gives, if it is no longer in use. `value` is then the nearest one
    /// in use.
    pub instead_of: Option<String>,
}

impl Parameter {
    fn new<T>(sourced: Option<&Sourced<T>>, value: impl Fn(&T) -> String) -> Option<Self> {
        let sourced = sourced?;
        Some(Self {
            value: value(&sourced.value),
            source: sourced.source.get().clone(),
            instead_of: sourced.instead_of.clone(),
        })
    }
}

fn sizes(table: &Quantiles) -> String {
    let [least, half, most] = [0.0, 0.5, 1.0].map(|share| table.at(share));
    format!("from {least} to {most} bytes, half of them at most {half}")
}

fn arrivals(arrivals: &Arrivals) -> String {
    match arrivals {
        Arrivals::Closed => "closed loop".to_owned(),
        Arrivals::Open { per_s, peak_per_s, dispersion } => format!(
            "{} requests per second, {peak_per_s} in the busiest one, dispersion {}",
            short(*per_s),
            short(*dispersion)
        ),
    }
}

/// Prints a number with at most two decimals.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"title = "an example"

[key]
value = "rsa-2048"
source = "a guide, table 7"

[bytes]
value = 14336
source = "a paper"
instead_of = "14 KB"

[arrivals]
value = { kind = "closed" }
source = "as the paper"
"#;

    /// A rate that is not a number.
    const OPEN_ENDED: &str = "{ kind = \"open\", per_s = nan, peak_per_s = 1, dispersion = 1.0 }";

    #[test]
    fn a_written_file_is_read_back_unchanged() {
        let workload = Workload::from_toml(FILE).unwrap();
        assert_eq!(Workload::from_toml(&workload.to_toml()).unwrap(), workload);
        assert_eq!(workload.resumed, None, "unknown is not zero");
        let known = workload.parameters();
        let known: Vec<&str> =
            known.iter().filter(|(_, known)| known.is_some()).map(|(name, _)| *name).collect();
        assert_eq!(known, ["key", "bytes", "arrivals"]);
    }

    #[test]
    fn errors_name_line_and_field() {
        let refused = |from: &str, to: &str| {
            assert!(FILE.contains(from));
            let message = Workload::from_toml(&FILE.replace(from, to)).unwrap_err().to_string();
            assert!(!message.contains('\n'), "{message}");
            message
        };
        for (from, to, words) in [
            ("\"rsa-2048\"", "\"rsa-9\"", &["line 4", "key.value", "rsa-1024"][..]),
            ("14336", "-1", &["line 8", "bytes.value"]),
            ("\"a paper\"", "\" \"", &["line 9", "bytes.source", "source"]),
            ("\"closed\"", "\"open\"", &["line 13", "arrivals.value", "per_s"]),
            ("{ kind = \"closed\" }", OPEN_ENDED, &["line 13", "arrivals.value", "0 or more"]),
            ("[bytes]", "[bites]", &["line 7", "bites"]),
            ("title = \"an example\"", "", &["title"]),
        ] {
            let message = refused(from, to);
            assert!(words.iter().all(|word| message.contains(word)), "{words:?} in {message}");
        }
    }

    #[test]
    fn quantiles_rise_from_0_to_1() {
        let of = |rows: &str| {
            let text = format!("title = \"x\"\n[sizes]\nvalue = {rows}\nsource = \"x\"\n");
            Workload::from_toml(&text).is_ok()
        };
        assert!(of("[[0.0, 1], [0.5, 1], [1.0, 9]]"));
        for bad in ["[]", "[[0.0, 1]]", "[[0.0, 9], [1.0, 1]]", "[[0.0, 1], [0.0, 2], [1.0, 3]]"] {
            assert!(!of(bad), "{bad}");
        }
    }
}
