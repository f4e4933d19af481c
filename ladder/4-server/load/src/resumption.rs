//! Which sessions are to be resumed, and whether they were.

use core::fmt;

use serde::{Deserialize, Serialize};
use tollgate_tls_client as client;

use crate::counts::{Counts, share};
use crate::finding::Finding;
use crate::plan::{Close, Plan};

/// How many sessions are resumed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// The share of secure transactions that offer a session of before: above 0, at most 1. They
    /// are drawn by the plan's seed, on each thread as many as the share says, to within one. Where
    /// a recorded trace says which sessions were resumed it is the share of its lines, and these
    /// do.
    pub share: f64,
    /// How the server is to find the session.
    pub by: Mechanism,
}

/// How a server finds the session that is to be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// TLS 1.2: by its session ID, in the server's memory. No ticket is asked for.
    SessionId,
    /// TLS 1.2: by a ticket, which holds it.
    Ticket,
    /// TLS 1.3: by the key of a ticket, with a new key agreement.
    Psk,
    /// TLS 1.3: by the key of a ticket alone.
    PskKe,
    /// TLS 1.3: as [`Psk`](Self::Psk), and the first request goes with the `ClientHello`.
    EarlyData,
}

impl Mechanism {
    /// Every mechanism.
    pub const ALL: [Self; 5] =
        [Self::SessionId, Self::Ticket, Self::Psk, Self::PskKe, Self::EarlyData];

    /// As plans, subjects of records and flags spell it: `session-id`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::SessionId => "session-id",
            Self::Ticket => "ticket",
            Self::Psk => "psk",
            Self::PskKe => "psk-ke",
            Self::EarlyData => "early-data",
        }
    }

    /// What most clients of the version do.
    #[must_use]
    pub const fn usual(is_tls13: bool) -> Self {
        if is_tls13 { Self::Psk } else { Self::Ticket }
    }

    /// What the client calls a session for it.
    pub(crate) const fn saved_as(self) -> client::Mechanism {
        match self {
            Self::SessionId => client::Mechanism::SessionId,
            Self::Ticket => client::Mechanism::Ticket,
            Self::Psk | Self::PskKe | Self::EarlyData => client::Mechanism::Psk,
        }
    }

    /// Whether it is one of TLS 1.3; else it is one of TLS 1.2.
    #[must_use]
    pub const fn is_tls13(self) -> bool {
        matches!(self, Self::Psk | Self::PskKe | Self::EarlyData)
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// What became of the sessions that were to be resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resumptions {
    /// Connections that offered a session.
    pub offered: u64,
    /// Those of them that the server resumed, and whose handshake it confirmed.
    pub accepted: u64,
    /// Those that it did not resume: a full handshake followed.
    pub refused: u64,
    /// Connections that were to offer a session and had none: a full handshake followed.
    pub starved: u64,
    /// Those accepted whose early data the server took.
    pub early_data: u64,
}

impl fmt::Display for Resumptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offered, accepted, refused, starved, early_data } = self;
        write!(
            f,
            "{offered} sessions offered, {accepted} resumed, {refused} refused; {starved} had none \
             to offer"
        )?;
        if *early_data > 0 {
            write!(f, "; early data of {early_data} was taken")?;
        }
        Ok(())
    }
}

impl Resumptions {
    pub(crate) const fn add(&mut self, other: Self) {
        self.offered += other.offered;
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.starved += other.starved;
        self.early_data += other.early_data;
    }
}

/// A larger difference between plan and run makes it invalid: one point.
const OFF_PLAN: f64 = 0.01;

impl Resume {
    pub(crate) const OF_TRACE: &str =
        "the trace has sessions that were resumed: resume says how, with the share of its lines";

    /// Of the confirmed handshakes, the share that did as the plan says; none without any.
    pub(crate) fn achieved(self, counts: &Counts) -> Option<f64> {
        let found = match self.by {
            Mechanism::EarlyData => counts.resumptions.early_data,
            _ => counts.resumptions.accepted,
        };
        (counts.confirmed > 0).then(|| share(found, counts.confirmed))
    }

    /// Whether the sustained part misses the plan.
    pub(crate) fn miss(self, plan: &Plan, sustain: &Counts) -> Option<Finding> {
        let achieved = self.achieved(sustain)?;
        let Resumptions { offered, refused, starved, .. } = sustain.resumptions;
        // a trace need not have the same share in this part of it as in the whole
        let planned = match plan.arrivals.reused_share() {
            Some(_) => share(offered + starved, sustain.confirmed).min(1.0),
            None => self.share,
        };
        ((achieved - planned).abs() > OFF_PLAN).then_some(Finding::ResumedOffPlan {
            planned,
            achieved,
            offered,
            refused,
            starved,
        })
    }

    /// The rule of a plan that it breaks, if it does.
    pub(crate) fn broken_rule(self, plan: &Plan) -> Option<&'static str> {
        let is_tls13 = plan.offer.settings(plan.protocol).map(|known| known.suite.is_tls13());
        if !(self.share > 0.0 && self.share <= 1.0) {
            Some("resume: a share is above 0 and at most 1")
        } else if plan.plain_share >= 1.0 {
            Some("resume: without TLS there are no sessions to resume")
        } else if is_tls13.is_some_and(|is| is != self.by.is_tls13()) {
            Some(
                "resume: TLS 1.2 resumes by session-id or ticket, TLS 1.3 by psk, psk-ke or \
                 early-data",
            )
        } else if self.by == Mechanism::EarlyData && plan.exchange.is_nothing() {
            Some("resume: early-data is a request, and without transfer there is none")
        } else if self.by == Mechanism::EarlyData && plan.close == Close::RstAfterConfirm {
            Some(
                "resume: with early-data connections end by fin: the response may come before the \
                 server's handshake is complete, and a reset would break it off",
            )
        } else if plan
            .arrivals
            .reused_share()
            .is_some_and(|of_trace| (of_trace - self.share).abs() > f64::EPSILON)
        {
            Some(Self::OF_TRACE)
        } else {
            None
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::arrivals::{Arrivals, Pattern};
    use crate::plan::{Exchange, Protocol};

    #[test]
    fn words_are_those_of_the_json() {
        for by in Mechanism::ALL {
            let json = serde_json::to_string(&by).unwrap_or_default();
            assert_eq!(json, format!("\"{by}\""));
        }
    }

    #[test]
    fn a_point_more_or_less_is_off_plan() {
        let counts = |accepted, early_data| Counts {
            confirmed: 1000,
            resumptions: Resumptions { offered: 900, accepted, early_data, ..Default::default() },
            ..Counts::default()
        };
        let plan = Plan::new(Protocol::Tls12X25519);
        let resume = Resume { share: 0.8, by: Mechanism::Ticket };
        for (accepted, is_off) in
            [(800, false), (791, false), (809, false), (789, true), (811, true)]
        {
            assert_eq!(resume.miss(&plan, &counts(accepted, 0)).is_some(), is_off, "{accepted}");
        }
        let early = Resume { by: Mechanism::EarlyData, ..resume };
        assert_eq!(early.miss(&plan, &counts(900, 800)), None);
        let text =
            early.miss(&plan, &counts(800, 0)).map(|off| off.to_string()).unwrap_or_default();
        assert!(text.contains("80.0 %") && text.contains("0.0 %"), "{text}");
        assert_eq!(resume.miss(&plan, &Counts::default()), None, "nothing was measured");
    }

    #[test]
    fn what_a_protocol_cannot_do_is_refused() {
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

    #[test]
    fn a_trace_says_which_and_the_plan_how() {
        let arrivals = Arrivals::open(Pattern::Trace("0 reuse\n1\n2\n7 reuse".parse().unwrap()));
        let of = |share: Option<f64>| {
            let resume = share.map(|share| Resume { share, by: Mechanism::Psk });
            Plan { arrivals: arrivals.clone(), resume, ..Plan::new(Protocol::Tls13) }
        };
        of(Some(0.5)).check().unwrap();
        for share in [None, Some(0.4)] {
            let text = of(share).check().unwrap_err().to_string();
            assert!(text.contains("the trace has sessions that were resumed"), "{text}");
        }
        // in the part that counts none was to be resumed, and none was
        let counts = Counts { confirmed: 2, ..Counts::default() };
        let plan = of(Some(0.5));
        assert_eq!(plan.resume.and_then(|resume| resume.miss(&plan, &counts)), None);
    }
}
