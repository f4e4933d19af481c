//! Base blinding: pairs (r^e, r^-1) mod n that hide the input of a private operation.
//!
//! Each use squares the pair; after [`USES`] uses, new pairs are made from fresh random bytes,
//! several at once (see [`crate::fresh`]). A key keeps its idle pairs in a pool. Each operation
//! takes a pair out and returns it, so concurrent operations never share one. After a fork the
//! child discards inherited pairs: its [`fork_generation`] differs.

use std::sync::{Mutex, MutexGuard, TryLockError};

use tollgate_cpu::process::fork_generation;
use tollgate_mont::Word;
use zeroize::{DefaultIsZeroes, Zeroize, ZeroizeOnDrop};

use crate::error::{Error, MODULUS_BYTES_MAX, Unavailable};

/// The number of operations that use a pair, or its squares, before the pair is replaced.
pub(crate) const USES: u32 = 64;

/// The number of attempts to lock the pool before the caller makes its own pair. Together they take
/// a few microseconds.
const LOOKS: u32 = 64;

/// A blinding pair in Montgomery form: limbs, digits or rows of lane blocks, not reduced below n.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct BlindingPair<S: Zeroize> {
    pub(crate) blind: Vec<S>,
    pub(crate) unblind: Vec<S>,
    /// Remaining uses; at 0 the pair must be replaced.
    pub(crate) left: u32,
}

/// The idle pairs of a key.
pub(crate) struct Pool<S: Zeroize> {
    idle: Mutex<Idle<S>>,
    k: usize,
    /// No spare pair is stored while the pool has this many.
    enough: usize,
}

struct Idle<S: Zeroize> {
    pairs: Vec<BlindingPair<S>>,
    /// The fork generation of the process that made the pairs.
    process: u64,
}

impl<S: DefaultIsZeroes> Pool<S> {
    /// Creates a pool sized for `pairs` concurrent operations. An operation that finds no pair
    /// makes `at_once` fresh ones. If more operations run concurrently, the pool allocates memory
    /// for their pairs.
    pub(crate) fn new(k: usize, pairs: usize, at_once: usize) -> Self {
        let enough = pairs * at_once;
        let idle = Idle { pairs: Vec::with_capacity(enough), process: fork_generation() };
        let pool = Self { idle: Mutex::new(idle), k, enough };
        (0..pairs).for_each(|_| pool.give(pool.blank()));
        pool
    }

    fn blank(&self) -> BlindingPair<S> {
        BlindingPair {
            blind: vec![S::default(); self.k],
            unblind: vec![S::default(); self.k],
            left: 0,
        }
    }

    /// Locks the idle pairs, or returns `None` if another thread keeps the lock. The wait is
    /// bounded because a forked child inherits a held lock without the thread that would release
    /// it.
    fn idle(&self) -> Option<MutexGuard<'_, Idle<S>>> {
        for _ in 0..LOOKS {
            match self.idle.try_lock() {
                Ok(idle) => return Some(idle),
                // pairs are moved whole, so a panic cannot leave half a pair
                Err(TryLockError::Poisoned(idle)) => return Some(idle.into_inner()),
                Err(TryLockError::WouldBlock) => core::hint::spin_loop(),
            }
        }
        None
    }

    /// Takes a pair for one operation. If `left` is 0, the caller must make fresh ones.
    pub(crate) fn take(&self) -> BlindingPair<S> {
        let process = fork_generation();
        let Some(mut idle) = self.idle() else {
            return self.blank();
        };
        if idle.process != process {
            // After a fork, parent and child have the same pairs. The child replaces its copies.
            idle.process = process;
            idle.pairs.iter_mut().for_each(|pair| pair.left = 0);
        }
        let last = idle.pairs.len().checked_sub(1);
        let good = idle.pairs.iter().rposition(|pair| pair.left > 0);
        good.or(last).map_or_else(|| self.blank(), |at| idle.pairs.swap_remove(at))
    }

    /// Returns a pair to the pool.
    pub(crate) fn give(&self, pair: BlindingPair<S>) {
        if let Some(mut idle) = self.idle() {
            idle.pairs.push(pair);
        }
    }

    /// Stores a new pair, which `fill` writes. The new pair replaces a spent one. If no pair is
    /// spent, it is added, unless the pool already has `enough` pairs.
    pub(crate) fn store_spare(&self, fill: impl FnOnce(&mut BlindingPair<S>)) {
        let Some(mut idle) = self.idle() else { return };
        let spent = idle.pairs.iter().position(|pair| pair.left == 0);
        let mut pair = match spent {
            Some(at) => idle.pairs.swap_remove(at),
            None if idle.pairs.len() < self.enough => self.blank(),
            None => return,
        };
        fill(&mut pair);
        pair.left = USES;
        idle.pairs.push(pair);
    }
}

/// Writes a random number below n to u. u has as many limbs as n; n has `bits` bits.
pub(crate) fn random_below(u: &mut [u64], n: &[u64], bits: usize) -> Result<(), Error> {
    let mut bytes = [0; MODULUS_BYTES_MAX];
    let bytes = &mut bytes[..8 * n.len()];
    loop {
        getrandom::fill(bytes).map_err(|_| Unavailable::Random)?;
        for (u, bytes) in u.iter_mut().zip(bytes.as_chunks().0) {
            *u = u64::from_le_bytes(*bytes);
        }
        // at least half of these numbers are below n
        if !bits.is_multiple_of(64) {
            u[n.len() - 1] &= (1 << (bits % 64)) - 1;
        }
        let mut borrow = 0;
        for (u, n) in u.iter().zip(n) {
            u.sub_borrow(*n, &mut borrow);
        }
        // the number of rejected draws is independent of the accepted one
        if tollgate_cpu::memcheck::declassified(borrow) == 1 {
            bytes.zeroize();
            tollgate_cpu::memcheck::mark_secret(u);
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_below_n_and_differ() {
        let n = [5, u64::MAX, 9]; // 132 bits
        let (mut u, mut v) = ([0; 3], [0; 3]);
        let mut tops = [false; 10];
        for _ in 0..200 {
            random_below(&mut u, &n, 132).expect("random bytes");
            random_below(&mut v, &n, 132).expect("random bytes");
            assert!(u != v && u[2] <= 9 && (u[2] < 9 || u[1] < u64::MAX || u[0] < 5));
            tops[usize::try_from(u[2]).expect("below 10")] = true;
        }
        assert!(tops.iter().all(|&seen| seen), "200 draws reach every top limb");
    }

    #[test]
    fn a_pair_is_taken_by_one_only() {
        let pool = Pool::<u64>::new(2, 1, 2);
        let first = pool.take();
        let second = pool.take(); // made on the spot
        assert_eq!((first.left, second.left), (0, 0));
        let mut used = pool.blank();
        used.left = 7;
        pool.give(used);
        assert_eq!(pool.take().left, 7);
    }

    #[test]
    fn spare_pairs_are_stored_until_there_are_enough() {
        let pool = Pool::<u64>::new(2, 1, 3);
        let used = pool.take();
        for number in 1..=4 {
            pool.store_spare(|pair| pair.blind[0] = number);
        }
        pool.give(used); // a spent pair: it is taken last and replaced by a fresh one
        let mut seen: Vec<_> = (0..4).map(|_| pool.take()).map(|p| (p.blind[0], p.left)).collect();
        assert_eq!(seen.pop(), Some((0, 0)));
        seen.sort_unstable();
        assert_eq!(seen, [(1, USES), (2, USES), (3, USES)]);
        pool.give(pool.blank());
        pool.store_spare(|pair| pair.blind[0] = 5);
        assert_eq!(pool.idle.lock().expect("not poisoned").pairs.len(), 1);
        let pair = pool.take();
        assert_eq!((pair.blind[0], pair.left), (5, USES));
    }

    /// Tests the pool of a process that was forked while another thread had the lock.
    #[test]
    fn no_caller_waits_for_the_lock() {
        let pool = Pool::<u64>::new(2, 1, 2);
        let held = pool.idle.lock().expect("not poisoned");
        let pair = pool.take();
        assert_eq!(pair.left, 0);
        pool.give(pair);
        drop(held);
        assert_eq!(pool.idle.lock().expect("not poisoned").pairs.len(), 1);
    }

    #[test]
    fn pairs_of_the_process_before_a_fork_are_made_anew() {
        let pool = Pool::<u64>::new(2, 0, 2);
        let mut used = pool.blank();
        used.left = 7;
        pool.give(used);
        pool.idle.lock().expect("not poisoned").process ^= 1;
        assert_eq!(pool.take().left, 0);
        let mut fresh = pool.blank();
        fresh.left = 5;
        pool.give(fresh);
        assert_eq!(pool.take().left, 5, "once per fork");
    }
}
