//! Measures sessions and primitives in one interleaved series.

use core::cell::RefCell;
use core::time::Duration;
use std::collections::BTreeMap;

use tollgate_bench::{Contender, Sample, Wrong, interleave, median_estimate};
use tollgate_load::Context;
use tollgate_record::{Estimate, Record, Subject};
use tollgate_tls_client::{Cipher, MacHash};

use crate::batches::Batches;
use crate::calls;
use crate::error::Error;
use crate::in_memory::Stage;
use crate::mean::mean_estimate;
use crate::messages::Anatomy;
use crate::pair::Pair;
use crate::pipe::{LAPS, Lap};
use crate::plan::{Session, SessionPlan};
use crate::primitive::{Beside, Primitive, RECORD_BYTES};
use crate::records::{End, Measured, Scribe};
use crate::system::{Played, Replay};
use crate::workers::Workers;

/// A session of the plan with its measurements so far.
struct Prepared<'w> {
    session: Session,
    anatomy: Anatomy,
    stage: RefCell<Stage<'w>>,
    /// Core cycles of a session by lap: the mean of each play.
    costs: RefCell<Vec<[f64; LAPS]>>,
    /// The session with a client on libssl, if the plan asks for both ends.
    pair: Option<Pair<'w>>,
    /// Core cycles of each such client.
    client_costs: RefCell<Vec<f64>>,
    /// Index of the session in the list of replays.
    replay: usize,
    batches: Batches,
    /// The number of connections in flight.
    connections: u32,
}

/// The system calls of a session, which do not depend on the engine.
struct Replayed {
    replay: Replay,
    subject: Subject,
    played: RefCell<Vec<Played>>,
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
    let workers = Workers::of(plan)?;
    let (mut prepared, mut replays) = (Vec::new(), Vec::new());
    for &session in &plan.sessions {
        if stop() {
            return Err(tollgate_bench::Error::Stopped.into());
        }
        prepared.push(prepare(session, plan, &workers, &mut replays)?);
    }
    let mut primitives = primitives(&prepared)?;
    let mut legacy = None;
    if plan.per_byte {
        let session = plan.sessions[0];
        legacy = calls::legacy(&workers.of_session(&session).worker);
        for primitive in RECORD_BYTES.into_iter().flat_map(beside) {
            if legacy.is_none() && matches!(primitive, Primitive::Seal(Cipher::Rc4(_), _)) {
                continue;
            }
            let subject = primitive.subject(&session, 1).map_err(Error::figure)?;
            primitives.entry(subject).or_insert((primitive, 1, session));
        }
    }

    let failure = RefCell::new(None);
    let keep = |error| {
        *failure.borrow_mut() = Some(error);
        Wrong::new("it failed")
    };
    let mut contenders = Vec::new();
    for (subject, (primitive, batch, session)) in &primitives {
        let worker = &workers.of_session(session).worker;
        let (name, of) = (subject.to_string(), (*primitive, *batch));
        contenders.push(calls::contender(of, name, session.key, worker)?);
    }
    for one in &prepared {
        contenders.push(Contender::new(one.session.to_string(), 1, || {
            let mut stage = one.stage.borrow_mut();
            // These sessions only warm the caches, which another contender has filled with its own
            // data.
            stage.play().map_err(keep)?;
            one.costs.borrow_mut().push(stage.play().map_err(keep)?);
            Ok(())
        }));
        if let Some(pair) = &one.pair {
            contenders.push(Contender::new(format!("{}, client", one.session), 1, || {
                pair.play().map_err(keep)?;
                one.client_costs.borrow_mut().extend(pair.play().map_err(keep)?);
                Ok(())
            }));
        }
    }
    for one in &replays {
        contenders.push(Contender::new(one.subject.to_string(), 1, || {
            one.played.borrow_mut().push(one.replay.play().map_err(keep)?);
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
    drop(legacy);
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
        if let Some(client) = one.of_client(&replays[place]) {
            records.extend(scribe.session(&client?)?);
        }
    }
    Ok(records)
}

/// The primitives whose cost per byte stands beside those of the sessions: hash functions, and the
/// ciphers of old papers, which OpenSSL's TLS no longer speaks.
fn beside(bytes: u32) -> impl Iterator<Item = Primitive> {
    let hash = MacHash::Sha1; // another primitive
    let ciphers = [Cipher::Rc4(hash), Cipher::TripleDesCbc(hash)];
    let hashes = Beside::ALL.into_iter().map(move |hash| Primitive::Beside(hash, bytes));
    hashes.chain(ciphers.into_iter().map(move |cipher| Primitive::Seal(cipher, bytes)))
}

/// Core cycles per operation, without the time of other processes.
fn on_core(samples: &[Sample]) -> Option<Estimate> {
    let cycles =
        |sample: &Sample| Some(sample.cycles? * (sample.cpu_nanos / sample.nanos).min(1.0));
    median_estimate(&samples.iter().map(cycles).collect::<Option<Vec<f64>>>()?)
}

fn prepare<'w>(
    session: Session,
    plan: &SessionPlan,
    workers: &'w Workers,
    replays: &mut Vec<Replayed>,
) -> Result<Prepared<'w>, Error> {
    let served = workers.of_session(&session);
    let (worker, connections) = (&served.worker, plan.connections as usize);
    let mut stage =
        Stage::presenting(session, worker, served.certificates.identity(), connections)?;
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
        let replay = Replay::new(&recorded, &session, plan.connections)?;
        replays.push(Replayed { replay, subject, played: RefCell::default() });
    }
    Ok(Prepared {
        session,
        batches: Batches::of(plan, &session, &anatomy.need(), worker)?,
        anatomy,
        stage: RefCell::new(stage),
        costs: RefCell::default(),
        pair: if plan.both_ends { Pair::new(session, served, connections)? } else { None },
        client_costs: RefCell::default(),
        replay,
        connections: plan.connections,
    })
}

/// Returns each primitive that the sessions need, without duplicates, by the subject of its figure.
/// Each has the size of its batches.
fn primitives(
    prepared: &[Prepared<'_>],
) -> Result<BTreeMap<Subject, (Primitive, u32, Session)>, Error> {
    let mut primitives = BTreeMap::new();
    for one in prepared {
        let client = one.pair.as_ref().map(|_| one.anatomy.need_of_client()).unwrap_or_default();
        let of_server = one.anatomy.need();
        let of_server = of_server.counts().map(|(of, _)| (of, one.batches.size(of)));
        for (primitive, batch) in of_server.chain(client.counts().map(|(of, _)| (of, 1))) {
            let subject = primitive.subject(&one.session, batch).map_err(Error::figure)?;
            primitives.entry(subject).or_insert((primitive, batch, one.session));
        }
    }
    Ok(primitives)
}

impl Prepared<'_> {
    fn nothing(&self) -> Error {
        Error::Figure(format!("{}: no sample", self.session))
    }

    fn measured(&self, replayed: &Replayed) -> Result<Measured, Error> {
        let costs = self.costs.borrow();
        let lap = |lap: Lap| {
            let cycles: Vec<f64> = costs.iter().map(|laps| laps[lap as usize]).collect();
            mean_estimate(&cycles, self.connections as usize).ok_or_else(|| self.nothing())
        };
        let laps = vec![lap(Lap::Hello)?, lap(Lap::Finish)?, lap(Lap::Data)?];
        let system = replayed.cycles(|played| played.server_cycles);
        Ok(Measured {
            session: self.session,
            end: End::Server(self.anatomy.clone()),
            need: self.anatomy.need(),
            batches: self.batches.clone(),
            connections: self.connections,
            laps,
            system: system.ok_or_else(|| self.nothing())?,
            cores_apart: replayed.replay.has_cores(),
        })
    }

    /// The client's end, if it was measured.
    fn of_client(&self, replayed: &Replayed) -> Option<Result<Measured, Error>> {
        self.pair.as_ref()?;
        let cost = mean_estimate(&self.client_costs.borrow(), 1);
        let system = replayed.cycles(|played| played.client_cycles);
        Some(cost.zip(system).ok_or_else(|| self.nothing()).map(|(cost, system)| Measured {
            session: self.session,
            end: End::Client,
            need: self.anatomy.need_of_client(),
            batches: Batches::default(),
            connections: self.connections,
            laps: vec![cost],
            system,
            cores_apart: replayed.replay.has_cores(),
        }))
    }
}

impl Replayed {
    fn cycles(&self, of: fn(&Played) -> f64) -> Option<Estimate> {
        median_estimate(&self.played.borrow().iter().map(of).collect::<Vec<_>>())
    }
}
