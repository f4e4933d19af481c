//! Predicts the cost of one TLS session to a server, by part, from measured primitives.
//!
//! A session is a full handshake, one `GET`, one response, and the end of the connection. Its cost
//! to the server, in core cycles, is the sum of its parts, as \[ETI10\] and \[ITA00\] split it:
//!
//! | part | description | source |
//! |---|---|---|
//! | `rsa` | the private-key operation through EVP | measured alone, or in the server's batches |
//! | `key-exchange` | ephemeral key pair and agreement through EVP | as `rsa` |
//! | `key-schedule` | PRF or HKDF, hashes of the transcript | counts x measured calls |
//! | `records` | AES-128-GCM, both ways, handshake records included | counts x measured calls |
//! | `mac` | 0: an AEAD has none of its own | stated in its record |
//! | `library` | the server's calls in memory less all of the above | a difference |
//! | `system` | the server's system calls without TLS | replayed over loopback |
//!
//! [`measure`] plays sessions in memory between the server's own connections
//! ([`tollgate_server::in_memory`]) and the minimal client, replays their system calls, and runs
//! their primitives, all in one interleaved series. A prediction uses no figure of the real server
//! under load: [`measured_total`] gives that figure for comparison, and the difference is the
//! remainder.
//!
//! [`measure_stock`] predicts sessions of a stock server, such as nginx, or of the embedded one: it
//! repeats the server's own calls of libssl and of the system, under load and without the server.
//!
//! In addition, each message of the handshake has a cost (`cycles_per_message`): its own primitives
//! and, for a message that the server waits for, the work of the library until the next wait. The
//! messages' costs add up to the handshake in memory.
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
//! let plan = SessionPlan::ladder(Duration::from_secs(25));
//! for record in measure(&plan, &context, &|| false, &mut |_| {})? {
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
#![deny(unsafe_code)]

mod bare_client;
mod batches;
mod calls;
mod certificates;
mod cores;
mod crossover;
mod error;
mod framing;
mod handshake;
mod in_memory;
mod libcrypto;
mod mean;
mod measure;
mod messages;
mod need;
mod pair;
mod pipe;
mod plan;
mod primitive;
mod records;
mod replica;
mod sum;
mod system;
mod total;
mod wire;
mod workers;
mod writer;

pub use bare_client::bare_client;
pub use certificates::Certificates;
pub use crossover::{amortisations, crossovers};
pub use error::Error;
pub use handshake::Handshake;
pub use libcrypto::{agree, encoded_public, generate};
pub use measure::measure;
pub use plan::{CONNECTIONS_MAX, LONG_BYTES, SHORT_BYTES, Session, SessionPlan};
pub use replica::measure_stock;
pub use tollgate_load::Context;
pub use total::{measured_total, predicted_rate};
