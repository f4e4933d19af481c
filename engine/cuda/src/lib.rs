#![doc = include_str!("../README.md")]

mod device;
mod driver;
mod gpu;
mod keys;
mod layout;
mod meter;
mod operations;
mod policy;
mod secret;
mod unit;

/// The guide's example is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/gpu.md")]
pub struct Guide;

pub use device::{Batch, Device, Failure, Kernel, Mark, Memory, Numbers};
pub use gpu::{Gpu, OpenError};
pub use layout::{FAILED, JOB_BYTES, PASSED, Size};
pub use meter::Meter;
pub use operations::{Done, Operation, Operations, Prepared};
pub use policy::Policy;
pub use unit::{Event, Offload};
