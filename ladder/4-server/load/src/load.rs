//! The stages of a run under load: in this process, or by agents.

use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use tollgate_record::Timestamp;

use crate::agents::{AgentPart, Agents};
use crate::cpu::CpuMeter;
use crate::error::Error;
use crate::finding::Finding;
use crate::host_conditions::Reading;
use crate::live::LivePublisher;
use crate::part::Part;
use crate::plan::Plan;
use crate::quota::Quota;
use crate::schedule::{Schedule, Stage};
use crate::segment::Segment;
use crate::server::Server;
use crate::server_counts::{CountsMeter, ServerCounts};
use crate::target::Targets;
use crate::threads::{Job, TICK, first, run_threads};

/// The results of the stages under load.
pub(crate) struct Load {
    /// The part of this process, or the parts of agents with their names.
    pub(crate) parts: Vec<(Option<String>, Segment, Part)>,
    /// The agents that were lost.
    pub(crate) lost: Vec<Finding>,
    pub(crate) schedule: Schedule,
    pub(crate) readings: Readings,
    pub(crate) began_at: Timestamp,
}

/// Readings of the server during the load, by this process.
#[derive(Default)]
pub(crate) struct Readings {
    /// Readings of the server's CPU time at both ends of the sustained part.
    pub(crate) server_cpu: Vec<(Instant, io::Result<Duration>)>,
    /// Readings of its counts at the same times.
    pub(crate) counts: Vec<ServerCounts>,
    /// The time when the run was stopped, if it was.
    pub(crate) broken_off: Option<Instant>,
}

/// The callbacks of a run.
pub(crate) struct Calls<'c> {
    pub(crate) stop: &'c dyn Fn() -> bool,
    pub(crate) progress: &'c mut dyn FnMut(Stage, f64),
}

/// The readers of the server's CPU time and counts.
struct Meters<'m, 'a> {
    cpu: &'m mut Option<Box<CpuMeter<'a>>>,
    counts: &'m mut Option<Box<CountsMeter<'a>>>,
}

/// Runs all threads of the plan in this process.
pub(crate) fn load_here(
    plan: &Plan,
    server: &mut Server<'_>,
    calls: &mut Calls<'_>,
) -> Result<Load, Error> {
    let targets = Targets::new(&server.target, server.plain.as_ref());
    let segment = Segment::whole(plan);
    let job = Job { plan, targets, segment, live: server.live.as_ref() };
    let probes = first(job, calls.stop)?;
    let reading = Reading::now();
    let quota = Arc::new(Quota::new(plan.transactions));
    let mut meters = Meters { cpu: &mut server.cpu, counts: &mut server.counts };
    let mut began_at = Timestamp::now();
    let begin = || {
        began_at = Timestamp::now();
        Some(Instant::now())
    };
    let (planned, mut readings, reports) = run_threads(job, &quota, begin, |schedule, threads| {
        watch(&mut meters, schedule, &quota, calls, &mut |asked| {
            if asked {
                threads.quit();
            }
            (threads.have_ended)()
        })
    })?;
    let host = reading.until_now();
    let last = reports.iter().map(|report| report.ended_at).max();
    let mut part = Part::new(plan, &planned, reports, &probes, host);
    let schedule = if plan.transactions.is_none() {
        planned
    } else {
        let end = last.filter(|_| quota.is_spent()).unwrap_or(planned.sustain_end);
        let ended = planned.ended(end);
        part.tally.end_bins(&planned, &ended);
        if let Some((at, _)) = readings.server_cpu.get_mut(1).filter(|_| quota.is_spent()) {
            *at = (*at).min(ended.sustain_end); // the server had nothing to do after that
        }
        ended
    };
    Ok(Load { parts: vec![(None, segment, part)], lost: Vec::new(), schedule, readings, began_at })
}

/// Lets agents run the plan.
pub(crate) fn load_there(
    plan: &Plan,
    server: &mut Server<'_>,
    agents: &mut dyn Agents,
    calls: &mut Calls<'_>,
) -> Result<Load, Error> {
    agents.arm(plan, calls.stop)?;
    let start = agents.start();
    let began_at = Timestamp::now();
    let schedule = Schedule::new(plan, start);
    let mut meters = Meters { cpu: &mut server.cpu, counts: &mut server.counts };
    let mut publisher = server.live.clone().map(LivePublisher::new);
    let readings = watch(&mut meters, &schedule, &Quota::new(None), calls, &mut |asked| {
        if asked {
            agents.stop();
        }
        let have_ended = agents.have_ended();
        if let Some(publisher) = &mut publisher {
            publisher.publish(agents.live_counts());
        }
        have_ended
    });
    let (mut parts, mut lost) = (Vec::new(), Vec::new());
    let all = agents.parts();
    let count = u32::try_from(all.len()).unwrap_or(u32::MAX);
    let segments = Segment::split(plan, count).unwrap_or_default();
    for (AgentPart { agent, part }, segment) in all.into_iter().zip(segments) {
        match part {
            Ok(part) => parts.push((Some(agent), segment, part)),
            Err((at, why)) => {
                let after = at.saturating_duration_since(start);
                lost.push(Finding::AgentLost { agent, after, why });
            }
        }
    }
    Ok(Load { parts, lost, schedule, readings, began_at })
}

/// Reads the server's clocks and tells the progress until the load has ended. `turn` returns
/// whether it has; its argument is true if it was asked to stop.
fn watch(
    meters: &mut Meters<'_, '_>,
    schedule: &Schedule,
    quota: &Quota,
    calls: &mut Calls<'_>,
    turn: &mut dyn FnMut(bool) -> bool,
) -> Readings {
    let mut readings = Readings::default();
    let marks = [schedule.sustain_start, schedule.sustain_end];
    loop {
        // checked before the clock is read: the threads had finished before `now`
        let finished = turn(readings.broken_off.is_some());
        let now = Instant::now();
        if let Some(meter) = meters.cpu
            && marks.get(readings.server_cpu.len()).is_some_and(|&mark| now >= mark || finished)
        {
            let cpu = meter();
            readings.server_cpu.push((Instant::now(), cpu));
            readings.counts.extend(meters.counts.as_mut().map(|meter| meter()));
        }
        if finished {
            return readings;
        }
        if (calls.stop)() {
            readings.broken_off = readings.broken_off.or(Some(now));
        }
        let whole = schedule.sustain_end - schedule.start;
        let done = now.saturating_duration_since(schedule.start).div_duration_f64(whole);
        (calls.progress)(schedule.stage(now), done.min(1.0).max(quota.begun()));
        let next = marks.into_iter().filter(|&mark| mark > now).min();
        // threads end soon after the sustained part: check more often then
        let next = next.filter(|_| !quota.is_spent());
        let until = next.map_or(TICK / 10, |next| next - now);
        thread::sleep(until.min(TICK));
    }
}
