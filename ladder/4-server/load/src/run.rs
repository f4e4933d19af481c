//! One run: probe, load, collect, judge.

use core::convert::Infallible;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use tollgate_record::Timestamp;

use crate::cpu::{ClientCpu, CpuMeter, pin};
use crate::error::Error;
use crate::finding::{Finding, Findings};
use crate::host_conditions::{HostConditions, Reading};
use crate::live::Live;
use crate::operations::{Operations, OperationsMeter};
use crate::outcome::Outcome;
use crate::phase::{Cause, Failure};
use crate::plan::Plan;
use crate::ports::Ports;
use crate::quota::Quota;
use crate::referee::{Referee, settle};
use crate::schedule::{Schedule, Stage};
use crate::socket::reserve_descriptors;
use crate::tally::Tally;
use crate::target::{Target, Targets};
use crate::verdict::{Evidence, Verdict};
use crate::worker::{Report, Worker};

/// A callback for the outcome of each run.
pub type Witness<'a> = dyn FnMut(&Outcome) + 'a;

/// A server under load.
pub struct Server<'a> {
    /// The server's name in comparisons and messages.
    pub name: String,
    /// The server's address.
    pub target: Target,
    /// The server's address for HTTP without TLS.
    pub plain: Option<Target>,
    /// The reader of the server's log. Without a referee a run is at best unconfirmed.
    pub referee: Option<Box<dyn Referee + 'a>>,
    /// The reader of the server's CPU time.
    pub cpu: Option<Box<CpuMeter<'a>>>,
    /// The reader of the operations of the server's engine. It is read together with the CPU time.
    pub operations: Option<Box<OperationsMeter<'a>>>,
    /// Live counters for its runs.
    pub live: Option<Arc<Live>>,
    /// Called after each run, also if it was stopped.
    pub witness: Option<Box<Witness<'a>>>,
}

impl<'a> Server<'a> {
    /// Creates a server with a name and an address, and nothing else.
    pub fn new(name: impl Into<String>, target: Target) -> Self {
        let name = name.into();
        Self {
            name,
            target,
            plain: None,
            referee: None,
            cpu: None,
            operations: None,
            live: None,
            witness: None,
        }
    }

    /// Sets the address for HTTP without TLS.
    #[must_use]
    pub fn with_plain(self, target: Target) -> Self {
        Self { plain: Some(target), ..self }
    }

    /// Sets the reader of the server's log.
    #[must_use]
    pub fn with_referee(self, referee: impl Referee + 'a) -> Self {
        Self { referee: Some(Box::new(referee)), ..self }
    }

    /// Sets the reader of the server's CPU time.
    #[must_use]
    pub fn with_cpu(self, cpu: impl FnMut() -> io::Result<Duration> + 'a) -> Self {
        Self { cpu: Some(Box::new(cpu)), ..self }
    }

    /// Sets the reader of the operations of the server's engine.
    #[must_use]
    pub fn with_operations(self, operations: impl FnMut() -> Operations + 'a) -> Self {
        Self { operations: Some(Box::new(operations)), ..self }
    }

    /// Sets the live counters.
    #[must_use]
    pub fn with_live(self, live: Arc<Live>) -> Self {
        Self { live: Some(live), ..self }
    }

    /// Sets the callback for each run; it also gets stopped runs, for which [`run`] returns an
    /// error.
    #[must_use]
    pub fn with_witness(self, witness: impl FnMut(&Outcome) + 'a) -> Self {
        Self { witness: Some(Box::new(witness)), ..self }
    }
}

impl fmt::Debug for Server<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("name", &self.name)
            .field("target", &self.target)
            .field("plain", &self.plain)
            .field("referee", &self.referee.is_some())
            .field("cpu", &self.cpu.is_some())
            .finish_non_exhaustive()
    }
}

/// Interval of calling `progress` and `stop`.
const TICK: Duration = Duration::from_millis(50);

/// A reading of the server's CPU time may be late by at most the sustained part divided by `LATE`.
const LATE: u32 = 10;

/// Runs a plan against a server.
///
/// First it tries one transaction alone; if that fails, there is no load. It calls `stop` about
/// every 50 ms, and `progress` with the stage and the completed share of the run, in [0, 1].
///
/// # Errors
/// [`Error`] if there was no run. Failures within a run are counted, and judged in the [`Outcome`].
pub fn run(
    plan: &Plan,
    server: &mut Server<'_>,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(Stage, f64),
) -> Result<Outcome, Error> {
    plan.check()?;
    check_plain(plan, server)?;
    [Some(&server.target), server.plain.as_ref()]
        .into_iter()
        .flatten()
        .try_for_each(|target| target.lasts(plan))?;
    let address = server.target.address();
    if plan.source_addresses > 0 && !(address.is_ipv4() && address.ip().is_loopback()) {
        return Err(Error::Plan("source_addresses need a target in 127.0.0.0/8"));
    }
    if let Some((needed, ports)) = Ports::now().short(plan) {
        return Err(Error::PortsShort { needed, ports });
    }
    reserve_descriptors(plan)?;
    progress(Stage::Initialise, 0.0);
    if let Some(referee) = &mut server.referee {
        referee.mark().map_err(Error::Referee)?;
    }
    if let Some(meter) = &mut server.cpu {
        meter().map_err(Error::ServerCpu)?;
    }
    let targets = Targets::of(&server.target, server.plain.as_ref());
    let mut probes = Vec::new();
    for (is_plain, is_asked) in [(false, plan.plain_share < 1.0), (true, plan.plain_share > 0.0)] {
        if is_asked {
            probes.push(probe(plan, targets, (is_plain, server.live.clone()), stop)?);
        }
    }
    let reading = Reading::now();
    let mut load = load(plan, server, stop, progress)?;
    let host = reading.until_now();
    probes.iter().for_each(|probe| load.tally.add(probe));
    progress(Stage::Collect, 1.0);
    let broken_off = load.broken_off;
    let outcome = collect(plan, server, load, host, stop)?;
    if let Some(witness) = &mut server.witness {
        witness(&outcome);
    }
    if broken_off.is_some() { Err(Error::Stopped) } else { Ok(outcome) }
}

/// Checks that the server has an address for plain transactions, if the plan has some.
fn check_plain(plan: &Plan, server: &Server<'_>) -> Result<(), Error> {
    let ip = |target: &Target| target.address().is_ipv4();
    match &server.plain {
        _ if plan.plain_share <= 0.0 => Ok(()),
        None => Err(Error::Plan("plain_share needs a server with HTTP without TLS")),
        Some(plain) if ip(plain) != ip(&server.target) => {
            Err(Error::Plan("plain_share needs two IPv4 or two IPv6 addresses"))
        }
        Some(_) => Ok(()),
    }
}

/// Tries one transaction of the plan with TLS, alone. Returns `None` if it succeeds, otherwise the
/// failure. The transaction is not part of a run, and no log is read.
///
/// # Errors
///
/// [`Error`] if nothing listens, or the plan is out of range.
pub fn try_transaction(
    plan: &Plan,
    server: &Server<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Failure>, Error> {
    plan.check()?;
    server.target.lasts(plan)?;
    reserve_descriptors(plan)?;
    let targets = Targets::of(&server.target, None);
    match probe(plan, targets, (false, None), stop) {
        Ok(_) => Ok(None),
        Err(Error::Probe { failure, .. }) if failure.cause != Cause::Refused => Ok(Some(failure)),
        Err(error) => Err(error),
    }
}

/// Runs one transaction alone.
pub(crate) fn probe(
    plan: &Plan,
    targets: Targets<'_>,
    (is_plain, live): (bool, Option<Arc<Live>>),
    stop: &dyn Fn() -> bool,
) -> Result<Tally, Error> {
    let schedule = Schedule::probe(plan, Instant::now());
    let quota = Arc::new(Quota::new(Some(1)));
    let worker = Worker::new(&plan.of_one(is_plain), targets, 0)?.publishing(live).limited(quota);
    let flag = &AtomicBool::new(false);
    let report = thread::scope(|scope| {
        let thread = spawn(scope, move || worker.run(&schedule, flag))?;
        while !thread.is_finished() {
            if stop() {
                flag.store(true, Ordering::Relaxed);
            }
            thread::sleep(TICK / 50);
        }
        join(thread)
    })?;
    if report.tally.abandoned > 0 {
        return Err(Error::Stopped);
    }
    match report.tally.whole.failures.keys().next() {
        Some(failure) => {
            let target = if is_plain { targets.plain } else { targets.secure };
            Err(Error::Probe { address: target.address(), failure: failure.clone() })
        }
        None => Ok(report.tally),
    }
}

/// The results of the stages under load.
struct Load {
    tally: Tally,
    reports: Vec<Report>,
    schedule: Schedule,
    /// Readings of the server's CPU time at both ends of the sustained part.
    server_cpu: Vec<(Instant, io::Result<Duration>)>,
    /// Readings of its operations at the same times.
    operations: Vec<Operations>,
    began_at: Timestamp,
    /// The time when the run was stopped, if it was.
    broken_off: Option<Instant>,
}

fn load(
    plan: &Plan,
    server: &mut Server<'_>,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(Stage, f64),
) -> Result<Load, Error> {
    let flag = &AtomicBool::new(false);
    let targets = Targets::of(&server.target, server.plain.as_ref());
    let mut broken_off = None;
    let live = &server.live;
    let quota = &Arc::new(Quota::new(plan.transactions));
    let (mut server_cpu, mut operations) = (Vec::new(), Vec::new());
    let (times, began_at, reports) = thread::scope(|scope| {
        let (tell_ready, ready) = mpsc::channel();
        let (mut starts, mut threads) = (Vec::new(), Vec::new());
        for thread in 0..plan.threads {
            let (start, started) = mpsc::channel();
            let tell_ready = tell_ready.clone();
            let work = move || {
                let worker = pin(plan, thread)
                    .and_then(|()| Worker::new(plan, targets, thread))
                    .map(|worker| worker.publishing(live.clone()).limited(Arc::clone(quota)))
                    .inspect_err(|_| flag.store(true, Ordering::Relaxed));
                drop(tell_ready); // closing the channel signals that the thread is ready
                match started.recv() {
                    Ok(schedule) => worker?.run(&schedule, flag),
                    Err(mpsc::RecvError) => Err(Error::Stopped),
                }
            };
            // if a thread cannot be started, earlier ones get no schedule and end
            threads.push(spawn(scope, work)?);
            starts.push(start);
        }
        drop(tell_ready);
        let Err(mpsc::RecvError) = ready.recv() as Result<Infallible, _>;
        let times = Schedule::new(plan, Instant::now());
        let began_at = Timestamp::now();
        for start in starts {
            let _ = start.send(times); // join reports a panicked thread
        }
        let marks = [times.sustain_start, times.sustain_end];
        loop {
            // checked before the clock is read: the threads had finished before `now`
            let finished = threads.iter().all(thread::ScopedJoinHandle::is_finished);
            let now = Instant::now();
            if let Some(meter) = &mut server.cpu
                && marks.get(server_cpu.len()).is_some_and(|&mark| now >= mark || finished)
            {
                let cpu = meter();
                server_cpu.push((Instant::now(), cpu));
                operations.extend(server.operations.as_mut().map(|meter| meter()));
            }
            if finished {
                break;
            }
            if stop() {
                broken_off = broken_off.or(Some(now));
                flag.store(true, Ordering::Relaxed);
            }
            let whole = times.sustain_end - times.start;
            let done = (now - times.start).div_duration_f64(whole).min(1.0).max(quota.begun());
            progress(times.stage(now), done);
            let next = marks.into_iter().filter(|&mark| mark > now).min();
            // threads end soon after the sustained part: check more often then
            let next = next.filter(|_| !quota.is_spent());
            let until = next.map_or(TICK / 10, |next| next - now);
            thread::sleep(until.min(TICK));
        }
        let reports = threads.into_iter().map(join).collect::<Result<Vec<Report>, Error>>()?;
        Ok::<_, Error>((times, began_at, reports))
    })?;
    let mut tally = Tally::new(&times, plan.arrivals.is_open(), plan.resume.is_some());
    reports.iter().for_each(|report| tally.add(&report.tally));
    let schedule = if plan.transactions.is_none() {
        times
    } else {
        let last = reports.iter().map(|report| report.ended_at).max();
        let ended = times.ended(last.filter(|_| quota.is_spent()).unwrap_or(times.sustain_end));
        tally.end_bins(&ended);
        if let Some((at, _)) = server_cpu.get_mut(1).filter(|_| quota.is_spent()) {
            *at = (*at).min(ended.sustain_end); // the server had nothing to do after that
        }
        ended
    };
    Ok(Load { tally, reports, schedule, server_cpu, operations, began_at, broken_off })
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<thread::ScopedJoinHandle<'scope, T>, Error> {
    let what = "start a thread";
    thread::Builder::new().spawn_scoped(scope, work).map_err(|error| Error::Io { what, error })
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn collect(
    plan: &Plan,
    server: &mut Server<'_>,
    load: Load,
    host: HostConditions,
    stop: &dyn Fn() -> bool,
) -> Result<Outcome, Error> {
    let Load { tally, reports, schedule, server_cpu, operations, began_at, broken_off } = load;
    let server_gone = reports.iter().find_map(|report| report.server_gone.clone());
    // a server that is gone writes nothing more
    let client_timeout = if server_gone.is_some() { Duration::ZERO } else { plan.phase_max() };
    let seen = match server.referee.as_deref_mut() {
        None => None,
        // connections dropped in flight cannot be compared
        Some(_) if broken_off.is_some() => None,
        Some(referee) => match settle(referee, &tally.whole, client_timeout, stop) {
            Ok(Some(seen)) => Some(Ok(seen)),
            Ok(None) => return Err(Error::Stopped),
            Err(error) => Some(Err(error.to_string())),
        },
    };
    let usages: Vec<_> = reports.iter().map(|report| report.cpu).collect();
    let server_cpu_lost =
        server_cpu.iter().find_map(|(_, cpu)| cpu.as_ref().err().map(ToString::to_string));
    let server_cores = server_cores(&schedule, &server_cpu);
    let evidence = Evidence {
        plan: plan.clone(),
        tally,
        server_gone,
        client_cpu: ClientCpu::of(&usages),
        server_cpu_lost,
        server_cpu_late: server.cpu.is_some() && server_cores.is_none(),
        host,
        seen,
    };
    let (verdict, Findings { reasons, doubts }) = match broken_off {
        // a stopped run has only this finding
        Some(at) => {
            let reasons = vec![Finding::BrokenOff { after: at - schedule.start }];
            (Verdict::Invalid, Findings { reasons, doubts: Vec::new() })
        }
        None => evidence.judge(),
    };
    let Evidence { plan, tally, client_cpu, host, seen, .. } = evidence;
    let mut timeline = tally.timeline;
    timeline.sort_unstable();
    let ended_at = broken_off.or(plan.transactions.map(|_| schedule.sustain_end));
    Ok(Outcome {
        plan,
        server: server.name.clone(),
        target: server.target.address(),
        began_at,
        verdict,
        reasons,
        doubts,
        whole: tally.whole,
        sustain: tally.sustain,
        bins: tally.bins,
        bin_width: schedule.bin_width,
        sustained: schedule.sustain_end - schedule.sustain_start,
        series: tally.series.points(&schedule, ended_at),
        secure_times: tally.secure_times,
        plain_times: tally.plain_times,
        by_resumption: tally.by_resumption,
        response: tally.response,
        timeline,
        plain: tally.plain,
        arrivals: tally.arrivals,
        client_cpu,
        server_cores,
        operations: Operations::between(&operations),
        seen: seen.and_then(Result::ok),
        abandoned: tally.abandoned,
        host,
    })
}

/// Returns the CPU seconds per second between the two readings; `None` if one is missing or too
/// late.
fn server_cores(schedule: &Schedule, readings: &[(Instant, io::Result<Duration>)]) -> Option<f64> {
    let [(from, Ok(before)), (to, Ok(after))] = readings else {
        return None;
    };
    let late = (schedule.sustain_end - schedule.sustain_start) / LATE;
    if *from > schedule.sustain_start + late || *to > schedule.sustain_end + late {
        return None;
    }
    let cores = after.checked_sub(*before)?.div_duration_f64(*to - *from);
    cores.is_finite().then_some(cores)
}
