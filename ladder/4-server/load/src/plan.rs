//! The plan of a run, as data: equal plans give equal load.

use core::time::Duration;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use tollgate_tls_client::{Freshness, VerifySignature};

use crate::arrivals::{Arrivals, Think};
use crate::client_timeout::ClientTimeout;
use crate::error::Error;
use crate::limits::Limits;
use crate::messages::words;
use crate::offer::{Offer, Protocol};
use crate::request_form::RequestForm;
use crate::resumption::{Mechanism, Resume};
use crate::sizes::Sizes;

/// Arrivals, transactions and duration of a run.
///
/// Its JSON and its [`hash`](Self::hash) identify the load. A later format has another `version`
/// and therefore another hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of the format: [`Self::VERSION`].
    pub version: u32,
    /// Connections in flight, over all threads, from 1 to [`Self::CONNECTIONS_MAX`]. In an open
    /// loop this is the maximum number in flight.
    pub connections: u32,
    /// Threads, from 1 to the number of connections.
    pub threads: u32,
    /// Logical cores that the threads are pinned to, in turn. If empty, the system chooses.
    pub cores: Vec<u32>,
    /// Arrivals of transactions.
    pub arrivals: Arrivals,
    /// Random seed of arrivals, think times and kinds of transactions.
    pub seed: u64,
    /// Timeout of clients. With `None` only `phase_ms_max` ends a connection.
    #[serde(rename = "patience")]
    pub client_timeout: Option<ClientTimeout>,
    /// Warm-up, in milliseconds. The connections of a closed loop start one by one over its
    /// first half.
    pub warm_up_ms: u64,
    /// The measured part, in milliseconds; at least [`Self::SUSTAIN_MS_MIN`].
    pub sustain_ms: u64,
    /// The number of transactions that ends the run, if `sustain_ms` does not end it before;
    /// retries are not counted. With such a number there is no warm-up. `None`: only time ends the
    /// run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<u64>,
    /// Timeout of one phase of a connection, and of waiting for the referee's log, in
    /// milliseconds.
    pub phase_ms_max: u64,
    /// Protocol version and key exchange.
    pub protocol: Protocol,
    /// Suite and group, if different from the protocol's defaults.
    #[serde(default, skip_serializing_if = "Offer::is_empty")]
    pub offer: Offer,
    /// The transfer of a request.
    pub exchange: Exchange,
    /// Method, header fields and body of each request.
    #[serde(default, skip_serializing_if = "RequestForm::is_default")]
    pub request: RequestForm,
    /// Resumption of sessions; with `None` all handshakes are full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
    /// Sequential requests on a connection, from 1 to [`Self::REQUESTS_MAX`]. With a fraction,
    /// such as 2.5, connections alternate between the integers around it. A connection that is
    /// not done `phase_ms_max` after the sustained part sends only one more request.
    #[serde(serialize_with = "whole_where_it_is")]
    pub requests_per_connection: f64,
    /// The share of transactions without TLS, drawn at random.
    pub plain_share: f64,
    /// The handshakes that verify the signature over the key exchange.
    pub verify: VerifySignature,
    /// Key shares of the key agreement, and premaster secrets of RSA key exchange.
    pub key_share: Freshness,
    /// The end of connections.
    pub close: Close,
    /// Limits above which a run is invalid or doubtful.
    pub limits: Limits,
}

/// The transfer of one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Exchange {
    /// `GET` of a path whose body has exactly `bytes` bytes.
    Get {
        /// The path, as it stands in the request; begins with `/`.
        path: String,
        /// The length of the body in bytes. Any other length is an error.
        bytes: u64,
    },
    /// `GET` of `/bytes/N`, with N drawn for each request. Any other length of the body is an
    /// error.
    Sizes(Sizes),
    /// No request. In TLS 1.2 the server's Finished confirms a full handshake; otherwise the
    /// client sends `close_notify`, and the server's `close_notify` confirms the handshake.
    HandshakeOnly,
}

impl Exchange {
    /// Returns `GET /bytes/{bytes}`, as the embedded server serves it.
    #[must_use]
    pub fn bytes(bytes: u64) -> Self {
        Self::Get { path: format!("/bytes/{bytes}"), bytes }
    }

    pub(crate) const fn is_nothing(&self) -> bool {
        matches!(self, Self::HandshakeOnly)
    }
}

words! {
    /// The end of a connection after its transaction. In both variants the last request has
    /// `Connection: close`.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    Close {
        /// Sends `close_notify`, waits for the server's `close_notify` or end of stream, and closes
        /// the socket. `TIME_WAIT` remains on the side that closed first.
        Fin = "fin",
        /// Resets the connection without `close_notify` when the transaction is complete and the
        /// server has confirmed the handshake. No port stays in `TIME_WAIT`. The socket is reused,
        /// which the server cannot see. Not allowed with early data: the response may come before
        /// the server has read Finished and written tickets, and the reset would interrupt this.
        RstAfterConfirm = "rst-after-confirm",
    }
}

impl Plan {
    /// The version of the format that this program writes.
    pub const VERSION: u32 = 4;
    /// Maximum number of connections: more than the ports of one loopback address.
    pub const CONNECTIONS_MAX: u32 = 100_000;
    /// Maximum number of requests on a connection.
    pub const REQUESTS_MAX: f64 = 1_000_000.0;
    /// Maximum of `transactions`.
    pub const TRANSACTIONS_MAX: u64 = 1_000_000_000;
    /// Minimum length of the sustained part; bins have 100 ms.
    pub const SUSTAIN_MS_MIN: u64 = 200;
    /// Maximum of all times: one day.
    pub const MS_MAX: u64 = 24 * 3600 * 1000;

    /// Creates a plan of full handshakes with 14,336 bytes each \[HP01\]: one thread, a closed loop
    /// of 16 connections, one request on each, no signature verified, key shares fresh, reset after
    /// confirmation; 1 s of warm-up and 5 s of measurement.
    #[must_use]
    pub fn new(protocol: Protocol) -> Self {
        Self {
            version: Self::VERSION,
            connections: 16,
            threads: 1,
            cores: Vec::new(),
            arrivals: Arrivals::Closed { think: Think::None },
            seed: 1,
            client_timeout: None,
            warm_up_ms: 1000,
            sustain_ms: 5000,
            transactions: None,
            phase_ms_max: 5000,
            protocol,
            offer: Offer::default(),
            exchange: Exchange::bytes(14_336),
            request: RequestForm::default(),
            resume: None,
            requests_per_connection: 1.0,
            plain_share: 0.0,
            verify: VerifySignature::Never,
            key_share: Freshness::Fresh,
            close: Close::RstAfterConfirm,
            limits: Limits::default(),
        }
    }

    /// Returns the plan of a single transaction, plain or not, with a full handshake.
    pub(crate) fn of_one(&self, is_plain: bool) -> Self {
        Self {
            connections: 1,
            threads: 1,
            arrivals: Arrivals::Closed { think: Think::None },
            client_timeout: None,
            plain_share: f64::from(u8::from(is_plain)),
            resume: self.resume.map(|resume| Resume { share: 0.0, ..resume }),
            ..self.clone()
        }
    }

    /// Returns the first 16 hexadecimal digits of the SHA-256 of the plan's JSON.
    ///
    /// # Panics
    ///
    /// Never: a plan is data that JSON can hold.
    #[must_use]
    pub fn hash(&self) -> String {
        let json = serde_json::to_vec(self).expect("a plan has no maps and no foreign types");
        hex::encode(&Sha256::digest(json)[..8])
    }

    /// Checks the plan.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] with the field and its range.
    pub fn check(&self) -> Result<(), Error> {
        let ms = 1..=Self::MS_MAX;
        let path_ok = match &self.exchange {
            Exchange::HandshakeOnly | Exchange::Sizes(_) => true,
            Exchange::Get { path, .. } => {
                path.starts_with('/')
                    && path.len() <= 1024
                    && path.bytes().all(|byte| byte.is_ascii_graphic())
            }
        };
        let sizes = match &self.exchange {
            Exchange::Sizes(sizes) => sizes.broken_rule(),
            Exchange::Get { .. } | Exchange::HandshakeOnly => None,
        };
        let broken = self.arrivals.broken_rule();
        let resume = self.resume.and_then(|resume| self.broken_resume_rule(resume));
        let rules = [
            (self.version == Self::VERSION, "version is 4 in this program"),
            (
                (1..=Self::CONNECTIONS_MAX).contains(&self.connections),
                "connections are 1 to 100000",
            ),
            (
                (1..=self.connections).contains(&self.threads),
                "threads are 1 to the number of connections",
            ),
            (self.cores.iter().all(|&core| core < 1024), "cores are numbers below 1024"),
            (self.warm_up_ms <= Self::MS_MAX, "warm_up_ms is at most a day"),
            (
                (Self::SUSTAIN_MS_MIN..=Self::MS_MAX).contains(&self.sustain_ms),
                "sustain_ms is 200 to a day",
            ),
            (
                self.transactions.is_none_or(|all| (1..=Self::TRANSACTIONS_MAX).contains(&all)),
                "transactions are 1 to 1000000000",
            ),
            (
                self.transactions.is_none() || self.warm_up_ms == 0,
                "a number of transactions has no warm-up: warm_up_ms is 0",
            ),
            (ms.contains(&self.phase_ms_max), "phase_ms_max is 1 to a day"),
            (
                self.offer.settings(self.protocol).is_some(),
                "a suite and a group have registered names that this client knows, \
                 and the group fits the suite",
            ),
            (path_ok, "a path begins with / and is visible ASCII, at most 1024 characters"),
            (
                self.request.is_default() || !self.exchange.is_nothing(),
                "without transfer there is no request: it has no method, header fields or body",
            ),
            (sizes.is_none(), sizes.unwrap_or_default()),
            (self.limits.are_shares(), "limits are shares in [0, 1]"),
            (broken.is_none(), broken.unwrap_or_default()),
            (resume.is_none(), resume.unwrap_or_default()),
            (
                (1.0..=Self::REQUESTS_MAX).contains(&self.requests_per_connection),
                "requests_per_connection are 1 to 1000000",
            ),
            ((0.0..=1.0).contains(&self.plain_share), "plain_share is a share in [0, 1]"),
            (
                !self.exchange.is_nothing()
                    || (self.requests_per_connection <= 1.0 && self.plain_share <= 0.0),
                "without transfer, a connection has one handshake and is not plain",
            ),
            (
                self.client_timeout.is_none_or(|timeout| {
                    ms.contains(&timeout.ms) && timeout.retries <= ClientTimeout::RETRIES_MAX
                }),
                "patience is 1 ms to a day, with at most 100 retries",
            ),
        ];
        match rules.iter().find(|(ok, _)| !ok) {
            None => Ok(()),
            Some((_, rule)) => Err(Error::Plan(rule)),
        }
    }

    /// Returns the violated rule of resumption, if any.
    fn broken_resume_rule(&self, resume: Resume) -> Option<&'static str> {
        let is_tls13 = self.offer.settings(self.protocol).map(|known| known.suite.is_tls13());
        if !(resume.share > 0.0 && resume.share <= 1.0) {
            Some("resume: a share is above 0 and at most 1")
        } else if self.plain_share >= 1.0 {
            Some("resume: without TLS there are no sessions to resume")
        } else if is_tls13.is_some_and(|is| is != resume.by.is_tls13()) {
            Some("resume: TLS 1.2 resumes by session-id or ticket, TLS 1.3 by psk or early-data")
        } else if resume.by == Mechanism::EarlyData && self.exchange.is_nothing() {
            Some("resume: early-data is a request, and without transfer there is none")
        } else if resume.by == Mechanism::EarlyData && !self.request.may_be_early() {
            Some("resume: early-data can be replayed: only GET without body is sent as such")
        } else if resume.by == Mechanism::EarlyData && self.close == Close::RstAfterConfirm {
            Some(
                "resume: with early-data connections end by fin: the response may come before the \
                 server's handshake is complete, and a reset would break it off",
            )
        } else {
            None
        }
    }

    /// Returns the protocol version and key exchange as record subjects spell them, such as
    /// `tls12-rsa`. `http` if all transactions are plain.
    #[must_use]
    pub fn word(&self) -> &'static str {
        if self.plain_share >= 1.0 {
            return "http";
        }
        self.offer.word(self.protocol)
    }

    /// Returns all sizes of bodies that the plan requests.
    #[must_use]
    pub fn bodies(&self) -> BTreeSet<u64> {
        match &self.exchange {
            Exchange::Get { bytes, .. } => BTreeSet::from([*bytes]),
            Exchange::Sizes(sizes) => sizes.all().iter().copied().collect(),
            Exchange::HandshakeOnly => BTreeSet::new(),
        }
    }

    pub(crate) const fn phase_max(&self) -> Duration {
        Duration::from_millis(self.phase_ms_max)
    }
}

/// Writes 2 instead of 2.0.
fn whole_where_it_is<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
    let is_whole = number.fract() == 0.0 && (0.0..=Plan::REQUESTS_MAX).contains(number);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    if is_whole { to.serialize_u64(*number as u64) } else { to.serialize_f64(*number) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Pattern;

    #[test]
    fn plans_survive_json_and_hashes_differ() {
        let plan = Plan::new(Protocol::Tls13);
        let json = serde_json::to_string(&plan).unwrap();
        let again: Plan = serde_json::from_str(&json).unwrap();
        assert_eq!(again, plan);
        assert_eq!(again.hash(), plan.hash());
        let of = |requests_per_connection| {
            serde_json::to_string(&Plan { requests_per_connection, ..plan.clone() }).unwrap()
        };
        assert!(of(2.0).contains("\"requests_per_connection\":2,"), "{}", of(2.0));
        assert!(of(2.5).contains("\"requests_per_connection\":2.5,"), "{}", of(2.5));
        assert_eq!(plan.hash().len(), 16);
        let other = Plan { close: Close::Fin, ..plan.clone() };
        assert_ne!(other.hash(), plan.hash());
        assert!(json.contains(r#""protocol":"tls13""#), "{json}");
        assert!(serde_json::from_str::<Plan>(&json.replace("connections", "conns")).is_err());
    }

    #[test]
    fn words_equal_the_json() {
        for protocol in Protocol::ALL {
            let json = serde_json::to_string(&protocol).unwrap();
            assert_eq!(json, format!("\"{}\"", protocol.word()));
            let plain = Plan { plain_share: 1.0, ..Plan::new(protocol) };
            assert_eq!((Plan::new(protocol).word(), plain.word()), (protocol.word(), "http"));
        }
    }

    #[test]
    fn invalid_plans_are_refused_with_the_rule() {
        let good = Plan::new(Protocol::Tls12Rsa);
        good.check().unwrap();
        let refused = |change: fn(&mut Plan), rule: &str| {
            let mut plan = good.clone();
            change(&mut plan);
            let text = plan.check().unwrap_err().to_string();
            assert!(text.contains(rule), "{text}");
        };
        refused(|p| p.version = 1, "version");
        refused(|p| p.connections = 0, "connections");
        refused(|p| p.threads = 17, "threads");
        refused(|p| p.threads = 0, "threads");
        refused(|p| p.sustain_ms = 199, "sustain_ms");
        refused(|p| p.phase_ms_max = 0, "phase_ms_max");
        refused(|p| (p.warm_up_ms, p.transactions) = (0, Some(0)), "transactions are");
        refused(|p| p.transactions = Some(5), "no warm-up");
        refused(|p| p.limits.errors = f64::NAN, "limits");
        refused(|p| p.requests_per_connection = 0.5, "requests_per_connection");
        refused(|p| p.requests_per_connection = f64::NAN, "requests_per_connection");
        refused(|p| p.plain_share = f64::NAN, "plain_share");
        refused(|p| p.client_timeout = Some(ClientTimeout { ms: 0, retries: 0 }), "patience");
        refused(|p| p.arrivals = Arrivals::open(Pattern::Poisson { per_s: 0.0 }), "per second");
        let exchange = Exchange::HandshakeOnly;
        let twice = Plan { exchange, requests_per_connection: 1.5, ..good.clone() };
        assert!(twice.check().unwrap_err().to_string().contains("without transfer"));
        for path in ["bytes/1", "/a b", "/a\r\nHost: x"] {
            let exchange = Exchange::Get { path: path.to_owned(), bytes: 1 };
            let plan = Plan { exchange, ..good.clone() };
            assert!(plan.check().is_err(), "{path:?}");
        }
    }
}
