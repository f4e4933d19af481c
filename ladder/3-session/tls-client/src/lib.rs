//! Minimal TLS client, sans-IO, on aws-lc-rs. It contains none of this project's RSA code.
//!
//! The client is made for load tests: it costs little CPU time, documents the checks that it skips,
//! and shares no arithmetic with the tested servers. A configuration has one suite ([`Suite`], from
//! RC4 to AES-256-GCM). Handshakes are full or resumed.
//!
//! * [`Config`] is prepared once from [`Settings`] and shared by all connections.
//! * A [`Connection`] turns the server's bytes into [`Event`]s and into bytes for the server.
//!   [`Connection::reset`] makes it reusable. A connection allocates no memory for a record. In a
//!   handshake with an AEAD, only the library allocates memory, for the key agreement.
//! * [`Connection::save`] returns a [`SavedSession`], which [`Connection::resume`] offers. TLS 1.2
//!   resumes by session ID or ticket. TLS 1.3 resumes by the pre-shared key of a ticket, with early
//!   data if the server allows it. [`Facts`] has the offer and the result.
//! * An [`Error`] names the violation or the server's alert, and the [`SessionPhase`].
//!
//! # What is checked, and what is not
//! Always checked: the server's Finished, every record's tag, and the order of messages.
//! [`VerifySignature`] selects the check of the signature that binds the key exchange to the
//! certificate's key. **Never checked: whose certificate it is, chains, names, dates and
//! revocation.** So this client does not authenticate the server; do not use it for sensitive data.
//!
//! Not offered: compression, renegotiation, external pre-shared keys. A server that requests a
//! client certificate gets an empty one.
//!
//! # When a handshake counts
//! [`Connection::is_established`] tells that the client has finished. [`Connection::confirmation`]
//! tells that the server has finished, too; its value tells how the client knows. For a rate, count
//! only confirmed handshakes.
//!
//! ```
//! use std::sync::Arc;
//! use tollgate_tls_client::{Config, Connection, Error, SessionPhase, Settings, Suite};
//!
//! let config = Arc::new(Config::new(Settings::new(Suite::TLS_AES_128_GCM_SHA256))?);
//! let mut connection = Connection::new(&config)?;
//! let hello = connection.outgoing().len(); // write it to the socket, then:
//! connection.sent(hello)?;
//! // from the socket: a fatal alert, handshake_failure
//! let answer = [21, 3, 3, 0, 2, 2, 40];
//! let error = connection.read_tls(&answer, |event| unreachable!("{event:?}")).unwrap_err();
//! assert_eq!(error.phase(), Some(SessionPhase::Hello));
//! assert!(error.to_string().contains("handshake_failure"));
//! # Ok::<(), Error>(())
//! ```

mod certificate;
mod config;
mod connection;
mod decode;
mod encrypting;
mod error;
mod exchange;
mod hash;
mod hello;
mod input;
mod output;
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
mod server_hello;
mod session;
mod settings;
mod suite;
mod tls12;
mod tls13;
mod wire;

pub use config::Config;
pub use connection::{Confirmation, Connection, Event};
pub use error::{Error, Found, Misuse, Unavailable, Violation};
pub use hash::Hash;
pub use phase::SessionPhase;
pub use public_key::PublicKey;
pub use registry::{Group, SignatureScheme};
pub use resume::Resume;
pub use saved::{SavedSession, SessionKind};
pub use session::{EarlyData, Facts};
pub use settings::{Freshness, Settings, VerifySignature};
pub use suite::{Cipher, KeyExchange, Suite};
pub use wire::{AlertDescription, AlertLevel, Content, Extension, Message};
