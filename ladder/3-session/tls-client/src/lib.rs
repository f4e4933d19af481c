//! Minimal TLS client, sans-IO, on aws-lc-rs; none of our RSA code.
//!
//! It is made to put load on servers and to judge them, so it is cheap, says what it skips, and
//! shares no arithmetic with what it judges. One suite per configuration
//! ([`Suite`]: a row of a table, from RC4 to AES-256-GCM), full handshakes or resumed sessions.
//!
//! * [`Config`] is prepared once from [`Settings`] and shared by all connections.
//! * A [`Connection`] turns the server's bytes into [`Event`]s and into bytes for the server. It is
//!   used again by [`Connection::reset`], and allocates no memory per record; per handshake with an
//!   AEAD only what the library does to agree on keys.
//! * A [`SavedSession`] is what [`Connection::save`] gives and [`Connection::resume`] offers: by
//!   session ID or ticket in TLS 1.2, by the pre-shared key of a ticket in TLS 1.3, with early data
//!   if the server allows it. [`Facts`] say what was offered and what came of it.
//! * An [`Error`] names the violation, or the server's alert, and the [`Phase`] in which it came.
//!
//! # What is checked, and what is not
//!
//! Always: the server's Finished, every record's tag, and that each message may come where it
//! comes. By [`VerifySignature`]: the signature that binds the key exchange to the certificate's
//! key. If [`Pin`] says so: the certificate or its key. **Never: chains, names, dates and
//! revocation.** So this client knows whom it talks to only with a pin and
//! `VerifySignature::Always`, and it is no client for data that matters.
//!
//! Not offered: compression, renegotiation, external pre-shared keys.
//!
//! # When a handshake counts
//!
//! [`Connection::is_established`] says that the client is done. [`Connection::confirmation`] says
//! that the server is, and how that is known; a rate counts only those.
//!
//! ```
//! use std::sync::Arc;
//! use tollgate_tls_client::{Config, Connection, Error, Phase, Settings, Suite};
//!
//! let config = Arc::new(Config::new(Settings::new(Suite::TLS_AES_128_GCM_SHA256))?);
//! let mut connection = Connection::new(&config)?;
//! let hello = connection.outgoing().len(); // to the socket, and then:
//! connection.sent(hello)?;
//! // from the socket: a fatal alert, handshake_failure
//! let answer = [21, 3, 3, 0, 2, 2, 40];
//! let error = connection.read_tls(&answer, |event| unreachable!("{event:?}")).unwrap_err();
//! assert_eq!(error.phase(), Some(Phase::Hello));
//! assert!(error.to_string().contains("handshake_failure"));
//! # Ok::<(), Error>(())
//! ```
#![forbid(unsafe_code)]

mod certificate;
mod config;
mod connection;
mod decode;
mod encrypting;
mod error;
mod exchange;
mod ffdhe;
mod group;
mod hash;
mod hello;
mod identity;
mod input;
mod output;
mod parameters;
mod phase;
mod prf;
mod protect;
mod public_key;
mod receive;
mod registry;
mod resume;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::wildcard_imports, reason = "tests")]
mod rogue;
mod saved;
mod schedule;
mod scheme;
mod server_hello;
mod session;
mod suite;
mod tls12;
mod tls13;
mod wire;

pub use config::{Config, Freshness, Pin, Settings, VerifySignature};
pub use connection::{Confirmation, Connection, Event};
pub use error::{Error, Found, Misuse, Unavailable, Violation};
pub use group::Group;
pub use identity::Identity;
pub use phase::Phase;
pub use resume::{EarlyData, Resume};
pub use saved::{Mechanism, SavedSession};
pub use scheme::SignatureScheme;
pub use session::Facts;
pub use suite::{Cipher, KeyExchange, MacHash, Suite};
pub use wire::{AlertDescription, AlertLevel, Content, Extension, Message};
