//! Measures sessions and primitives in one interleaved series.

use core::cell::RefCell;
use core::time::Duration;
use std::collections::BTreeMap;

use tollgate_bench::{Contender, Sample, Wrong, interleave, median_estimate};
use tollgate_load::{Context, Protocol};
use tollgate_record::{Estimate, Record, Subject};
use tollgate_server::in_memory::Worker;
use tollgate_server::{Config, Engine, KeyKind, Suite};
use tollgate_tls_client::Group;

use crate::calls;
use crate::error::Error;
use crate::in_memory::Stage;
use crate::mean::mean_estimate;
use crate::messages::Anatomy;
use crate::pipe::{LAPS, Lap};
use crate::plan::{Session, SessionPlan};
use crate::primitive::{Beside, Primitive, RECORD_BYTES};
use crate::records::{Measured, Scribe};
use crate::system::Replay;

/// A session of the plan with its measurements so far.
struct Prepared<'w> {
    session: Session,
    anatomy: Anatomy,
    stage: RefCell<Stage<'w>>,
    /// Core cycles of each session, by lap.
    costs: RefCell<Vec<[f64; LAPS]>>,
    /// Index of the session in the list of replays.
    replay: usize,
}

/// The system calls of a session, which do not depend on the engine.
struct Replayed {
    replay: Replay,
    subject: Subject,
    cycles: RefCell<Vec<f64>>,
}

/// Measures all sessions of a plan and their primitives, interleaved, and predicts the cost of each
/// session by part.
///
/// `stop` is polled before each sample. `progress` receives the share done, in [0, 1].
///
/// # Errors
///
/// [`Error`], one line with advice.
pub fn measure(
    plan: &SessionPlan,
    context: &Context,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Record>, Error> {
    plan.check()?;
    let workers = workers(plan)?;
    let (mut prepared, mut replays) = (Vec::new(), Vec::new());
    for &session in &plan.sessions {
        if stop() {
            return Err(tollgate_bench::Error::Stopped.into());
        }
        prepared.push(prepare(session, worker_for(&workers, session), &mut replays)?);
    }
    let mut primitives = primitives(&prepared)?;
    if plan.per_byte {
        let session = plan.sessions[0];
        for (hash, bytes) in Beside::ALL.iter().flat_map(|hash| RECORD_BYTES.map(|b| (*hash, b))) {
            let primitive = Primitive::Beside(hash, bytes);
            let subject = primitive.subject(&session).map_err(Error::figure)?;
            primitives.entry(subject).or_insert((primitive, session));
        }
    }

    let failure = RefCell::new(None);
    let keep = |error| {
        *failure.borrow_mut() = Some(error);
        Wrong::new("it failed")
    };
    let mut contenders = Vec::new();
    for (subject, (primitive, session)) in &primitives {
        let worker = worker_for(&workers, *session);
        let name = subject.to_string();
        contenders.push(calls::contender(*primitive, name, session.key, worker)?);
    }
    for one in &prepared {
        contenders.push(Contender::new(one.session.to_string(), 1, || {
            let mut stage = one.stage.borrow_mut();
            // These sessions only warm the caches, which another contender has filled with its own
            // data.
            stage.play().map_err(keep)?;
            one.costs.borrow_mut().extend(stage.play().map_err(keep)?);
            Ok(())
        }));
    }
    for one in &replays {
        contenders.push(Contender::new(one.subject.to_string(), 1, || {
            one.cycles.borrow_mut().push(one.replay.play().map_err(keep)?.server_cycles);
            Ok(())
        }));
    }
    let schedule = tollgate_bench::SamplePlan {
        warm_up: Duration::from_millis(10),
        total: plan.total,
        sample: Duration::from_millis(4),
        min_rounds: 3,
    };
    let series = interleave(&mut contenders, &schedule, stop, progress);
    drop(contenders);
    let series = series.map_err(|error| failure.take().unwrap_or_else(|| error.into()))?;

    let cycles = |i: usize| on_core(series.samples(i)).ok_or(Error::NoCycles);
    let figures: BTreeMap<Subject, Estimate> = primitives
        .keys()
        .enumerate()
        .map(|(i, subject)| Ok((subject.clone(), cycles(i)?)))
        .collect::<Result<_, Error>>()?;
    let scribe = Scribe::new(context, &figures);
    let mut records = scribe.primitives()?;
    if plan.per_byte {
        records.extend(scribe.per_byte()?);
    }
    let mut told = vec![false; replays.len()];
    for one in prepared {
        let place = one.replay;
        let measured = one.measured(&replays[place])?;
        if !core::mem::replace(&mut told[place], true) {
            records.push(scribe.system(&measured)?);
        }
        records.extend(scribe.session(&measured)?);
    }
    Ok(records)
}

/// Core cycles per operation, without the time of other processes.
fn on_core(samples: &[Sample]) -> Option<Estimate> {
    let cycles =
        |sample: &Sample| Some(sample.cycles? * (sample.cpu_nanos / sample.nanos).min(1.0));
    median_estimate(&samples.iter().map(cycles).collect::<Option<Vec<f64>>>()?)
}

pub(crate) type Workers = Vec<((KeyKind, Engine, Option<Group>), Worker)>;

/// Returns the properties that set the server of a session apart.
fn kind_of_worker(session: &Session) -> (KeyKind, Engine, Option<Group>) {
    // An ECDSA client offers several groups, and the server's order decides.
    let on_curve = session.protocol == Protocol::Tls12P256 && !session.key.is_rsa();
    (session.key, session.engine, session.group.or(on_curve.then_some(Group::P256)))
}

/// Starts one server in memory for each key, engine and group.
pub(crate) fn workers(plan: &SessionPlan) -> Result<Workers, Error> {
    let mut workers = Workers::new();
    let names_suites = plan.sessions.iter().any(|session| session.suite.is_some());
    for session in &plan.sessions {
        let kind @ (key, engine, group) = kind_of_worker(session);
        if workers.iter().any(|(known, _)| *known == kind) {
            continue;
        }
        let usual = Config::default();
        let group = group.and_then(|group| group.name().parse().ok());
        let others = usual.groups.iter().copied().filter(|other| Some(*other) != group);
        let config = Config {
            engine,
            certificate: tollgate_server::Certificate::SelfSigned(key),
            allow_rsa_1024: true,
            allow_rsa_kx: names_suites
                || plan.sessions.iter().any(|s| s.protocol == Protocol::Tls12Rsa),
            suites: if names_suites { Suite::ALL.to_vec() } else { Vec::new() },
            groups: group.into_iter().chain(others).collect(),
            // The server formats log lines, as under load, and discards them.
            access_log: Some("/dev/null".into()),
            ..usual.clone()
        };
        workers.push((kind, Worker::new(&config)?));
    }
    Ok(workers)
}

pub(crate) fn worker_for(workers: &Workers, session: Session) -> &Worker {
    let wanted = kind_of_worker(&session);
    let found = workers.iter().find(|(known, _)| *known == wanted);
    &found.expect("each session of the plan has its worker").1
}

fn prepare<'w>(
    session: Session,
    worker: &'w Worker,
    replays: &mut Vec<Replayed>,
) -> Result<Prepared<'w>, Error> {
    let mut stage = Stage::new(session, worker)?;
    stage.play()?;
    let recorded = stage.record()?;
    let anatomy = Anatomy::of(&session, &recorded).ok_or_else(|| Error::Session {
        session: session.to_string(),
        why: "its flights are not those of the suite".to_owned(),
    })?;
    let subject = session.system_subject().map_err(Error::figure)?;
    let known = replays.iter().position(|one| one.subject == subject);
    let replay = known.unwrap_or(replays.len());
    if known.is_none() {
        let replay = Replay::new(&recorded, session.settings()?.suite.is_tls13())?;
        replays.push(Replayed { replay, subject, cycles: RefCell::default() });
    }
    Ok(Prepared { session, anatomy, stage: RefCell::new(stage), costs: RefCell::default(), replay })
}

/// Returns each primitive that the sessions need, without duplicates, by the subject of its figure.
fn primitives(prepared: &[Prepared<'_>]) -> Result<BTreeMap<Subject, (Primitive, Session)>, Error> {
    let mut primitives = BTreeMap::new();
    for one in prepared {
        for (primitive, _) in one.anatomy.need().counts() {
            let subject = primitive.subject(&one.session).map_err(Error::figure)?;
            primitives.entry(subject).or_insert((primitive, one.session));
        }
    }
    Ok(primitives)
}

impl Prepared<'_> {
    fn measured(self, replayed: &Replayed) -> Result<Measured, Error> {
        let nothing = || Error::Figure(format!("{}: no sample", self.session));
        let costs = self.costs.borrow();
        let lap = |lap: Lap| {
            let cycles: Vec<f64> = costs.iter().map(|laps| laps[lap as usize]).collect();
            mean_estimate(&cycles).ok_or_else(nothing)
        };
        let laps = [lap(Lap::Hello)?, lap(Lap::Finish)?, lap(Lap::Data)?];
        Ok(Measured {
            session: self.session,
            anatomy: self.anatomy.clone(),
            laps,
            system: median_estimate(&replayed.cycles.borrow()).ok_or_else(nothing)?,
            cores_apart: replayed.replay.has_cores(),
        })
    }
}
