//! Resumption of sessions: plan and counts.

use serde::{Deserialize, Serialize};
use tollgate_tls_client as client;

use crate::counts::{Counts, share};
use crate::messages::words;

/// The share of resumed sessions, and how the server finds them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// The share of secure transactions that offer an earlier session: above 0, at most 1. Each
    /// thread draws them from the plan's seed; their number differs from the expected number by
    /// less than one.
    pub share: f64,
    /// The mechanism.
    pub by: Mechanism,
}

words! {
    /// A mechanism of resumption.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    Mechanism {
        /// TLS 1.2: by session ID, in the server's memory. The client requests no ticket.
        SessionId = "session-id",
        /// TLS 1.2: by a ticket that contains the session.
        Ticket = "ticket",
        /// TLS 1.3: by the pre-shared key of a ticket, with a new key agreement.
        Psk = "psk",
        /// TLS 1.3: as [`Psk`](Self::Psk), with the first request as early data.
        EarlyData = "early-data",
    }
}

impl Mechanism {
    /// Returns the usual mechanism of the version.
    #[must_use]
    pub const fn usual(is_tls13: bool) -> Self {
        if is_tls13 { Self::Psk } else { Self::Ticket }
    }

    /// Returns the kind of session that the mechanism needs.
    pub(crate) const fn saved_as(self) -> client::SessionKind {
        match self {
            Self::SessionId => client::SessionKind::SessionId,
            Self::Ticket => client::SessionKind::Ticket,
            Self::Psk | Self::EarlyData => client::SessionKind::Psk,
        }
    }

    /// Returns whether the mechanism belongs to TLS 1.3; otherwise it belongs to TLS 1.2.
    #[must_use]
    pub const fn is_tls13(self) -> bool {
        matches!(self, Self::Psk | Self::EarlyData)
    }
}

impl Resume {
    /// Returns the share of confirmed handshakes that resumed as planned; `None` if there are none.
    pub(crate) fn achieved(self, counts: &Counts) -> Option<f64> {
        let found = match self.by {
            Mechanism::EarlyData => counts.resumptions.early_data,
            _ => counts.resumptions.accepted,
        };
        (counts.confirmed > 0).then(|| share(found, counts.confirmed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::offer::Protocol;
    use crate::plan::{Exchange, Plan};

    #[test]
    fn words_equal_the_json() {
        for by in Mechanism::ALL {
            let json = serde_json::to_string(&by).unwrap_or_default();
            assert_eq!(json, format!("\"{by}\""));
        }
    }

    #[test]
    fn mechanisms_of_another_protocol_are_refused() {
        let rule = |protocol, resume: Resume, exchange| {
            let plan = Plan { resume: Some(resume), exchange, ..Plan::new(protocol) };
            plan.check().err().map(|error| error.to_string()).unwrap_or_default()
        };
        let get = || Exchange::bytes(0);
        let resume = |share, by| Resume { share, by };
        assert_eq!(rule(Protocol::Tls13, resume(1.0, Mechanism::Psk), get()), "");
        for (protocol, by) in
            [(Protocol::Tls13, Mechanism::Ticket), (Protocol::Tls12Rsa, Mechanism::EarlyData)]
        {
            assert!(rule(protocol, resume(0.5, by), get()).contains("TLS 1.2 resumes by"));
        }
        for share in [0.0, 1.1, f64::NAN] {
            let text = rule(Protocol::Tls13, resume(share, Mechanism::Psk), get());
            assert!(text.contains("above 0"), "{text}");
        }
        let early = resume(0.5, Mechanism::EarlyData);
        assert!(rule(Protocol::Tls13, early, Exchange::HandshakeOnly).contains("request"));
        assert!(rule(Protocol::Tls13, early, get()).contains("fin"));
    }
}
