//! The servers of a plan, of which only connections are used.

use tollgate_load::Protocol;
use tollgate_server::in_memory::Worker;
use tollgate_server::{Certificate, Config, Engine, KeyKind, Resumption, Suite};
use tollgate_tls_client::Group;

use crate::error::Error;
use crate::handshake::Handshake;
use crate::plan::{Session, SessionPlan};

/// A server for each kind of session.
pub(crate) struct Workers(Vec<(Kind, Worker)>);

/// The properties that set the server of a session apart.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Kind {
    key: KeyKind,
    engine: Engine,
    group: Option<Group>,
    handshake: Handshake,
}

impl Kind {
    fn new(session: &Session) -> Self {
        // An ECDSA client offers several groups, and the server's order decides.
        let on_curve = session.protocol == Protocol::Tls12P256 && !session.key.is_rsa();
        Self {
            key: session.key,
            engine: session.engine,
            group: session.group.or(on_curve.then_some(Group::P256)),
            handshake: session.handshake,
        }
    }

    fn start(&self, plan: &SessionPlan) -> Result<Worker, Error> {
        let names_suites = plan.sessions.iter().any(|session| session.suite.is_some());
        let usual = Config::default();
        let group = self.group.and_then(|group| group.name().parse().ok());
        let others = usual.groups.iter().copied().filter(|other| Some(*other) != group);
        let config = Config {
            engine: self.engine,
            certificate: Certificate::SelfSigned(self.key),
            suites: if names_suites { Suite::ALL.to_vec() } else { Vec::new() },
            groups: group.into_iter().chain(others).collect(),
            resumption: match self.handshake {
                Handshake::Full => Resumption::Off,
                Handshake::SessionId => Resumption::Cache,
                Handshake::Ticket => Resumption::Tickets,
            },
            ..usual
        };
        Ok(if plan.pauses { Worker::new(&config)? } else { Worker::without_pauses(&config)? })
    }
}

impl Workers {
    /// Makes one server for each kind of session.
    pub(crate) fn new(plan: &SessionPlan) -> Result<Self, Error> {
        let mut workers = Self(Vec::new());
        for session in &plan.sessions {
            let kind = Kind::new(session);
            if workers.find(&kind).is_none() {
                workers.0.push((kind, kind.start(plan)?));
            }
        }
        Ok(workers)
    }

    /// The server of a session of the plan.
    pub(crate) fn of_session(&self, session: &Session) -> &Worker {
        self.find(&Kind::new(session)).expect("each session of the plan has its server")
    }

    fn find(&self, kind: &Kind) -> Option<&Worker> {
        self.0.iter().find_map(|(known, worker)| (known == kind).then_some(worker))
    }
}
