//! The number of transactions that ends a run.

use core::sync::atomic::{AtomicU64, Ordering};

/// The number of transactions of a run that no thread has begun yet. All threads share this number.
#[derive(Debug)]
pub(crate) struct Quota {
    all: u64,
    /// The number of transactions that are left; `None` if there is no limit.
    left: Option<AtomicU64>,
}

impl Quota {
    pub(crate) fn new(transactions: Option<u64>) -> Self {
        Self { all: transactions.unwrap_or(u64::MAX), left: transactions.map(AtomicU64::new) }
    }

    /// Takes one transaction; `false` if none is left.
    pub(crate) fn try_take(&self) -> bool {
        let Some(left) = &self.left else { return true };
        let less = |left: u64| left.checked_sub(1);
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// Returns whether all transactions have begun.
    pub(crate) fn is_spent(&self) -> bool {
        self.left.as_ref().is_some_and(|left| left.load(Ordering::Relaxed) == 0)
    }

    /// Returns the share of the transactions that have begun, in [0, 1]; 0 without a limit.
    #[allow(clippy::cast_precision_loss, reason = "a share for a progress bar")]
    pub(crate) fn begun(&self) -> f64 {
        let Some(left) = &self.left else { return 0.0 };
        1.0 - left.load(Ordering::Relaxed) as f64 / self.all.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_each_transaction_once() {
        let quota = Quota::new(Some(1000));
        let taken = || (0..1000).filter(|_| quota.try_take()).count();
        let [one, other] = std::thread::scope(|scope| {
            [scope.spawn(taken), scope.spawn(taken)].map(|thread| thread.join().unwrap_or(0))
        });
        assert_eq!(one + other, 1000);
        assert!(quota.is_spent() && quota.begun() >= 1.0);
        let endless = Quota::new(None);
        assert!(endless.try_take() && !endless.is_spent() && endless.begun() <= 0.0);
    }
}
