//! The wire protocol of remote signing, that of gokeyless: frames, operations and names of keys.
//!
//! A client sends a [`Message`] with an operation, the name of a key ([`Ski`]) and a payload, such as
//! a digest. The signer answers with the same number and a signature, or with an [`ErrorCode`].
//! Answers may come in any order. [`split`] finds the frames of a stream, and [`Message::read`] reads
//! the items of one. [`Stub`] is the file that stands for a key on a server that does not have it.
//!
//! ```
//! use tollgate_keyless::{Message, Operation, Split, split};
//! use tollgate_rsa::Hash;
//!
//! let request = Message {
//!     id: 7,
//!     opcode: Operation::SignPss(Hash::Sha256).code(),
//!     ski: Some("0101010101010101010101010101010101010101".parse()?),
//!     payload: &[2; 32],
//! };
//! let mut sent = Vec::new();
//! request.write(&mut sent);
//! let Split::Frame { frame, len } = split(&sent, 4096) else { panic!("a frame") };
//! assert_eq!((Message::read(frame)?, len), (request, 1024));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! This crate is internal: its versions promise nothing.
#![forbid(unsafe_code)]

pub mod ecdsa_der;
mod frame;
mod incoming;
mod message;
pub mod metrics;
mod operation;
mod ski;
mod stub;

pub use frame::{Broken, Frame, HEADER_BYTES, PADDED_BYTES, Split, split};
pub use incoming::Incoming;
pub use message::{Malformed, Message, Reply};
pub use operation::{ErrorCode, Operation, PING, PONG, REFUSAL, RESPONSE};
pub use ski::{InvalidSki, SKI_BYTES, Ski};
pub use stub::{InvalidStub, Stub};
