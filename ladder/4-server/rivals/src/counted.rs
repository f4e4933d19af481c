//! Counts of client and server in a run.

use core::time::Duration;

use tollgate_load::Seen;

/// Counts of both sides of a run, and figures if they agree.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Sessions whose body is complete, as the client counted them.
    pub transactions: u64,
    /// Sessions that failed, as the client counted them.
    pub failed: u64,
    /// The server's log.
    pub seen: Seen,
    /// Objections to the run. If there are any, the run has no figures.
    pub objections: Vec<String>,
    pub(crate) per_s: Option<f64>,
    pub(crate) server_cpu: Option<Duration>,
    pub(crate) client_cpu: Option<Duration>,
}

impl Counted {
    /// Returns the sessions per second of the server.
    #[must_use]
    pub fn sessions_per_s(&self) -> Option<f64> {
        self.per_s.filter(|_| self.objections.is_empty())
    }

    /// Returns the CPU time of the server divided by the sessions of its log, in nanoseconds.
    #[must_use]
    pub fn server_cpu_ns_per_session(&self) -> Option<f64> {
        self.over_sessions(self.server_cpu)
    }

    /// Returns the CPU time of the client and its processes divided by the sessions, in
    /// nanoseconds.
    #[must_use]
    pub fn client_cpu_ns_per_session(&self) -> Option<f64> {
        self.over_sessions(self.client_cpu)
    }

    fn over_sessions(&self, cpu: Option<Duration>) -> Option<f64> {
        #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
        let sessions = self.seen.requests as f64;
        cpu.filter(|_| self.objections.is_empty() && sessions > 0.0)
            .map(|cpu| cpu.as_secs_f64() * 1e9 / sessions)
    }
}

/// Counts of one thread of a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Sessions whose body is complete.
    pub(crate) transactions: u64,
    /// Other sessions.
    pub(crate) failed: u64,
    pub(crate) first_failure: Option<String>,
    pub(crate) cpu: Duration,
}

impl Tally {
    pub(crate) fn count(&mut self, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.transactions += 1,
            Err(why) => {
                self.failed += 1;
                self.first_failure.get_or_insert(why);
            }
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.transactions += other.transactions;
        self.failed += other.failed;
        self.cpu += other.cpu;
        self.first_failure = self.first_failure.take().or(other.first_failure);
    }
}

/// Objections to these counts.
pub(crate) fn objections(
    (transactions, failed): (u64, u64),
    first_failure: Option<String>,
    seen: &Seen,
) -> Vec<String> {
    let mut objections = Vec::new();
    if let Some(why) = first_failure {
        objections.push(format!("{failed} sessions failed, the first one: {why}"));
    }
    if transactions == 0 {
        objections.push("no session was completed".to_owned());
    }
    if (seen.handshakes, seen.requests) != (transactions, transactions) {
        objections.push(format!(
            "the client counted {transactions} sessions, the server's log has {} handshakes and {} \
             responses",
            seen.handshakes, seen.requests
        ));
    }
    if seen.resumed > 0 {
        objections.push(format!(
            "{} handshakes resumed a session, which is not allowed here",
            seen.resumed
        ));
    }
    objections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_differ_give_no_figure() {
        let seen = Seen { handshakes: 7, requests: 7, ..Seen::default() };
        assert!(objections((7, 0), None, &seen).is_empty());
        let all = |seen: Seen, counts| objections(counts, None, &seen).join(" ");
        assert!(all(Seen { resumed: 1, ..seen }, (7, 0)).contains("resumed"));
        assert!(all(Seen { handshakes: 8, ..seen }, (7, 0)).contains("8 handshakes"));
        assert!(all(Seen::default(), (0, 0)).contains("no session was completed"));
        let counted = Counted {
            transactions: 7,
            failed: 0,
            seen,
            objections: Vec::new(),
            per_s: Some(2.0),
            server_cpu: Some(Duration::from_millis(7)),
            client_cpu: None,
        };
        assert_eq!(counted.server_cpu_ns_per_session(), Some(1e6));
        assert_eq!(counted.client_cpu_ns_per_session(), None);
        let bad = Counted { objections: vec!["x".to_owned()], ..counted };
        assert_eq!((bad.server_cpu_ns_per_session(), bad.sessions_per_s()), (None, None));
    }
}
