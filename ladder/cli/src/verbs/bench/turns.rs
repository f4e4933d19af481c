//! Servers that take turns, each with its own plan.

use tollgate_load::{Outcome, Plan, Protocol, Server, run as load};
use tollgate_server::KeyKind;

use super::options::sub_verbs::Turns;
use super::scenario::is_unsteady;
use crate::error::CliError;
use crate::interrupt;
use crate::options::values::defaults;
use crate::options::{Bench, EngineKind, Mode, ServerKind};
use crate::progress;

/// The length of a response in bytes.
const BYTES: u64 = 14 * 1024;

/// Connections in flight: enough to fill the lanes of all processors.
const CONNECTIONS: u32 = 64;

/// Returns the load of servers in processes of their own, with TLS 1.3.
pub(super) fn request(turns: &Turns, key: KeyKind) -> Bench {
    let mut bench = Bench {
        mode: Mode::Rounds,
        key: vec![key],
        protocol: vec![Protocol::Tls13],
        bytes: BYTES,
        server: vec![ServerKind::Nginx], // the plan is that of an installed server
        engine: vec![EngineKind::Openssl], // any number of rounds is allowed for one server
        rounds: turns.rounds,
        seconds: turns.seconds,
        ..defaults()
    };
    bench.load.connections = CONNECTIONS;
    bench
}

/// The runs of one server.
#[derive(Default)]
pub(in crate::verbs) struct Measured {
    pub(in crate::verbs) outcomes: Vec<Outcome>,
    /// Runs that were repeated because their rate was not steady.
    pub(in crate::verbs) repeated: u32,
}

/// Runs every server once in each round; successive rounds begin with different servers. After
/// Ctrl-C, the last round is incomplete.
pub(in crate::verbs) fn measure(
    bench: &Bench,
    plans: &[&Plan],
    targets: &mut [Server<'_>],
    rounds: &mut [Measured],
) -> Result<(), CliError> {
    let count = targets.len();
    let all = f64::from(bench.rounds) * f64::from(u32::try_from(count)?);
    let mut done = 0.0;
    for round in 0..bench.rounds as usize {
        for turn in 0..count {
            let at = (round + turn) % count;
            let part = &mut |_, part: f64| progress::part((done + part) / all);
            let mut once = || load(plans[at], &mut targets[at], &interrupt::asked, part);
            let mut outcome = once();
            for _ in 0..bench.load.repeats {
                if !outcome.as_ref().is_ok_and(is_unsteady) || interrupt::asked() {
                    break;
                }
                outcome = once();
                rounds[at].repeated += 1;
            }
            if interrupt::asked() {
                return Ok(());
            }
            rounds[at].outcomes.push(outcome?);
            done += 1.0;
        }
    }
    Ok(())
}
