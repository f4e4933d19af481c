//! The offload unit: RSA private operations in batches on an NVIDIA GPU, behind the queue.
//!
//! * [`Operations`] runs batches on a [`Device`]: keys and blinding pairs stay there, operands and
//!   results are copied. A result leaves the device only if its check with e passed.
//! * [`Gpu`] is a device, through NVIDIA's driver, which is opened at run time.
//! * [`Offload`] is a unit of the queue: batches that pay go to a device, the others to the lanes of the
//!   processor.
//! * [`Meter`] reads the energy and the clock of a GPU.
//! * The code of the device is in `device/`. The same source is compiled for GPUs and, by the tests,
//!   for an emulation that steps the lanes of a group one after the other.
//!
//! This crate is internal: its versions promise nothing.

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
