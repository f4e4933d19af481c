//! One run of one client: mark the log, load the server, wait for the log, count.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use tollgate_load::{Exchange, Plan, Seen, Server, Verdict, children_cpu, pin, words};

use crate::counted::{Counted, Tally, objections};
use crate::curl;
use crate::error::Error;
use crate::log_rate::LogRate;
use crate::rustls_client::Sessions;
use crate::s_time::STime;

/// Interval of reading the log and of asking the caller whether to stop.
const TICK: Duration = Duration::from_millis(20);

/// The work of a client's thread until a time, or until the flag is set.
type Work = dyn Fn(Instant, &AtomicBool) -> Tally + Sync;

words! {
    /// A client.
    Client {
        /// The load generator of this project.
        Minimal = "minimal",
        /// rustls on aws-lc-rs, a blocking thread for each connection of the plan.
        Rustls = "rustls",
        /// cURL: for each connection of the plan, a series of processes, one at a time.
        Curl = "curl",
        /// `openssl s_time` processes: one for each connection of the plan.
        STime = "s_time",
    }
}

/// Runs the plan's full handshakes and transfers against a server with this client. The counts
/// include the warm-up. The server needs a referee.
///
/// # Errors
/// The client cannot run the plan, or there was no run. Failures within a run become objections in
/// [`Counted`].
pub fn run(
    plan: &Plan,
    client: Client,
    server: &mut Server<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Counted, Error> {
    plan.check()?;
    server.target.lasts(plan)?;
    let bytes = bytes(plan)?;
    if client == Client::Minimal {
        return minimal(plan, server, stop);
    }
    let address = server.target.address();
    let work: Box<Work> = match client {
        Client::Curl => {
            let arguments = curl::arguments(plan.protocol, address, bytes)?;
            Box::new(move |until, stop| curl::work(&arguments, bytes, until, stop))
        }
        Client::STime => {
            let processes = STime::new(plan, address, bytes)?;
            Box::new(move |_, _| processes.work())
        }
        Client::Rustls | Client::Minimal => {
            let sessions = Sessions::new(plan, address, bytes)?;
            Box::new(move |until, stop| sessions.work(until, stop))
        }
    };
    mark(server)?;
    let (server_before, children_before) = (cpu_of(server)?, children_cpu());
    let (tally, per_s) = load(plan, server, &*work, stop)?;
    let seen = drain(server, tally.transactions)?;
    let server_cpu = server_before.zip(cpu_of(server)?).map(|(before, now)| now - before);
    let children = children_before.zip(children_cpu()).map(|(before, now)| now - before);
    Ok(Counted {
        transactions: tally.transactions,
        failed: tally.failed,
        objections: objections((tally.transactions, tally.failed), tally.first_failure, &seen),
        seen,
        per_s,
        server_cpu,
        client_cpu: children.map(|children| children + tally.cpu),
    })
}

/// Runs the load generator itself, and measures the server's CPU time over the whole run.
fn minimal(
    plan: &Plan,
    server: &mut Server<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Counted, Error> {
    let before = cpu_of(server)?;
    let outcome = tollgate_load::run(plan, server, stop, &mut |_, _| {})?;
    let server_cpu = before.zip(cpu_of(server)?).map(|(before, now)| now.saturating_sub(before));
    let (transactions, failed) = (outcome.whole.transactions, outcome.whole.failed());
    let seen = outcome.seen.unwrap_or_default();
    let mut objections = objections((transactions, failed), None, &seen);
    if outcome.verdict == Verdict::Invalid {
        objections.extend(outcome.reasons.iter().map(ToString::to_string));
    }
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    let client_cpu = outcome
        .client_cpu_ns_per_session()
        .map(|each| Duration::from_secs_f64(each * seen.requests as f64 / 1e9));
    let per_s = outcome.sessions_per_s();
    Ok(Counted { transactions, failed, seen, objections, per_s, server_cpu, client_cpu })
}

/// Returns the length of the body in bytes. An error means that only the load generator can run the
/// plan.
fn bytes(plan: &Plan) -> Result<u64, Error> {
    let usual = Plan::new(plan.protocol);
    let why = if plan.arrivals != usual.arrivals || plan.client_timeout != usual.client_timeout {
        "clients are compared in a closed loop: leave out --rate, --think and --patience"
    } else if plan.requests_per_connection > 1.0 || plan.plain_share > 0.0 {
        "clients are compared on one secure request for each connection: leave out \
         --requests-per-connection and --http-share"
    } else if plan.source_addresses > 0 {
        "other clients connect from an address of the system: leave out --source-addresses"
    } else if plan.resume.is_some() {
        "clients are compared on full handshakes: leave out --resume"
    } else if !plan.offer.is_empty() {
        "clients are compared on the suites of --protocol: leave out --suite and --group"
    } else {
        match &plan.exchange {
            Exchange::Get { path, bytes } if *path == format!("/bytes/{bytes}") => {
                return Ok(*bytes);
            }
            Exchange::Sizes(_) => "clients are compared on bodies of one size: leave out --client",
            _ => "clients are compared on sessions with a transfer: give --bytes",
        }
    };
    Err(Error::Cannot(why.to_owned()))
}

fn mark(server: &mut Server<'_>) -> Result<(), Error> {
    match &mut server.referee {
        Some(referee) => referee.mark().map_err(Error::io("read the server's log")),
        None => {
            let why =
                "clients are counted by the server's log: give --log, or a server that has one";
            Err(Error::Cannot(why.to_owned()))
        }
    }
}

fn seen(server: &mut Server<'_>) -> Result<Seen, Error> {
    let referee = server.referee.as_mut();
    let seen = referee.map(|referee| referee.seen()).transpose();
    seen.map(Option::unwrap_or_default).map_err(Error::io("read the server's log"))
}

fn cpu_of(server: &mut Server<'_>) -> Result<Option<Duration>, Error> {
    let meter = server.cpu.as_mut();
    meter.map(|meter| meter()).transpose().map_err(Error::io("read the server's CPU time"))
}

/// Runs all threads to their end and reads the log meanwhile; returns their counts, and the rate of
/// the sustained part.
fn load(
    plan: &Plan,
    server: &mut Server<'_>,
    work: &Work,
    stop: &dyn Fn() -> bool,
) -> Result<(Tally, Option<f64>), Error> {
    let ended = &AtomicBool::new(false);
    let start = Instant::now();
    let sustain = start + Duration::from_millis(plan.warm_up_ms);
    let until = sustain + Duration::from_millis(plan.sustain_ms);
    let mut log_rate = LogRate::default();
    let tally = thread::scope(|scope| {
        let mut threads = Vec::new();
        for number in 0..plan.connections {
            let work = move || {
                pin(plan, number)?;
                Ok::<_, Error>(work(until, ended))
            };
            let thread = thread::Builder::new().spawn_scoped(scope, work);
            threads.push(thread.map_err(Error::io("start a thread"))?);
        }
        let mut reading = Ok(());
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            if stop() || reading.is_err() {
                ended.store(true, Ordering::Relaxed);
            }
            reading =
                reading.and(seen(server).map(|seen| log_rate.see(Instant::now(), seen.requests)));
            thread::sleep(TICK);
        }
        let mut tally = Tally::default();
        for thread in threads {
            let found = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            tally.add(found?);
        }
        reading.map(|()| tally)
    })?;
    if stop() {
        return Err(Error::Stopped);
    }
    Ok((tally, log_rate.per_s(sustain, until)))
}

/// Waits until the log has the client's sessions. Then waits for the log's lag, to find further
/// sessions.
fn drain(server: &mut Server<'_>, transactions: u64) -> Result<Seen, Error> {
    let end = Instant::now() + Duration::from_secs(5);
    while seen(server)?.requests < transactions && Instant::now() < end {
        thread::sleep(TICK);
    }
    let lag = server.referee.as_ref().map(|referee| referee.lag());
    thread::sleep(lag.unwrap_or_default());
    seen(server)
}

#[cfg(test)]
mod tests {
    use tollgate_load::{Arrivals, ClientTimeout, Mechanism, Offer, Pattern, Protocol, Resume};

    use super::*;

    #[test]
    fn plans_for_the_load_generator_alone_are_refused_with_their_flag() {
        let plan = Plan::new(Protocol::Tls13);
        assert!(bytes(&plan).is_ok_and(|bytes| bytes == 14_336));
        let group = Some("X25519MLKEM768".to_owned());
        let resume = Resume { share: 0.5, by: Mechanism::Psk };
        let open = Arrivals::open(Pattern::Poisson { per_s: 9.0 });
        for (plan, flag) in [
            (Plan { arrivals: open, ..plan.clone() }, "--rate"),
            (
                Plan { client_timeout: Some(ClientTimeout { ms: 9, retries: 0 }), ..plan.clone() },
                "--patience",
            ),
            (Plan { resume: Some(resume), ..plan.clone() }, "--resume"),
            (Plan { requests_per_connection: 2.0, ..plan.clone() }, "--requests-per-connection"),
            (Plan { plain_share: 0.5, ..plan.clone() }, "--http-share"),
            (Plan { source_addresses: 2, ..plan.clone() }, "--source-addresses"),
            (Plan { offer: Offer { group, ..Offer::default() }, ..plan.clone() }, "--group"),
            (Plan { exchange: Exchange::HandshakeOnly, ..plan }, "--bytes"),
        ] {
            assert!(bytes(&plan).is_err_and(|why| why.to_string().contains(flag)), "{flag}");
        }
    }
}
