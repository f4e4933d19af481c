//! The answers of a batch, and their lines in the audit log.

use core::sync::atomic::Ordering;

use tollgate_keyless::{ErrorCode, Operation, RESPONSE};
use zeroize::Zeroizing;

use super::{Origin, Pending, Work, Worker};
use crate::answer::finish;
use crate::connection::State;

/// The operations to answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    All,
    /// The oldest one, and all that are done with it.
    Batch,
}

impl Worker {
    /// Runs operations, writes their lines, and adds their answers. Returns the connections that
    /// have answers.
    pub(super) fn answer(&mut self, until: Until) -> Vec<usize> {
        type Results = Vec<(Origin, Operation, Result<Zeroizing<Vec<u8>>, ErrorCode>)>;
        let mut results: Results = Vec::with_capacity(self.pending.len());
        let mut waits = true;
        for pending in core::mem::take(&mut self.pending) {
            let Pending { origin, operation, ski, work } = pending;
            let result = match work {
                Work::Refused(why) => Err(why),
                Work::Submitted(mut ticket, key) => {
                    // The wait for the oldest one runs a batch, unless another worker does.
                    if core::mem::replace(&mut waits, until == Until::All) {
                        finish(ticket.wait(), operation, &key)
                    } else if let Some(ended) = ticket.try_take_done() {
                        finish(ended, operation, &key)
                    } else {
                        let work = Work::Submitted(ticket, key);
                        self.pending.push(Pending { origin, operation, ski, work });
                        continue;
                    }
                }
            };
            if let Some(at) = self.connections.get(origin.connection)
                && let State::Open { identity, .. } = &at.state
            {
                let client = self.policy.client(identity);
                let outcome = result.as_ref().map(|_| ()).map_err(|why| *why);
                let is_over = outcome == Err(ErrorCode::OverRate);
                if !is_over || self.shared.may_log(client) {
                    let name = client.map_or("", |client| &client.name);
                    let outcome = outcome.map_or_else(ErrorCode::name, |()| "done");
                    let (who, what) = ((&*at.peer, name), (operation, ski));
                    self.lines.operation(who, what, outcome);
                }
            }
            results.push((origin, operation, result));
        }
        let is_logged = self.log();
        let mut answered = Vec::with_capacity(results.len());
        for (Origin { connection: key, id }, operation, result) in results {
            let result = if is_logged { result } else { Err(ErrorCode::Internal) };
            let counters = &self.shared.counters;
            counters.count(Some(operation), result.as_ref().map(|_| ()).map_err(|why| *why));
            if !is_logged {
                counters.audit_failures.fetch_add(1, Ordering::Relaxed);
            }
            if let Some(connection) = self.connections.get_mut(key) {
                connection.running -= 1;
                answered.push(key);
                match result {
                    Ok(payload) => connection.answer(id, RESPONSE, &payload),
                    Err(why) => connection.refuse(id, why),
                }
            }
        }
        answered
    }

    /// Writes the lines of this turn to the audit log, and returns whether they are there.
    pub(super) fn log(&mut self) -> bool {
        let Some(audit) = self.shared.audit.as_ref().filter(|_| !self.lines.is_empty()) else {
            self.lines.clear();
            return true;
        };
        let written = audit.write(&self.lines);
        self.lines.clear();
        let was_broken = self.shared.is_audit_broken.swap(written.is_err(), Ordering::Relaxed);
        if let Err(why) = &written
            && !was_broken
        {
            let text = "the audit log cannot be written, so operations are refused until it can";
            (self.shared.say)(&format!(
                "{text} ({why}): make room, or send SIGUSR1 for a new file"
            ));
        }
        written.is_ok()
    }
}
