//! One run: probe, load, collect, judge.

use core::time::Duration;
use std::io;
use std::time::Instant;

use crate::cpu::ClientCpu;
use crate::error::Error;
use crate::finding::{Finding, Findings};
use crate::host_conditions::HostConditions;
use crate::load::{Calls, Load, Readings, load_here, load_there};
use crate::outcome::Outcome;
use crate::part::check;
use crate::phase::{Cause, Failure};
use crate::plan::Plan;
use crate::referee::settle;
use crate::schedule::{Schedule, Stage};
use crate::segment::Segment;
use crate::server::Server;
use crate::server_counts::ServerCounts;
use crate::socket::reserve_descriptors;
use crate::tally::Tally;
use crate::target::{Target, Targets};
use crate::threads::{Job, probe};
use crate::verdict::{Evidence, Verdict};

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
    let mut calls = Calls { stop, progress };
    let targets = Targets::new(&server.target, server.plain.as_ref());
    match server.agents {
        None => check(Job { plan, targets, segment: Segment::whole(plan), live: None })?,
        // agents check themselves
        Some(_) => targets.secure.lasts(plan)?,
    }
    (calls.progress)(Stage::Initialise, 0.0);
    if let Some(referee) = &mut server.referee {
        referee.mark().map_err(Error::Referee)?;
    }
    if let Some(meter) = &mut server.cpu {
        meter().map_err(Error::ServerCpu)?;
    }
    let load = match server.agents.take() {
        None => load_here(plan, server, &mut calls)?,
        Some(mut agents) => {
            let load = load_there(plan, server, &mut *agents, &mut calls);
            server.agents = Some(agents);
            load?
        }
    };
    (calls.progress)(Stage::Collect, 1.0);
    let broken_off = load.readings.broken_off;
    let outcome = collect(plan, server, load, calls.stop)?;
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
    let targets = Targets::new(&server.target, None);
    let job = Job { plan, targets, segment: Segment::whole(plan), live: None };
    match probe(job, false, stop) {
        Ok(_) => Ok(None),
        Err(Error::Probe { failure, .. }) if failure.cause != Cause::Refused => Ok(Some(failure)),
        Err(error) => Err(error),
    }
}

/// Judges a load.
pub(crate) fn collect(
    plan: &Plan,
    server: &mut Server<'_>,
    load: Load,
    stop: &dyn Fn() -> bool,
) -> Result<Outcome, Error> {
    let Load { parts, lost, schedule, readings, began_at } = load;
    let Readings { server_cpu, counts, broken_off } = readings;
    let mut of_parts = Findings::default();
    for (agent, segment, part) in &parts {
        let mut findings = Findings::default();
        part.judge(&segment.size(plan), &mut findings);
        match agent {
            None => of_parts = findings,
            Some(agent) => of_parts.add_of(agent, findings),
        }
    }
    let is_server_gone = parts.iter().any(|(_, _, part)| part.server_gone.is_some());
    let client_cpus: Option<Vec<_>> = parts.iter().map(|(_, _, part)| part.client_cpu).collect();
    let client_cpu = client_cpus.and_then(|all| ClientCpu::sum(&all));
    let host = HostConditions::sum(parts.iter().map(|(_, _, part)| part.host));
    let tallies = parts.into_iter().map(|(_, _, part)| part.tally);
    let tally = tallies.reduce(|mut sum, tally| {
        sum.add(&tally);
        sum
    });
    let tally = tally.unwrap_or_else(|| Tally::new(&schedule, plan.resume.is_some()));
    // a server that is gone writes nothing more
    let client_timeout = if is_server_gone { Duration::ZERO } else { plan.phase_max() };
    let seen = match server.referee.as_deref_mut() {
        None => None,
        // connections dropped in flight, and those of lost agents, cannot be compared
        Some(_) if broken_off.is_some() || !lost.is_empty() => None,
        Some(referee) => match settle(referee, &tally.whole, client_timeout, stop) {
            Ok(Some(seen)) => Some(Ok(seen)),
            Ok(None) => return Err(Error::Stopped),
            Err(error) => Some(Err(error.to_string())),
        },
    };
    let server_cpu_lost =
        server_cpu.iter().find_map(|(_, cpu)| cpu.as_ref().err().map(ToString::to_string));
    let server_cores = server_cores(&schedule, &server_cpu);
    let evidence = Evidence {
        plan: plan.clone(),
        tally,
        of_parts,
        is_server_gone,
        server_cpu_lost,
        server_cpu_late: server.cpu.is_some() && server_cores.is_none(),
        seen,
    };
    // a run that was stopped, or has only some of its parts, has only these findings
    let only = |reasons| (Verdict::Invalid, Findings { reasons, doubts: Vec::new() });
    let (verdict, Findings { reasons, doubts }) = match broken_off {
        Some(at) => {
            let after = at.saturating_duration_since(schedule.start);
            only(vec![Finding::BrokenOff { after }])
        }
        None if !lost.is_empty() => only(lost),
        None => evidence.judge(),
    };
    let Evidence { plan, tally, seen, .. } = evidence;
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
        connect: tally.connect,
        handshake: tally.handshake,
        by_resumption: tally.by_resumption,
        response: tally.response,
        plain: tally.plain,
        arrivals: tally.arrivals,
        client_cpu,
        server_cores,
        server_counts: ServerCounts::between(&counts),
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
