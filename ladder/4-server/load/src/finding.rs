//! Findings: objections to a run.

use core::mem::discriminant;
use core::time::Duration;

use crate::messages::messages;
use crate::phase::Failure;

/// The findings of a run: those that make it invalid, and those that make it doubtful.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Findings {
    pub(crate) reasons: Vec<Finding>,
    pub(crate) doubts: Vec<Finding>,
}

impl Findings {
    /// Adds the findings about the part of an agent.
    pub(crate) fn add_of(&mut self, agent: &str, part: Self) {
        let named =
            |finding| Finding::OfAgent { agent: agent.to_owned(), finding: Box::new(finding) };
        self.reasons.extend(part.reasons.into_iter().map(named));
        self.doubts.extend(part.doubts.into_iter().map(named));
    }

    /// Adds a finding if its value exceeds a limit: as a reason above `max`, otherwise as a doubt.
    pub(crate) fn above(&mut self, (max, doubt): (f64, f64), value: f64, finding: Finding) {
        if value > max {
            self.reasons.push(finding);
        } else if value > doubt {
            self.doubts.push(finding);
        }
    }
}

impl Finding {
    /// Returns whether two findings have the same kind, and are about the same agent.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::OfAgent { agent, finding },
                Self::OfAgent { agent: other_agent, finding: other },
            ) => agent == other_agent && finding.is_like(other),
            (Self::AgentLost { agent, .. }, Self::AgentLost { agent: other, .. }) => agent == other,
            _ => discriminant(self) == discriminant(other),
        }
    }

    /// Returns the finding itself, if it is one about the part of an agent.
    #[must_use]
    pub fn cause(&self) -> &Self {
        match self {
            Self::OfAgent { finding, .. } => finding,
            other => other,
        }
    }
}

messages! {
    /// An objection to a run; its text says what to do. Shares are in [0, 1]. The share of `Drift`
    /// is the change from the first bin to the last, relative to the mean.
    #[derive(Clone, Debug, PartialEq)]
    Finding {
        AgentLost { agent: String, after: Duration, why: String } =>
            "{agent} was lost after {:.1} s, and with it its share of the plan: {why}",
            after.as_secs_f64();
        BrokenOff { after: Duration } =>
            "it was stopped after {:.1} s: let it run to its end", after.as_secs_f64();
        ClientBusy { share: f64 } =>
            "the client used {:.0} % of a core and limits the rate: give it more threads and its \
             own cores", 100.0 * share;
        ClientWaited { share: f64 } =>
            "a client thread waited for a core {:.0} % of the time: give client and server their \
             own cores", 100.0 * share;
        ClockDrift { share: f64 } =>
            "the clocks disagree by {:.2} % about the duration of the run: the time was set, or \
             the machine was suspended; repeat", 100.0 * share;
        ConfirmedLess { client_done: u64, confirmed: u64 } =>
            "the client completed {client_done} handshakes and the server confirmed {confirmed}: \
             see the server's log for the others";
        Dropped { dropped: u64, arrivals: u64 } =>
            "{dropped} of {arrivals} arrivals never began, because no connection was free for \
             long: the server does not keep up with this rate; give a lower rate, or more \
             connections";
        DrawnOffRate { arrivals: u64, arrivals_mean: f64 } =>
            "the seed gives {arrivals} arrivals in the measured part, the mean is \
             {arrivals_mean:.0}: measure longer, or with several seeds";
        Drift { share: f64 } =>
            "the rate moved by {:+.1} % during the measured part: measure longer, stop other \
             programs, and repeat", 100.0 * share;
        Errors { failed: u64, attempts: u64, worst: Failure } =>
            "{failed} of {attempts} transactions failed, most often: {worst}; {}",
            worst.advice().unwrap_or("see the server's log");
        HelloRetries { count: u64 } =>
            "the server requested a second ClientHello {count} times, which costs a round trip: \
             enable the group of the plan in the server";
        LateStarts { late: u64, arrivals: u64 } =>
            "the client began {late} of {arrivals} arrivals late, which is part of the times: give \
             it more threads and its own cores";
        ListenDrops { count: u64, attempts: u64 } =>
            "a listen queue on this machine was full {count} times, in {attempts} connections: \
             affected clients waited a second; increase the backlog of listen and \
             net.core.somaxconn";
        Nothing =>
            "no transaction was completed in the measured part: measure longer, or look at the \
             server";
        OfAgent { agent: String, finding: Box<Finding> } => "{agent}: {finding}";
        OfferedOffPlan { outside: u64, queued: u64, arrivals: u64 } =>
            "{outside} arrivals began late, on the wrong side of a boundary of the measured part, \
             which has {arrivals}: {}",
            if 2 * queued > *outside {
                "no connection was free for them; measure longer, or give a lower rate or more \
                 connections"
            } else {
                "the client did not keep up; give it more threads and its own cores, or a lower \
                 rate"
            };
        OtherGroup { named: String, chosen: &'static str, count: u64 } =>
            "the plan has {named}, and the server chose {chosen} in {count} handshakes: enable \
             {named} in the server (OpenSSL has X25519MLKEM768 from version 3.5), or give --group \
             {chosen}";
        PortsWaiting { waiting: u64, ports: u64 } =>
            "sockets in TIME_WAIT take {waiting} of {ports} ports: close with rst-after-confirm, \
             or wait a minute before the next run";
        RefereeBytes { client: u64, server: u64 } =>
            "the client received {client} bytes of complete bodies and the server's log has \
             {server}: report the case";
        RefereeHandshakes { client: u64, server: u64 } =>
            "the client counted {client} confirmed handshakes and the server's log has {server}: \
             repeat with nothing else using this server";
        RefereeLost { why: String } =>
            "the server's log could not be read at the end: {why}";
        RefereeRequests { client: u64, server: u64 } =>
            "the client counted {client} complete responses and the server's log has {server} \
             requests: repeat with nothing else using this server";
        RefereeResumed { client: u64, server: u64 } =>
            "the client counted {client} resumed sessions and the server's log has {server}: \
             repeat with nothing else using this server";
        Resumed { count: u64, handshakes: u64 } =>
            "the server's log shows {count} of {handshakes} sessions as resumed, and the plan \
             resumes none: something else uses this server";
        ResumedCold { planned: f64, achieved: f64, starved: u64 } =>
            "{:.1} % of the sessions were resumed, and the plan has {:.1} %: {starved} connections \
             began before there was a session to offer; give more requests, or fewer connections",
            100.0 * achieved, 100.0 * planned;
        ResumedOffPlan { planned: f64, achieved: f64, offered: u64, refused: u64, starved: u64 } =>
            "{:.1} % of the sessions were resumed, and the plan has {:.1} %: of {offered} offered \
             sessions the server refused {refused}, and {starved} connections had none to offer; \
             enable this mechanism in the server, or measure longer",
            100.0 * achieved, 100.0 * planned;
        Retransmits { count: u64, segments: u64 } =>
            "{count} of {segments} TCP segments of this machine were retransmitted: the network \
             loses them, or a listen queue is full; the delay is part of the times";
        ServerAway { refused: u64 } =>
            "{refused} connections were refused during the run: the server ended, or was \
             restarted; see its log, and repeat";
        ServerCpuLate =>
            "the server's CPU time was read late, and there is no figure of it: stop other \
             programs, or measure longer";
        ServerCpuLost { why: String } =>
            "the server's CPU time could not be read to the end ({why}): see that the server lives";
        ServerGone { failure: Failure, transactions: u64 } =>
            "the server stopped answering after {transactions} transactions: {failure}; {}",
            failure.advice().unwrap_or("start it again, and look at its log");
        ShapeUnknown =>
            "the measured part is too short to tell whether the rate stalled, shorter than 600 ms: \
             measure longer";
        Spread { share: f64 } =>
            "the rate per bin scatters by {:.1} %: stop other programs, or measure longer",
            100.0 * share;
        Stalled =>
            "for a while no transaction was completed: check the server, and repeat";
        Unaccounted { attempts: u64, ended: u64 } =>
            "{attempts} connections were begun and {ended} have ended: report the case";
    }
}
