//! Measures primitives and replays, and predicts sessions from them.

use core::cell::RefCell;
use core::time::Duration;
use std::collections::BTreeMap;

use tollgate_bench::{Contender, Sample, SamplePlan, Series, Wrong, interleave, median_estimate};
use tollgate_load::Context;
use tollgate_record::{Estimate, Record, Subject};

use crate::batches::Batches;
use crate::calls;
use crate::counts;
use crate::error::Error;
use crate::halves::Halves;
use crate::need::Need;
use crate::plan::{Session, SessionPlan};
use crate::primitive::Primitive;
use crate::recording::Recording;
use crate::records::{Predicted, Scribe};
use crate::replica::{Played, Replica};
use crate::workers::Workers;

/// The share of the time that the primitives take; the replays take the rest.
const PRIMITIVES_SHARE: f64 = 0.4;

/// A session of the plan with its measurements so far.
struct Prepared<'w> {
    session: Session,
    need: Need,
    halves: Halves,
    batches: Batches,
    replica: Replica<'w>,
    played: RefCell<Vec<Played>>,
}

/// Measures the primitives of all sessions of a plan, replays the sessions without the server, and
/// predicts the cost of each session by part.
///
/// `server` is a stock server such as `nginx`; without a name, or if the calls of the server are
/// not known, the sessions are those of the embedded server. `stop` is polled before each sample.
/// `progress` receives the share done, in [0, 1].
///
/// # Errors
///
/// [`Error`], one line with advice.
pub fn measure(
    server: Option<&str>,
    plan: &SessionPlan,
    context: &Context,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Record>, Error> {
    plan.check()?;
    let workers = Workers::new(plan)?;
    let mut all = Vec::new();
    for &session in &plan.sessions {
        if stop() {
            return Err(tollgate_bench::Error::Stopped.into());
        }
        all.push(Prepared::new(server, session, plan, &workers)?);
    }
    let primitives = primitives(&all)?;
    let mut contenders = Vec::new();
    for (subject, (primitive, batch, session)) in &primitives {
        let (name, of) = (subject.to_string(), (*primitive, *batch));
        contenders.push(calls::contender(of, name, session.key, workers.of_session(session))?);
    }
    let schedule = SamplePlan {
        warm_up: Duration::from_millis(10),
        total: plan.total.mul_f64(PRIMITIVES_SHARE),
        sample: Duration::from_millis(4),
        min_rounds: 3,
    };
    let mut part = |share: f64| progress(PRIMITIVES_SHARE * share);
    let series = interleave(&mut contenders, &schedule, stop, &mut part)?;
    drop(contenders);
    let figures = figures(primitives.keys(), &series)?;
    let schedule = SamplePlan {
        warm_up: Duration::ZERO,
        total: plan.total.mul_f64(1.0 - PRIMITIVES_SHARE),
        sample: Duration::from_millis(1), // one replay
        min_rounds: 3,
    };
    let mut part = |share: f64| progress(PRIMITIVES_SHARE + (1.0 - PRIMITIVES_SHARE) * share);
    replay(&all, &schedule, stop, &mut part)?;

    let scribe = Scribe::new(context, &figures);
    let mut records = scribe.primitives()?;
    for prepared in &all {
        records.extend(scribe.session(&prepared.predicted()?)?);
    }
    Ok(records)
}

/// Returns the core cycles of each primitive.
fn figures<'a>(
    subjects: impl Iterator<Item = &'a Subject>,
    series: &Series,
) -> Result<BTreeMap<Subject, Estimate>, Error> {
    let cycles = |i: usize| on_core(series.samples(i)).ok_or(Error::NoCycles);
    subjects.enumerate().map(|(i, subject)| Ok((subject.clone(), cycles(i)?))).collect()
}

/// Core cycles per operation, without the time of other processes.
fn on_core(samples: &[Sample]) -> Option<Estimate> {
    let cycles =
        |sample: &Sample| Some(sample.cycles? * (sample.cpu_nanos / sample.nanos).min(1.0));
    median_estimate(&samples.iter().map(cycles).collect::<Option<Vec<f64>>>()?)
}

fn replay(
    all: &[Prepared<'_>],
    schedule: &SamplePlan,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(f64),
) -> Result<(), Error> {
    let failure = RefCell::new(None);
    let contender = |prepared| {
        let Prepared { session, replica, played, .. }: &Prepared<'_> = prepared;
        Contender::new(session.to_string(), 1, || {
            let cost = replica.play().map_err(|error| {
                *failure.borrow_mut() = Some(error);
                Wrong::new("it failed")
            })?;
            played.borrow_mut().push(cost);
            Ok(())
        })
    };
    let mut contenders: Vec<Contender<'_>> = all.iter().map(contender).collect();
    let series = interleave(&mut contenders, schedule, stop, progress);
    drop(contenders);
    series.map(|_| ()).map_err(|error| failure.take().unwrap_or_else(|| error.into()))
}

/// Returns each primitive that the sessions need, without duplicates, by the subject of its figure.
/// Each has the size of its batches.
fn primitives(all: &[Prepared<'_>]) -> Result<BTreeMap<Subject, (Primitive, u32, Session)>, Error> {
    let mut primitives = BTreeMap::new();
    for Prepared { session, need, halves, batches, .. } in all {
        for primitive in need.counts().map(|(primitive, _)| primitive).chain(halves.primitives()) {
            let batch = batches.size(primitive);
            let subject = primitive.subject(session, batch)?;
            primitives.entry(subject).or_insert((primitive, batch, *session));
        }
    }
    Ok(primitives)
}

impl<'w> Prepared<'w> {
    fn new(
        server: Option<&str>,
        session: Session,
        plan: &SessionPlan,
        workers: &'w Workers,
    ) -> Result<Self, Error> {
        let worker = workers.of_session(&session);
        let replica = Replica::new(server, session, plan.connections, worker)?;
        let recording = Recording::new(&session, worker)?;
        let need = counts::need(&session, &recording, replica.data());
        let need = need.ok_or_else(|| Error::Session {
            session: session.to_string(),
            why: "its flights are not those of the suite".to_owned(),
        })?;
        let halves = Halves::new(&need, worker.source());
        let batches = Batches::new(plan, &session, &need, worker)?;
        Ok(Self { session, need, halves, batches, replica, played: RefCell::default() })
    }

    fn predicted(&self) -> Result<Predicted<'_>, Error> {
        let played = self.played.borrow();
        let of = |cycles: fn(&Played) -> f64| {
            let cycles: Vec<f64> = played.iter().map(cycles).collect();
            median_estimate(&cycles).ok_or(Error::NoCycles)
        };
        Ok(Predicted {
            session: &self.session,
            need: &self.need,
            halves: &self.halves,
            batches: &self.batches,
            replica: &self.replica,
            library: of(|played| played.library)?,
            system: of(|played| played.system)?,
            batch: of(|played| played.batch)?.point(),
        })
    }
}
