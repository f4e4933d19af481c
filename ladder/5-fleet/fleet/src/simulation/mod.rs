//! Response times of short runs, by discrete-event simulation.
//!
//! The formulas of [`crate::queue`] treat a session as one piece of work, the arrivals as Poisson
//! and the run as endless. The simulations drop these assumptions: arrivals come from any sequence,
//! such as a burst; the run has an end; a session is a series of stages, with the network and a
//! client that has other sessions too between them ([`Outside`]); a core that slept takes time to
//! wake up, and [`Interruptions`] keep it from its work ([`Core`]).
//!
//! * [`Simulation`] is a server whose cores serve the stages in the order in which they become
//!   ready: one queue, or one for each core.
//! * [`EventLoop`] is a server with an event loop on each core, as Tollgate's embedded server. A turn
//!   takes the stages that are ready when it begins. A stage with a private-key operation pauses
//!   until the operation has run; when eight operations wait, or at the end of the turn, they run as
//!   one batch, which takes hardly longer than one operation. Then the paused stages end. New
//!   connections are accepted at the end of a turn that began after they came. Each turn has work of
//!   its own. So batches and turns are small at low loads and a session is dear; at high loads a
//!   session is cheap, and waits for others.
//! * [`Impatience`] is one queue of cores, for sessions of several kinds in one piece, whose clients
//!   give up after a timeout and come again.

mod core;
mod event_loop;
mod impatience;
mod outside;
mod run;
mod stages;

pub use self::core::{Core, Interruptions};
pub use event_loop::{EventLoop, Stage};
pub use impatience::{Clients, Impatience, Outcome};
pub use outside::Outside;
pub use run::Run;
pub use stages::Simulation;

fn first_free(free_at: impl Iterator<Item = f64>) -> usize {
    let first = free_at.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
    first.map_or(0, |(core, _)| core)
}

/// Returns a quantile of at least one time: the smallest time that is not exceeded by a share of
/// `quantile` (0 to 1) of all.
///
/// # Panics
///
/// If there is no time.
#[must_use]
pub fn quantile(times: &mut [f64], quantile: f64) -> f64 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a place in the list"
    )]
    let place = (quantile * times.len() as f64).ceil() as usize;
    let place = place.clamp(1, times.len()) - 1;
    *times.select_nth_unstable_by(place, f64::total_cmp).1
}
