//! The number of calls of each primitive that the server's engine runs as one batch.

use std::collections::BTreeMap;

use tollgate_server::Engine;
use tollgate_server::in_memory::Worker;

use crate::calls;
use crate::error::Error;
use crate::need::Need;
use crate::plan::{Session, SessionPlan};
use crate::primitive::Primitive;

/// The batches of a server at one number of connections. A primitive that is not in them runs
/// alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Batches(BTreeMap<Primitive, u32>);

impl Batches {
    /// Asks the engine of a server: it runs a batch when enough connections wait for it.
    pub(crate) fn new(
        plan: &SessionPlan,
        session: &Session,
        need: &Need,
        worker: &Worker,
    ) -> Result<Self, Error> {
        let mut batches = BTreeMap::new();
        if plan.pauses && session.engine == Engine::Tollgate {
            for (primitive, _) in need.counts() {
                let full = calls::batch_of(primitive, session.key, worker)?;
                let batch = full.min(plan.connections);
                if batch > 1 {
                    batches.insert(primitive, batch);
                }
            }
        }
        Ok(Self(batches))
    }

    /// The number of calls in a batch; 1 if the primitive runs alone.
    pub(crate) fn size(&self, primitive: Primitive) -> u32 {
        self.0.get(&primitive).copied().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use tollgate_load::Protocol;
    use tollgate_queue::{Class, Lanes, PrivateJob, Unit as _};
    use tollgate_server::KeyKind;

    use super::*;
    use crate::primitive::PrivateOperation;
    use crate::workers::Workers;

    #[test]
    fn a_batch_is_as_wide_as_the_engine_s_unit_or_as_there_are_connections() {
        let of_rsa = [PrivateOperation::SignPss, PrivateOperation::Decrypt];
        has_batches_of(KeyKind::Rsa { bits: 2048 }, Class(2048), &of_rsa);
        has_batches_of(KeyKind::EcdsaP256, PrivateJob::ECDSA_P256, &[PrivateOperation::Sign]);
    }

    fn has_batches_of(key: KeyKind, class: Class, operations: &[PrivateOperation]) {
        let private = |need: Need, &operation| need.and(1.0, Primitive::Private(operation));
        let need = operations.iter().fold(Need::default(), private);
        let width = Lanes::new(0).unwrap().width(class);
        let width = u32::try_from(width).unwrap();
        for (engine, pauses, connections, expected) in [
            (Engine::Tollgate, true, 16, width),
            (Engine::Tollgate, true, 3, width.min(3)),
            (Engine::Tollgate, true, 1, 1),
            (Engine::Tollgate, false, 16, 1),
            (Engine::OpenSsl, true, 16, 1),
        ] {
            let session = Session::new(key, Protocol::Tls13, engine, 0);
            let plan = SessionPlan::new(vec![session], Duration::from_secs(1));
            let plan = SessionPlan { pauses, connections, ..plan };
            let workers = Workers::new(&plan).unwrap();
            let worker = workers.of_session(&session);
            let batches = Batches::new(&plan, &session, &need, worker).unwrap();
            for (primitive, _) in need.counts() {
                assert_eq!(batches.size(primitive), expected, "{engine}, {connections}");
            }
        }
    }
}
