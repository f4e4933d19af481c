//! Counts of a signer since its start.

use core::sync::atomic::{AtomicU64, Ordering};

use tollgate_keyless::{ErrorCode, Operation};

use crate::config::Allowed;
use crate::gpu::GpuCounts;

/// The kinds of requests, with their names in metrics. Requests that cannot be read are of no kind.
const KINDS: [&str; 5] = ["decrypt", "raw", "sign", "ping", "other"];

/// The number of outcomes: done, and each error.
const OUTCOMES: usize = 9;

/// Counts that all workers share.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) unix: AtomicU64,
    pub(crate) tls: AtomicU64,
    pub(crate) open: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) audit_failures: AtomicU64,
    /// Connections whose handshake has not ended.
    pub(crate) handshakes: AtomicU64,
    requests: [[AtomicU64; OUTCOMES]; KINDS.len()],
}

/// Counts of a signer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections accepted on the Unix socket.
    pub unix_connections: u64,
    /// Connections accepted with TLS.
    pub tls_connections: u64,
    /// Connections open now.
    pub connections_open: u64,
    /// Connections that were closed because their peer is no client, or there were too many.
    pub connections_refused: u64,
    /// Operations that were not released because the audit log could not be written.
    pub audit_failures: u64,
    /// Requests: the kind, the outcome, and their number.
    pub requests: Vec<(&'static str, &'static str, u64)>,
    /// Calls of units by the number of operations in them: `fill[n]` calls had n.
    pub fill: Vec<u64>,
    /// The GPU's, if there is one.
    pub gpu: Option<GpuCounts>,
}

impl Counters {
    pub(crate) fn count(&self, operation: Option<Operation>, outcome: Result<(), ErrorCode>) {
        let kind = match operation.map(needed) {
            Some(Some(Allowed::Decrypt)) => 0,
            Some(Some(Allowed::Raw)) => 1,
            Some(Some(Allowed::Sign)) => 2,
            Some(None) => 3,
            None => 4,
        };
        let at = match outcome {
            Ok(()) => 0,
            Err(code) => 1 + ErrorCode::all().position(|known| known == code).unwrap_or_default(),
        };
        self.requests[kind][at].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the counts of the workers.
    pub(crate) fn read(&self) -> Counts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let outcomes = || core::iter::once("done").chain(ErrorCode::all().map(ErrorCode::name));
        let requests = KINDS.into_iter().zip(&self.requests).flat_map(|(kind, counts)| {
            outcomes().zip(counts).map(move |(outcome, count)| (kind, outcome, read(count)))
        });
        Counts {
            unix_connections: read(&self.unix),
            tls_connections: read(&self.tls),
            connections_open: read(&self.open),
            connections_refused: read(&self.refused),
            audit_failures: read(&self.audit_failures),
            requests: requests.collect(),
            ..Counts::default()
        }
    }
}

/// Returns the permission that an operation needs; a ping needs none.
pub(crate) fn needed(operation: Operation) -> Option<Allowed> {
    match operation {
        Operation::Decrypt => Some(Allowed::Decrypt),
        Operation::Ping => None,
        Operation::Raw => Some(Allowed::Raw),
        Operation::SignEcdsa(_) | Operation::SignPkcs1v15(_) | Operation::SignPss(_) => {
            Some(Allowed::Sign)
        }
    }
}

impl Counts {
    /// Returns the number of requests of a kind with this outcome, such as "sign" and "done".
    #[must_use]
    pub fn requests_of(&self, kind: &str, outcome: &str) -> u64 {
        let is = |row: &&(&str, &str, u64)| row.0 == kind && row.1 == outcome;
        self.requests.iter().find(is).map_or(0, |(.., count)| *count)
    }

    /// Returns the numbers of batches of two operations or more, and of the operations in them.
    #[must_use]
    pub fn batches(&self) -> (u64, u64) {
        let batches = self.fill.iter().enumerate().skip(2);
        batches.fold((0, 0), |(calls, sum), (n, count)| (calls + count, sum + n as u64 * count))
    }
}
