//! The state of the back ends, which all workers share.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The back ends of a server.
#[derive(Debug, Default)]
pub(crate) struct Backends(Vec<Backend>);

#[derive(Debug)]
#[repr(align(128))] // other threads write to the neighbour
struct Backend {
    address: SocketAddr,
    is_up: AtomicBool,
    /// Requests that were assigned to it and have not ended.
    active: AtomicUsize,
    requests: AtomicU64,
    failures: AtomicU64,
}

/// The counts of one back end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendCounters {
    /// Its address.
    pub address: SocketAddr,
    /// It passed its last check; true without checks.
    pub is_up: bool,
    /// Number of requests that it has now.
    pub active: usize,
    /// Number of requests passed on to it, including those that were then passed on to another.
    pub requests: u64,
    /// Number of requests that failed there: not connected, no valid response, or one cut short.
    pub failures: u64,
}

impl Backends {
    pub(crate) fn new(addresses: &[SocketAddr]) -> Self {
        let backend = |address: &SocketAddr| Backend {
            address: *address,
            is_up: AtomicBool::new(true),
            active: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        };
        Self(addresses.iter().map(backend).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn address(&self, backend: usize) -> SocketAddr {
        self.0[backend].address
    }

    /// Assigns a request to the back end with the fewest requests, of those that are up and not in
    /// `tried`. `turn` decides between equals. The caller calls [`Self::end`] later.
    pub(crate) fn assign(&self, tried: &[usize], turn: usize) -> Option<usize> {
        let count = self.0.len();
        let usable = |at: &usize| self.0[*at].is_up.load(Ordering::Relaxed) && !tried.contains(at);
        let least = (0..count)
            .map(|at| (at + turn) % count)
            .filter(usable)
            .min_by_key(|at| self.0[*at].active.load(Ordering::Relaxed))?;
        self.0[least].active.fetch_add(1, Ordering::Relaxed);
        self.0[least].requests.fetch_add(1, Ordering::Relaxed);
        Some(least)
    }

    /// Ends a request that was assigned to this back end.
    pub(crate) fn end(&self, backend: usize) {
        self.0[backend].active.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn count_failure(&self, backend: usize) {
        self.0[backend].failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Stores the result of a check; returns whether it differs from the last.
    pub(crate) fn set_up(&self, backend: usize, is_up: bool) -> bool {
        self.0[backend].is_up.swap(is_up, Ordering::Relaxed) != is_up
    }

    pub(crate) fn counters(&self) -> Vec<BackendCounters> {
        let counters = |backend: &Backend| BackendCounters {
            address: backend.address,
            is_up: backend.is_up.load(Ordering::Relaxed),
            active: backend.active.load(Ordering::Relaxed),
            requests: backend.requests.load(Ordering::Relaxed),
            failures: backend.failures.load(Ordering::Relaxed),
        };
        self.0.iter().map(counters).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_back_end_with_the_fewest_requests_is_chosen() {
        let addresses = [1, 2, 3].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let backends = Backends::new(&addresses);
        let mut assigned: Vec<usize> = (0..3).filter_map(|_| backends.assign(&[], 0)).collect();
        assigned.sort_unstable();
        assert_eq!(assigned, [0, 1, 2]);
        backends.end(1);
        assert_eq!(backends.assign(&[], 0), Some(1));
        assert_eq!(backends.assign(&[], 2), Some(2), "equal: the turn decides");
        assert_eq!(backends.assign(&[0], 0), Some(1));
        assert!(backends.set_up(1, false));
        assert!(!backends.set_up(1, false));
        assert_eq!(backends.assign(&[0, 2], 0), None);
        let counts = backends.counters();
        assert_eq!((counts[1].active, counts[1].requests, counts[1].is_up), (2, 3, false));
    }
}
