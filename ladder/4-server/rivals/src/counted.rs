//! What both sides counted of a run.

use core::time::Duration;

use tollgate_load::Seen;

/// A run: counts of both sides, and figures if they agree.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Sessions whose body came whole, as the client counted them.
    pub transactions: u64,
    /// Sessions that failed, as the client counted them.
    pub failed: u64,
    /// What the server's log has.
    pub seen: Seen,
    /// What speaks against the run; there is no figure then.
    pub objections: Vec<String>,
    pub(crate) per_s: Option<f64>,
    pub(crate) server_cpu: Option<Duration>,
    pub(crate) client_cpu: Option<Duration>,
}

impl Counted {
    /// Sessions per second of the server.
    #[must_use]
    pub fn sessions_per_s(&self) -> Option<f64> {
        self.per_s.filter(|_| self.objections.is_empty())
    }

    /// CPU time of the server over the sessions of its log, in nanoseconds.
    #[must_use]
    pub fn server_cpu_ns_per_session(&self) -> Option<f64> {
        self.over_sessions(self.server_cpu)
    }

    /// CPU time of the client, and of its processes, over the sessions, in nanoseconds.
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

/// What speaks against these counts.
pub(crate) fn objections(
    (transactions, failed): (u64, u64),
    first_failure: Option<String>,
    seen: &Seen,
) -> Vec<String> {
    let mut objections = Vec::new();
    if let Some(why) = first_failure {
        objections.push(format!("{failed} sessions failed, the first of them so: {why}"));
    }
    if transactions == 0 {
        objections.push("no session came to its end".to_owned());
    }
    if (seen.handshakes, seen.requests) != (transactions, transactions) {
        objections.push(format!(
            "the client counted {transactions} sessions, the server's log has {} handshakes and {} \
             responses",
            seen.handshakes, seen.requests
        ));
    }
    if seen.resumed > 0 {
        objections.push(format!("{} handshakes resumed a session: none may", seen.resumed));
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
        assert!(all(Seen::default(), (0, 0)).contains("no session"));
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
