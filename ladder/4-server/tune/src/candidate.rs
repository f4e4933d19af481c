//! Candidates: possible changes of a server, as data.

use core::fmt;
use serde::Deserialize;
use tollgate_profile::parts as all_parts;
use tollgate_record::vocabulary::PART_IDLE;
use tollgate_record::{BadEstimate, Estimate};
use toml::Table;

use crate::file::{BadFile, read};
use crate::setup::Setup;

/// A change of a server.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Its name, such as `log-buffer`.
    pub word: String,
    /// The change, in words.
    pub title: String,
    /// Why it should help.
    pub reason: String,
    /// The servers that have it; empty for all.
    #[serde(default)]
    pub servers: Vec<String>,
    /// The parts of the profile that become cheaper.
    pub parts: Vec<String>,
    /// The time of these parts before the change, divided by their time after it.
    pub factor: Factor,
    /// The effect that clients or attackers notice, if any.
    pub changes: Option<Change>,
    /// The conditions under which it applies.
    #[serde(default)]
    pub needs: Needs,
    /// The change of the [`Setup`]: its fields with their new values.
    pub set: Table,
}

/// The expected speed-up of the candidate's parts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Factor {
    /// The lowest, the likely and the highest value.
    Range([f64; 3]),
    /// Another source. The only one is `speed`: rung 2 measures the signatures before and after.
    Named(String),
}

/// A change that clients or attackers notice.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Its kind. A change of a kind is tried only if the user allows the kind.
    pub kind: Kind,
    /// The consequence, in words.
    pub what: String,
}

/// Kinds of changes that clients or attackers notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The strength of the cryptography.
    Security,
    /// The abilities or the behaviour of clients.
    Clients,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Security => "security",
            Self::Clients => "clients",
        })
    }
}

/// The conditions under which a candidate applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Needs {
    /// The beginning of the key's type, such as `rsa`.
    pub key: String,
    /// The server signs with the provider.
    pub provider: bool,
    /// The kernel can encrypt records (its module `tls`).
    pub kernel_tls: bool,
    /// The lowest number of cores of the server.
    pub cores_min: usize,
}

/// The start of a server and its candidates.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The edits that make the server's default configuration.
    #[serde(default)]
    pub start: Table,
    /// The candidates.
    #[serde(default, rename = "candidate")]
    pub candidates: Vec<Candidate>,
}

const ANY: &str = include_str!("../candidates/any.toml");

/// The servers with their files.
const FILES: [(&str, &str); 6] = [
    ("apache", include_str!("../candidates/apache.toml")),
    ("command", include_str!("../candidates/command.toml")),
    ("haproxy", include_str!("../candidates/haproxy.toml")),
    ("lighttpd", include_str!("../candidates/lighttpd.toml")),
    ("nginx", include_str!("../candidates/nginx.toml")),
    ("openssl", include_str!("../candidates/openssl.toml")),
];

impl Set {
    /// Returns the start and the candidates of a server; `None` if there are none for it.
    ///
    /// # Panics
    ///
    /// Never: tests read all built-in files.
    #[must_use]
    pub fn of_server(server: &str) -> Option<Self> {
        let (_, text) = FILES.into_iter().find(|(name, _)| *name == server)?;
        let built_in = |text| Self::from_toml(text).expect("tests read all built-in files");
        let (any, mut own) = (built_in(ANY), built_in(text));
        let fits = |candidate: &Candidate| {
            candidate.servers.is_empty() || candidate.servers.iter().any(|s| s == server)
        };
        own.candidates = any.candidates.into_iter().chain(own.candidates).filter(fits).collect();
        Some(own)
    }

    /// Reads a file of candidates.
    ///
    /// # Errors
    ///
    /// The text is no TOML, a field is missing or unknown, a candidate has the word of another one,
    /// a part that no profile has, or a factor out of order.
    pub fn from_toml(text: &str) -> Result<Self, BadFile> {
        let set: Self = read(text)?;
        Setup::default().edited(&set.start).map_err(|why| BadFile(format!("start: {why}")))?;
        for (place, candidate) in set.candidates.iter().enumerate() {
            let word = &candidate.word;
            if set.candidates[..place].iter().any(|other| other.word == *word) {
                return Err(BadFile(format!("candidate {word} is there twice: rename one")));
            }
            candidate.check().map_err(|why| BadFile(format!("candidate {word}: {why}")))?;
        }
        Ok(set)
    }
}

impl Candidate {
    fn check(&self) -> Result<(), String> {
        let is_known = |part: &String| {
            part == PART_IDLE
                || all_parts().iter().any(|known| known.word == *part || known.of == *part)
        };
        if let Some(part) = self.parts.iter().find(|part| !is_known(part)) {
            return Err(format!("no profile has a part {part}: see docs/explain.md"));
        }
        if self.parts.is_empty() {
            return Err("give the parts that it makes cheaper".to_owned());
        }
        if self.set.is_empty() {
            return Err("give what it changes in `set`".to_owned());
        }
        Setup::default().edited(&self.set)?;
        match &self.factor {
            Factor::Range(_) => {
                let factor = self.range().and_then(Result::ok);
                factor.filter(|factor| factor.interval().0 > 0.0).map(|_| ()).ok_or_else(|| {
                    "factor: give the lowest, the likely and the highest value, all above 0"
                        .to_owned()
                })
            }
            Factor::Named(name) if name == "speed" => Ok(()),
            Factor::Named(_) => Err("factor: give three numbers, or \"speed\"".to_owned()),
        }
    }

    /// Returns the factor as an estimate; `None` if it has another source.
    #[must_use]
    pub fn range(&self) -> Option<Result<Estimate, BadEstimate>> {
        match self.factor {
            Factor::Range([low, point, high]) => Some(Estimate::new(point, (low, high), 1)),
            Factor::Named(_) => None,
        }
    }

    /// Returns whether the candidate changes something of this setup, and its conditions hold.
    pub(crate) fn applies_to(&self, setup: &Setup) -> bool {
        let needs = &self.needs;
        setup.key.starts_with(&needs.key)
            && (setup.provider || !needs.provider)
            && (setup.host.kernel_tls || !needs.kernel_tls)
            && setup.host.cores >= needs.cores_min
            && setup.edited(&self.set).is_ok_and(|next| next != *setup)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::setup::Host;

    #[test]
    fn every_server_has_a_start_and_candidates() {
        for (server, _) in FILES {
            let set = Set::of_server(server).unwrap();
            let words: Vec<&str> =
                set.candidates.iter().map(|candidate| candidate.word.as_str()).collect();
            assert!(words.contains(&"provider"), "{server}: {words:?}");
            let resumes = !["lighttpd", "command"].contains(&server);
            assert_eq!(words.contains(&"resumption"), resumes, "{server}");
            assert!(set.start.contains_key("suite"), "{server}");
            for (place, word) in words.iter().enumerate() {
                assert!(!words[..place].contains(word), "{server}: {word} is there twice");
            }
        }
        assert_eq!(Set::of_server("iis"), None);
    }

    #[test]
    fn bad_files_have_errors_of_one_line_that_name_the_place() {
        let good = "[[candidate]]\nword = \"x\"\ntitle = \"t\"\nreason = \"r\"\nparts = [\"rsa\"]\n\
                    factor = [1.0, 2.0, 3.0]\nset = { key = \"rsa-2048\" }\n";
        assert_eq!(Set::from_toml(good).unwrap().candidates.len(), 1);
        let twice = good.repeat(2);
        for (text, why) in [
            ("nonsense", "line 1"),
            (&*twice, "x is there twice"),
            (&good.replace("\"rsa\"]", "\"heat\"]"), "no profile has a part heat"),
            (&good.replace("[\"rsa\"]", "[]"), "give the parts"),
            (&good.replace("[1.0, 2.0, 3.0]", "[3.0, 2.0, 1.0]"), "the lowest"),
            (&good.replace("[1.0, 2.0, 3.0]", "[0.0, 2.0, 3.0]"), "above 0"),
            (&good.replace("[1.0, 2.0, 3.0]", "\"guess\""), "\"speed\""),
            (&good.replace("{ key = \"rsa-2048\" }", "{}"), "`set`"),
            (&good.replace("key =", "keys ="), "keys"),
            (&good.replace("set =", "changes = { kind = \"x\", what = \"y\" }\nset ="), "line 7"),
        ] {
            let error = Set::from_toml(text).unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains('\n'), "{why}: {error}");
        }
    }

    pub(crate) fn nginx() -> Setup {
        let host = Host { cores: 1, kernel_tls: false };
        let bare = Setup { key: "rsa-3072".to_owned(), host, ..Setup::default() };
        bare.edited(&Set::of_server("nginx").unwrap().start).unwrap()
    }

    fn words(setup: &Setup) -> Vec<String> {
        let set = Set::of_server(&setup.server).unwrap();
        let taken = set.candidates.into_iter().filter(|candidate| candidate.applies_to(setup));
        taken.map(|candidate| candidate.word).collect()
    }

    #[test]
    fn a_candidate_applies_once_and_under_its_conditions() {
        let start = nginx();
        let has = |setup: &Setup, word: &str| words(setup).iter().any(|other| other == word);
        let host = |cores, kernel_tls| Setup { host: Host { cores, kernel_tls }, ..start.clone() };
        for word in ["provider", "rsa-2048", "ecdsa-p256", "log-buffer", "suite-order"] {
            assert!(has(&start, word), "{word}");
        }
        for word in ["reuseport", "pinning", "kernel-tls"] {
            assert!(!has(&start, word), "{word}: one core, and no module tls");
        }
        assert!(has(&host(2, false), "reuseport") && has(&host(1, true), "kernel-tls"));
        let set = Set::of_server("nginx").unwrap();
        for candidate in set.candidates.iter().filter(|candidate| candidate.applies_to(&start)) {
            let next = start.edited(&candidate.set).unwrap();
            assert!(!candidate.applies_to(&next), "{}", candidate.word);
        }
        let curve = Setup { key: "ecdsa-p256".to_owned(), ..start.clone() };
        assert!(!has(&curve, "provider") && !has(&curve, "rsa-2048"));
        assert!(has(&curve, "provider-ecdsa") && !has(&start, "provider-ecdsa"));
    }

    #[test]
    fn paused_handshakes_need_the_provider() {
        let start = Setup { server: "haproxy".to_owned(), ..nginx() };
        assert!(!words(&start).contains(&"async".to_owned()));
        assert!(words(&Setup { provider: true, ..start }).contains(&"async".to_owned()));
    }
}
