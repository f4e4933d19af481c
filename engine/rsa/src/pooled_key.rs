//! A pool of workspaces for the ecosystem's traits, which sign with `&self` only.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use crate::error::Error;
use crate::workspace::Workspace;

/// A key with a pool of workspaces; clones share both.
pub(crate) struct PooledKey<K> {
    key: Arc<K>,
    workspaces: Arc<Workspaces>,
}

impl<K> PooledKey<K> {
    pub(crate) fn new(key: Arc<K>) -> Self {
        Self { key, workspaces: Arc::default() }
    }

    pub(crate) fn key(&self) -> &K {
        &self.key
    }

    /// Runs an operation of the key with a pooled workspace.
    pub(crate) fn with<T>(
        &self,
        run: impl FnOnce(&K, &mut Workspace) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.workspaces.with(|workspace| run(&self.key, workspace))
    }
}

impl<K> Clone for PooledKey<K> {
    fn clone(&self) -> Self {
        Self { key: Arc::clone(&self.key), workspaces: Arc::clone(&self.workspaces) }
    }
}

/// The idle workspaces of a key. Their number grows to the largest number of operations that ran
/// concurrently.
///
/// No thread blocks on the lock: a thread that does not get it makes a new workspace. A process
/// that was forked while another thread had the lock therefore does not hang.
#[derive(Default)]
struct Workspaces {
    #[expect(clippy::vec_box, reason = "a workspace is too large to move at each operation")]
    idle: Mutex<Vec<Box<Workspace>>>,
}

impl Workspaces {
    /// Lends a workspace to `run`. Wipes and keeps it afterwards; drops it after a panic.
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
            // Workspaces are pushed and popped as a whole. A panic therefore leaves no partial one.
            Err(TryLockError::Poisoned(idle)) => Some(idle.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(workspaces: &Workspaces) -> usize {
        workspaces.lock().expect("not locked").len()
    }

    #[test]
    fn a_workspace_serves_one_operation_at_a_time_and_is_kept() {
        let workspaces = Workspaces::default();
        let one = |_: &mut Workspace| Ok(());
        workspaces.with(one).expect("TOLLGATE_CPU_DISABLE is valid");
        workspaces.with(one).expect("TOLLGATE_CPU_DISABLE is valid");
        assert_eq!(count(&workspaces), 1);
        let two = workspaces.with(|_| workspaces.with(|_| Ok(count(&workspaces))));
        assert_eq!(two, Ok(0), "both are in use");
        assert_eq!(count(&workspaces), 2);
    }

    /// Tests a process that was forked while another thread had the lock.
    #[test]
    fn a_held_lock_does_not_block() {
        let workspaces = Workspaces::default();
        let held = workspaces.lock();
        assert_eq!(workspaces.with(|_| Ok(7)), Ok(7));
        drop(held);
        assert_eq!(count(&workspaces), 0, "dropped, since the pool was locked");
    }
}
