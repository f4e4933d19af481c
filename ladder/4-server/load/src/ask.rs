//! Whether a server takes what a plan offers, asked by a handshake.

use crate::error::Error;
use crate::phase::{Cause, Failure};
use crate::plan::Plan;
use crate::run::{Server, probe};
use crate::socket::reserve_descriptors;
use crate::target::Targets;

/// Does one transaction of the plan, alone and with TLS: `None` if the server takes it, else how it
/// failed. It is no part of a run: its log is not read.
///
/// # Errors
///
/// [`Error`] if nobody could be asked: nothing listens, the plan is out of range.
pub fn ask(
    plan: &Plan,
    server: &Server<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Failure>, Error> {
    plan.check()?;
    server.target.lasts(plan)?;
    reserve_descriptors(plan)?;
    let targets = Targets { secure: &server.target, plain: &server.target };
    match probe(plan, targets, (false, None), stop) {
        Ok(_) => Ok(None),
        Err(Error::Probe { failure, .. }) if failure.cause != Cause::Refused => Ok(Some(failure)),
        Err(error) => Err(error),
    }
}
