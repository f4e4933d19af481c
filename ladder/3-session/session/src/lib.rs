//! Predicts the cost of one TLS session to a server, by part, from measured primitives.
//!
//! A session is a handshake, one `GET`, one response, and the end of the connection. Its cost to
//! the server, in core cycles, is the sum of its parts, as \[ETI10\] and \[ITA00\] split it:
//!
//! | part | description | source |
//! |---|---|---|
//! | `rsa`, `signature` | the private-key operation through EVP | measured alone or in batches |
//! | `key-exchange` | ephemeral key pair and agreement, or the KEM, through EVP | as `rsa` |
//! | `key-schedule` | PRF or HKDF, hashes of the transcript | counts x measured calls |
//! | `records` | the cipher, both ways, handshake records included | counts x measured calls |
//! | `mac` | the HMAC of records; 0 with an AEAD | counts x measured calls |
//! | `library` | the server's calls of libssl less all of the above | a difference |
//! | `system` | the server's system calls | replayed over loopback |
//!
//! [`measure`] repeats the server's own calls of libssl and of the system, under load and without
//! the server: those of the embedded server or of a stock server such as nginx. The primitives are
//! measured alone. A prediction uses no figure of the real server: [`measured_total`] gives that
//! figure for comparison, and the difference is the remainder.
//!
//! ```no_run
//! use core::time::Duration;
//! use std::collections::BTreeMap;
//! use tollgate_session::{Context, SessionPlan, measure};
//!
//! let context = Context {
//!     machine: tollgate_bench::this_machine(),
//!     versions: BTreeMap::new(),
//!     commit: None,
//!     conditions: BTreeMap::new(),
//! };
//! let plan = SessionPlan::ladder(None, Duration::from_secs(25));
//! for record in measure(None, &plan, &context, &|| false, &mut |_| {})? {
//!     println!("{} {:.0}", record.subject, record.estimate.point());
//! }
//! # Ok::<(), tollgate_session::Error>(())
//! ```
//!
//! # Sources
//!
//! * \[ETI10\] M. Kounavis et al., *Encrypting the Internet*, SIGCOMM 2010: a session of 140 KB as
//!   RSA, cipher, MAC and other overhead.
//! * \[ITA00\] Intel, *Itanium: High Performance on Security Algorithms*: the share of RSA by the
//!   length of the transfer.
//! * RFC 5246 (TLS 1.2), RFC 5288 (AES-GCM in it), RFC 7627 (extended master secret), RFC 8446
//!   (TLS 1.3), RFC 5869 (HKDF).

mod batches;
mod calls;
mod cores;
mod counts;
mod error;
mod flight;
mod framing;
mod halves;
mod handshake;
mod libcrypto;
mod measure;
mod need;
mod plan;
mod primitive;
mod recording;
mod records;
mod replica;
mod sum;
mod total;
mod workers;

pub use error::Error;
pub use handshake::Handshake;
pub use libcrypto::{agree, decapsulate, encapsulate, encoded_public, generate, read_public};
pub use measure::measure;
pub use plan::{CONNECTIONS_MAX, LONG_BYTES, SHORT_BYTES, Session, SessionPlan, has_group};
pub use tollgate_load::Context;
pub use total::{measured_total, predicted_rate};
