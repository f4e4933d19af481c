//! Operations with keys that a signer has: `tollgate signer`, on a Unix socket of this machine.
#![forbid(unsafe_code)]

use std::path::Path;

use rustix::io::Errno;
use tollgate_keyless::{Operation, Ski};
use zeroize::Zeroizing;

use crate::alt_stack::on_alt_stack;
use crate::connections::Failure;
use crate::counters::Event;
use crate::provider::Provider;
use crate::reason::Reason;

impl Provider {
    /// Runs an operation on the signer, and passes the result to `check`, which says if it is the
    /// right one.
    pub(crate) fn remote(
        &self,
        ski: Ski,
        operation: Operation,
        input: &[u8],
        check: impl FnOnce(&[u8]) -> bool,
    ) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let Some(path) = &self.settings.remote else {
            return Err(Failure::Gone(Errno::DESTADDRREQ));
        };
        let ask = || {
            let connections = &self.states.current().connections;
            let limit = self.settings.remote_limit;
            let result = connections.ask(path, (ski, operation, input), limit)?;
            if check(&result) { Ok(result) } else { Err(Failure::Wrong) }
        };
        // The stack of a job is small.
        let result = if self.running_job().is_some() { on_alt_stack(ask) } else { ask() };
        self.count(if result.is_ok() { Event::Remote } else { Event::RemoteFailure });
        result
    }

    /// Adds a failure to the error queue, with the path of the signer, and returns the reason.
    pub(crate) fn raise_remote(&self, failure: &Failure) -> Reason {
        let path = self.settings.remote.as_deref().unwrap_or(Path::new("(none)"));
        self.raise(Reason::Remote, &format!("the signer at {} {failure}", path.display()));
        Reason::Said
    }
}
