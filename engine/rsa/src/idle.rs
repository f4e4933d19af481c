//! Workspaces for callers that bring none: the ecosystem's traits sign with `&self` alone.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use crate::error::Error;
use crate::workspace::Workspace;

/// A key and workspaces for it; clones share both.
pub(crate) struct Attended<K> {
    key: Arc<K>,
    workspaces: Arc<Workspaces>,
}

impl<K> Attended<K> {
    pub(crate) fn new(key: Arc<K>) -> Self {
        Self { key, workspaces: Arc::default() }
    }

    pub(crate) fn key(&self) -> &K {
        &self.key
    }

    /// Runs an operation of the key.
    pub(crate) fn with<T>(
        &self,
        run: impl FnOnce(&K, &mut Workspace) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.workspaces.with(|workspace| run(&self.key, workspace))
    }
}

impl<K> Clone for Attended<K> {
    fn clone(&self) -> Self {
        Self { key: Arc::clone(&self.key), workspaces: Arc::clone(&self.workspaces) }
    }
}

/// The idle workspaces of a key, as many as operations of it ran at once.
///
/// Nobody waits for the lock: who does not get it makes a workspace of its own, and a process that
/// was forked while another thread held it is not stuck.
#[derive(Default)]
struct Workspaces {
    #[expect(clippy::vec_box, reason = "a workspace is too large to move at each operation")]
    idle: Mutex<Vec<Box<Workspace>>>,
}

impl Workspaces {
    /// Lends `run` a workspace, which is wiped and kept afterwards; after a panic it is dropped.
    fn with<T>(&self, run: impl FnOnce(&mut Workspace) -> Result<T, Error>) -> Result<T, Error> {
        let idle = self.lock().and_then(|mut idle| idle.pop());
        let mut workspace = match idle {
            Some(workspace) => workspace,
            None => Box::new(Workspace::new()?),
        };
        let result = run(&mut workspace);
        if let Some(mut idle) = self.lock() {
            idle.push(workspace);
        }
        result
    }

    #[expect(clippy::vec_box, reason = "as in the struct")]
    fn lock(&self) -> Option<MutexGuard<'_, Vec<Box<Workspace>>>> {
        match self.idle.try_lock() {
            Ok(idle) => Some(idle),
            // whole workspaces come and go, so a panic elsewhere left none of them half there
            Err(TryLockError::Poisoned(idle)) => Some(idle.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(workspaces: &Workspaces) -> usize {
        workspaces.lock().expect("nobody else").len()
    }

    #[test]
    fn a_workspace_serves_one_operation_at_a_time_and_is_kept() {
        let workspaces = Workspaces::default();
        let one = |_: &mut Workspace| Ok(());
        workspaces.with(one).expect("no veto is misspelled");
        workspaces.with(one).expect("no veto is misspelled");
        assert_eq!(count(&workspaces), 1);
        let two = workspaces.with(|_| workspaces.with(|_| Ok(count(&workspaces))));
        assert_eq!(two, Ok(0), "both are in use");
        assert_eq!(count(&workspaces), 2);
    }

    /// As in a process that was forked while another thread held the lock.
    #[test]
    fn nobody_waits_for_the_lock() {
        let workspaces = Workspaces::default();
        let held = workspaces.lock();
        assert_eq!(workspaces.with(|_| Ok(7)), Ok(7));
        drop(held);
        assert_eq!(count(&workspaces), 0, "it could not be kept");
    }
}
