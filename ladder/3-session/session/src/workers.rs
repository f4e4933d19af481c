//! The servers in memory of a plan, with the certificates of both ends.

use tollgate_load::Protocol;
use tollgate_server::in_memory::Worker;
use tollgate_server::{Config, Engine, KeyKind, Suite};
use tollgate_tls_client::Group;

use crate::certificates::Certificates;
use crate::error::Error;
use crate::handshake::Handshake;
use crate::plan::{Session, SessionPlan};

/// A server in memory for each kind of session.
pub(crate) struct Workers(Vec<(Kind, Served)>);

/// The properties that set the server of a session apart.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Kind {
    key: KeyKind,
    engine: Engine,
    group: Option<Group>,
    handshake: Handshake,
    chain: Option<u8>,
}

/// A server in memory, and the certificates of both ends.
pub(crate) struct Served {
    pub(crate) worker: Worker,
    pub(crate) certificates: Certificates,
}

impl Served {
    fn new(session: &Session, plan: &SessionPlan) -> Result<Self, Error> {
        let certificates = Certificates::new(session, plan.both_ends)?;
        let config = Config {
            certificate: certificates.certificate()?,
            client_roots: certificates.client_roots()?,
            ..Kind::of(session).config(plan)
        };
        let worker = match plan.pauses {
            true => Worker::new(&config)?,
            false => Worker::without_pauses(&config)?,
        };
        Ok(Self { worker, certificates })
    }
}

impl Kind {
    fn of(session: &Session) -> Self {
        // An ECDSA client offers several groups, and the server's order decides.
        let on_curve = session.protocol == Protocol::Tls12P256 && !session.key.is_rsa();
        Self {
            key: session.key,
            engine: session.engine,
            group: session.group.or(on_curve.then_some(Group::P256)),
            handshake: session.handshake,
            chain: session.chain,
        }
    }

    fn config(&self, plan: &SessionPlan) -> Config {
        let names_suites = plan.sessions.iter().any(|session| session.suite.is_some());
        let usual = Config::default();
        let group = self.group.and_then(|group| group.name().parse().ok());
        let others = usual.groups.iter().copied().filter(|other| Some(*other) != group);
        Config {
            engine: self.engine,
            allow_rsa_1024: true,
            allow_rsa_kx: names_suites
                || plan.sessions.iter().any(|s| s.protocol == Protocol::Tls12Rsa),
            suites: if names_suites { Suite::ALL.to_vec() } else { Vec::new() },
            groups: group.into_iter().chain(others).collect(),
            resumption: self.handshake.resumption(),
            // The server formats log lines, as under load, and discards them.
            access_log: Some("/dev/null".into()),
            ..usual
        }
    }
}

impl Workers {
    /// Starts one server in memory for each kind of session.
    pub(crate) fn of(plan: &SessionPlan) -> Result<Self, Error> {
        let mut workers = Self(Vec::new());
        for session in &plan.sessions {
            let kind = Kind::of(session);
            if workers.find(&kind).is_none() {
                workers.0.push((kind, Served::new(session, plan)?));
            }
        }
        Ok(workers)
    }

    /// The server of a session of the plan.
    pub(crate) fn of_session(&self, session: &Session) -> &Served {
        self.find(&Kind::of(session)).expect("each session of the plan has its server")
    }

    fn find(&self, kind: &Kind) -> Option<&Served> {
        self.0.iter().find_map(|(known, served)| (known == kind).then_some(served))
    }
}
