//! A probe as lines of text.

use jiff::tz::TimeZone;
use tollgate_tls_client::Group;

use crate::complete::Complete;
use crate::probe::Probe;
use crate::support::Support;

impl Probe {
    /// Returns one line for each result: six to ten for a server with TLS.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(support) = &self.support {
            lines.extend(self.of_tls(support));
        }
        if let Some(body) = &self.body {
            let bytes = match body.bytes {
                Some(bytes) => format!("{bytes} bytes"),
                None => "a body of unknown length".to_owned(),
            };
            let keeps = match (body.bytes, body.keeps_alive()) {
                (Some(_), true) => "connections stay open for the next request",
                (Some(_), false) => "connections close after a response",
                (None, _) => "whether connections stay open is unknown",
            };
            lines.push(format!("path: status {}, {bytes}; {keeps}", body.status));
        }
        let tried = self.support.as_ref().map_or(0, |support| support.tried);
        lines.push(format!(
            "probed in {} ms{}",
            self.took.as_millis(),
            if tried > 0 { format!(", {tried} handshakes tried") } else { String::new() }
        ));
        lines
    }

    fn of_tls(&self, support: &Support) -> Vec<String> {
        let mut lines = Vec::new();
        for (is_tls13, version, groups) in
            [(true, "TLS 1.3", &support.groups), (false, "TLS 1.2", &support.curves)]
        {
            let of_version = support.suites.iter().filter(|suite| suite.is_tls13() == is_tls13);
            let suites: Vec<&str> = of_version.map(|suite| suite.name()).collect();
            if suites.is_empty() {
                lines.push(format!("{version}: no"));
                continue;
            }
            let groups = if groups.is_empty() { "none".to_owned() } else { names(groups) };
            lines.push(format!("{version}: {}; groups: {groups}", suites.join(", ")));
        }
        let complete = [("TLS 1.3", &self.tls13), ("TLS 1.2", &self.tls12)];
        let complete: Vec<String> = complete
            .into_iter()
            .filter_map(|(version, seen)| agreed(version, seen.as_ref()?))
            .collect();
        if !complete.is_empty() {
            lines.push(format!("complete clients get: {}", complete.join("; ")));
        }
        lines.push(self.certificates(support));
        lines.push(self.sessions(support));
        lines.push(self.ocsp());
        lines
    }

    fn certificates(&self, support: &Support) -> String {
        let leaf = self.leaf();
        let until = leaf.as_ref().map_or_else(String::new, |leaf| {
            format!(", until {}", leaf.until.to_zoned(TimeZone::UTC).date())
        });
        let chain = match (self.complete().next(), self.chain_bytes()) {
            (Some(seen), Some(bytes)) => {
                format!("{bytes} bytes in a chain of {}", seen.chain.len())
            }
            _ => leaf.as_ref().map_or_else(String::new, |leaf| {
                format!("{} bytes, its chain was not seen", leaf.bytes)
            }),
        };
        let mut keys: Vec<&str> = leaf.iter().map(|leaf| leaf.key.as_str()).collect();
        for leaf in &support.leaves {
            if !keys.contains(&leaf.key.as_str()) {
                keys.push(&leaf.key);
            }
        }
        format!("certificate: {}, {chain}{until}", keys.join(" and another one with "))
    }

    fn sessions(&self, support: &Support) -> String {
        let resumed = |seen: &Option<Complete>| match seen {
            Some(seen) if seen.resumes => "a second connection resumes",
            Some(_) => "a second connection resumes nothing",
            None => "no second connection was tried",
        };
        let mut parts = Vec::new();
        if support.has_version(true) {
            let tickets = self.tls13.as_ref().map_or(0, |seen| seen.tickets);
            parts.push(format!("TLS 1.3, tickets: {tickets}, {}", resumed(&self.tls13)));
        }
        if support.has_version(false) {
            let tickets = support.tickets_tls12;
            parts.push(format!("TLS 1.2, tickets: {tickets}, {}", resumed(&self.tls12)));
        }
        format!("sessions: {}", parts.join("; "))
    }

    fn ocsp(&self) -> String {
        match self.complete().map(|seen| seen.ocsp_bytes).max() {
            None => "OCSP: not seen".to_owned(),
            Some(0) => "OCSP: no response is stapled".to_owned(),
            Some(bytes) => format!("OCSP: a response of {bytes} bytes is stapled"),
        }
    }
}

fn agreed(version: &str, seen: &Complete) -> Option<String> {
    let group = seen.group.as_ref().map_or_else(String::new, |group| format!(" with {group}"));
    (!seen.suite.is_empty()).then(|| format!("{version}, {}{group}", seen.suite))
}

pub(crate) fn names(groups: &[Group]) -> String {
    groups.iter().map(|group| group.name()).collect::<Vec<_>>().join(", ")
}
