#![doc = include_str!("../README.md")]

pub mod ecdsa_der;
mod frame;
mod message;
pub mod metrics;
mod operation;
mod ski;
mod stub;

pub use frame::{Broken, Frame, HEADER_BYTES, PADDED_BYTES, Split, split};
pub use message::{Malformed, Message, Reply};
pub use operation::{ErrorCode, Operation, PING, PONG, REFUSAL, RESPONSE};
pub use ski::{SKI_BYTES, Ski};
pub use stub::{InvalidStub, Stub};
