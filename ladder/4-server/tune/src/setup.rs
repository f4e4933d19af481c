//! The configuration of a server and its load, as values that candidates edit.

use std::collections::BTreeMap;

use crate::candidate::{Candidate, Edit};

/// A server's configuration, and the part of the load that depends on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The server's name, such as `nginx`.
    pub server: String,
    /// The number of its cores.
    pub cores: usize,
    /// `true` if the kernel can encrypt records.
    pub kernel_tls: bool,
    /// The type of its key, such as `rsa-3072`.
    pub key: String,
    /// `true` if it signs with the provider.
    pub provider: bool,
    /// `true` if it pauses handshakes while the provider works.
    pub asynchronous: bool,
    /// The suite of the sessions.
    pub suite: Option<String>,
    /// The group of the key exchange.
    pub group: Option<String>,
    /// The share of sessions that resume an earlier one.
    pub resumed: f64,
    /// The number of requests on a connection.
    pub requests: u32,
    /// Directives of the configuration file by `CONTEXT.NAME`.
    pub directives: BTreeMap<String, String>,
}

impl Setup {
    /// Returns the setup after a change.
    #[must_use]
    pub fn edited(&self, edit: &Edit) -> Self {
        let mut next = self.clone();
        next.key.clone_from(edit.key.as_ref().unwrap_or(&self.key));
        next.provider = edit.provider.unwrap_or(self.provider);
        next.asynchronous = edit.asynchronous.unwrap_or(self.asynchronous);
        next.suite = edit.suite.clone().or(next.suite);
        next.group = edit.group.clone().or(next.group);
        next.resumed = edit.resumed.unwrap_or(self.resumed);
        next.requests = edit.requests.unwrap_or(self.requests);
        next.directives.extend(edit.directives.clone());
        next
    }

    /// Returns whether a candidate changes something, and its conditions hold.
    #[must_use]
    pub fn takes(&self, candidate: &Candidate) -> bool {
        let needs = &candidate.needs;
        self.key.starts_with(&needs.key)
            && (self.provider || !needs.provider)
            && (self.kernel_tls || !needs.kernel_tls)
            && self.cores >= needs.cores_min
            && self.edited(&candidate.set) != *self
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::candidate::Set;

    pub(crate) fn nginx() -> Setup {
        let bare = Setup {
            server: "nginx".to_owned(),
            cores: 1,
            kernel_tls: false,
            key: "rsa-3072".to_owned(),
            provider: false,
            asynchronous: false,
            suite: None,
            group: None,
            resumed: 0.0,
            requests: 1,
            directives: BTreeMap::new(),
        };
        bare.edited(&Set::of_server("nginx").unwrap().start)
    }

    fn words(setup: &Setup) -> Vec<String> {
        let set = Set::of_server(&setup.server).unwrap();
        let taken = set.candidates.into_iter().filter(|one| setup.takes(one));
        taken.map(|one| one.word).collect()
    }

    #[test]
    fn a_candidate_applies_once_and_under_its_conditions() {
        let start = nginx();
        let has = |setup: &Setup, word: &str| words(setup).iter().any(|other| other == word);
        for word in ["provider", "rsa-2048", "ecdsa-p256", "log-buffer", "suite-order"] {
            assert!(has(&start, word), "{word}");
        }
        for word in ["reuseport", "pinning", "kernel-tls"] {
            assert!(!has(&start, word), "{word}: one core, and no module tls");
        }
        assert!(has(&Setup { cores: 2, ..start.clone() }, "reuseport"));
        assert!(has(&Setup { kernel_tls: true, ..start.clone() }, "kernel-tls"));
        let set = Set::of_server("nginx").unwrap();
        for candidate in set.candidates.iter().filter(|one| start.takes(one)) {
            assert!(!start.edited(&candidate.set).takes(candidate), "{}", candidate.word);
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
