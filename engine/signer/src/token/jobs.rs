//! The jobs that wait for a thread of a token. Clients have turns, so that one with many jobs does not
//! delay the others.

use std::collections::VecDeque;
use std::time::Instant;

use crate::account::Relayed;

/// A job, which `run` does.
pub(super) struct Job<R> {
    pub(super) deadline: Instant,
    pub(super) run: R,
    /// It counts for its client until it has run, or its time is over: also when the client is gone.
    pub(super) relayed: Option<Relayed>,
}

impl<R> Job<R> {
    fn client(&self) -> usize {
        self.relayed.as_ref().map_or(0, Relayed::client)
    }
}

pub(super) struct Jobs<R> {
    /// The clients that have jobs. The first one has the next turn.
    clients: VecDeque<VecDeque<Job<R>>>,
    count: usize,
}

impl<R> Jobs<R> {
    pub(super) const fn new() -> Self {
        Self { clients: VecDeque::new(), count: 0 }
    }

    pub(super) const fn count(&self) -> usize {
        self.count
    }

    pub(super) fn push(&mut self, job: Job<R>) {
        self.count += 1;
        let client = job.client();
        let is_its =
            |jobs: &&mut VecDeque<Job<R>>| jobs.front().is_some_and(|it| it.client() == client);
        match self.clients.iter_mut().find(is_its) {
            Some(jobs) => jobs.push_back(job),
            None => self.clients.push_back([job].into()),
        }
    }

    pub(super) fn pop(&mut self) -> Option<Job<R>> {
        let mut jobs = self.clients.pop_front()?;
        let job = jobs.pop_front();
        if !jobs.is_empty() {
            self.clients.push_back(jobs);
        }
        self.count -= usize::from(job.is_some());
        job
    }

    /// Removes the jobs whose time is over.
    pub(super) fn remove_late(&mut self, now: Instant) -> Vec<Job<R>> {
        let mut late = Vec::new();
        for jobs in &mut self.clients {
            // all have the same limit, so the first ones end first
            while let Some(job) = jobs.pop_front_if(|job| job.deadline <= now) {
                late.push(job);
            }
        }
        self.clients.retain(|jobs| !jobs.is_empty());
        self.count -= late.len();
        late
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::sync::Arc;

    use super::*;
    use crate::account::Account;

    #[test]
    fn clients_have_turns() {
        let (first, second) = (Arc::new(Account::default()), Arc::new(Account::default()));
        let (mut jobs, now) = (Jobs::new(), Instant::now());
        let mut push = |account: &Arc<Account>, at: u64| {
            let deadline = now + Duration::from_secs(at);
            jobs.push(Job { deadline, run: (), relayed: Some(account.relay()) });
        };
        (1..=4).for_each(|at| push(&first, at));
        push(&second, 5);
        assert_eq!((jobs.count(), first.relayed(), second.relayed()), (5, 4, 1));
        assert_eq!(jobs.remove_late(now + Duration::from_secs(2)).len(), 2);
        assert_eq!((jobs.count(), first.relayed()), (3, 2), "what is not run does not count");
        let mut pop = || (jobs.pop().unwrap().deadline - now).as_secs();
        assert_eq!([pop(), pop(), pop()], [3, 5, 4]);
        assert!(jobs.pop().is_none());
        assert_eq!((jobs.count(), first.relayed(), second.relayed()), (0, 0, 0));
    }
}
