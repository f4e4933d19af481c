//! Kernels and memory of each thread, for operations that do not go through a queue.

use core::cell::Cell;

use tollgate_queue::{Lanes, PrivateJob, Request};
use tollgate_rsa::Workspace;

use crate::code::Failure;

thread_local! {
    static MEMORY: Cell<Option<Box<ThreadMemory>>> = const { Cell::new(None) };
}

/// Memory and kernels of a thread.
pub(crate) struct ThreadMemory {
    pub(crate) lanes: Lanes,
    #[expect(clippy::vec_box, reason = "units take boxes")]
    pub(crate) batch: Vec<Box<Request<PrivateJob>>>,
    /// For public operations.
    workspace: Workspace,
}

/// Number of operations that share a call.
pub(crate) const WIDTH: usize = 8;

/// Lends this thread's workspace for public operations.
pub(crate) fn with_workspace<T>(run: impl FnOnce(&mut Workspace) -> T) -> Result<T, Failure> {
    with_thread_memory(|memory| run(&mut memory.workspace))
}

/// Lends this thread's memory to `run`. After a panic it is dropped. A thread that ends has no
/// place for it and uses new memory each time.
pub(crate) fn with_thread_memory<T>(
    run: impl FnOnce(&mut ThreadMemory) -> T,
) -> Result<T, Failure> {
    let kept = MEMORY.try_with(Cell::take).ok().flatten();
    let mut memory = kept.map_or_else(ThreadMemory::new, Ok)?;
    let result = run(&mut memory);
    let _ = MEMORY.try_with(|place| place.set(Some(memory)));
    Ok(result)
}

impl ThreadMemory {
    fn new() -> Result<Box<Self>, Failure> {
        let batch = (0..WIDTH).map(|_| Box::default()).collect();
        Ok(Box::new(Self { lanes: Lanes::new(0)?, batch, workspace: Workspace::new()? }))
    }
}
