//! Response times of short runs, by discrete-event simulation.
//!
//! The formulas of [`crate::queue`] treat a session as one piece of work, the arrivals as Poisson
//! and the run as endless. The simulations drop these assumptions: arrivals come from any sequence,
//! such as a burst; the run has an end; a session is a series of stages, with the network and the
//! client between them; and a core that slept takes time to wake up.
//!
//! * [`Simulation`] is a server whose cores serve the stages in the order in which they become
//!   ready: one queue, or one for each core.
//! * [`EventLoop`] is a server with an event loop on each core, as Tollgate's embedded server. A turn
//!   takes the stages that are ready when it begins. A stage with a private-key operation pauses
//!   until the operation has run; when eight operations wait, or at the end of the turn, they run as
//!   one batch, which takes hardly longer than one operation. Then the paused stages end. New
//!   connections are accepted at the end of a turn that began after they came. So batches are small
//!   at low loads and a session is dear; at high loads a session is cheap, and waits for others.
//! * [`Impatience`] is one queue of cores, for sessions of several kinds in one piece, whose clients
//!   give up after a timeout and come again.

mod event_loop;
mod impatience;
mod stages;

pub use event_loop::{EventLoop, Run, Stage};
pub use impatience::{Clients, Impatience, Outcome};
pub use stages::Simulation;

fn first_free(free_at: &[f64]) -> usize {
    let first = (0..free_at.len()).min_by(|&a, &b| free_at[a].total_cmp(&free_at[b]));
    first.unwrap_or(0)
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
