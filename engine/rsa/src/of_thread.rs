//! The workspace that each thread keeps for operations without a workspace of their own.

use core::cell::Cell;

use crate::error::Error;
use crate::key::PublicKey;
use crate::workspace::Workspace;

thread_local! {
    static IDLE: Cell<Option<Box<Workspace>>> = const { Cell::new(None) };
}

/// Lends the thread's workspace to `run`. A nested call, and a call while the thread's variables
/// are destroyed, get a workspace of their own. After a panic the workspace is dropped, which wipes
/// it.
///
/// # Errors
///
/// Those of `run` and of [`Workspace::new`].
pub(crate) fn with<T>(run: impl FnOnce(&mut Workspace) -> Result<T, Error>) -> Result<T, Error> {
    let mut workspace = match IDLE.try_with(Cell::take).ok().flatten() {
        Some(workspace) => workspace,
        None => Box::new(Workspace::new()?),
    };
    let result = run(&mut workspace);
    let _ = IDLE.try_with(|idle| idle.set(Some(workspace)));
    result
}

impl PublicKey {
    /// Returns a vector of the key's size that `write` has filled.
    pub(crate) fn fill(
        &self,
        write: impl FnOnce(&mut Workspace, &mut [u8]) -> Result<(), Error>,
    ) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; self.size()];
        with(|workspace| write(workspace, &mut bytes))?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_one_workspace_and_nested_calls_make_another() {
        let address = || with(|workspace| Ok(core::ptr::from_ref(workspace).addr()));
        let first = address().expect("TOLLGATE_CPU_DISABLE is valid");
        assert_eq!(address(), Ok(first));
        let nested = with(|_| address()).expect("TOLLGATE_CPU_DISABLE is valid");
        assert_ne!(nested, first);
        let other = std::thread::spawn(address).join().expect("no panic");
        assert_ne!(other, Ok(first));
    }

    #[test]
    fn a_panic_drops_the_workspace() {
        let run = || with(|_| -> Result<(), Error> { panic!("in an operation") });
        assert!(std::panic::catch_unwind(run).is_err());
        assert!(IDLE.take().is_none());
    }
}
