//! Wake-ups by Linux futex: no lock, and one call wakes exactly the threads of a batch.

use core::num::NonZeroU32;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Release};
use std::time::Instant;

use rustix::io::Errno;
use rustix::thread::futex::{Flags, wait_bitset, wake_bitset};
use rustix::time::{ClockId, Timespec, clock_gettime};

#[derive(Default)]
pub(crate) struct Futex {
    count: AtomicU32,
}

impl Futex {
    /// Number of slots that share a futex. Each of them has its own bit in the wake mask.
    pub(crate) const SLOTS: usize = 32;

    pub(crate) fn count(&self) -> u32 {
        self.count.load(Acquire)
    }

    /// Sleeps until a wake-up of this slot. Returns at once if the count differs from `seen`.
    /// Returns `false` if the deadline passed.
    pub(crate) fn sleep(&self, seen: u32, slot: usize, deadline: Option<Instant>) -> bool {
        let until = deadline.and_then(to_monotonic);
        // A signal or a changed count ends the sleep too, so the caller checks its flag again.
        wait_bitset(&self.count, Flags::PRIVATE, seen, until.as_ref(), bits(&[slot]))
            != Err(Errno::TIMEDOUT)
    }

    /// Counts a wake-up and wakes the threads that sleep on these slots. `slots` is not empty.
    pub(crate) fn wake(&self, slots: &[usize]) {
        self.count.fetch_add(1, Release);
        // This call fails only where futexes are forbidden. There, Rust's own locks fail too.
        let _ = wake_bitset(&self.count, Flags::PRIVATE, ALL, bits(slots));
    }
}

/// The largest number of threads that the system call accepts.
const ALL: u32 = i32::MAX.unsigned_abs();

/// Returns the wake mask of these slots.
fn bits(slots: &[usize]) -> NonZeroU32 {
    let bits = slots.iter().fold(0, |bits, slot| bits | 1_u32 << (slot % Futex::SLOTS));
    NonZeroU32::new(bits).expect("at least one slot")
}

/// Converts the deadline to the monotonic clock; `None` if it is out of range.
fn to_monotonic(deadline: Instant) -> Option<Timespec> {
    let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok()?;
    clock_gettime(ClockId::Monotonic).checked_add(left)
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::thread;

    use super::*;
    // These tests use the real futex. Loom's tests compile `thread_wakers.rs` with the portable
    // futex instead.
    use crate::thread_wakers::ThreadWakers;

    fn after(time: Duration) -> Option<Instant> {
        Instant::now().checked_add(time)
    }

    #[test]
    fn a_changed_count_prevents_sleep() {
        let futex = Futex::default();
        let seen = futex.count();
        futex.wake(&[5]);
        let last = (0..64).rev().fold(Instant::now(), |at, bit| {
            at.checked_add(Duration::from_secs(1 << bit)).unwrap_or(at)
        });
        for deadline in [None, after(Duration::from_secs(1 << 40)), Some(last)] {
            assert!(futex.sleep(seen, 0, deadline));
        }
    }

    #[test]
    fn a_deadline_ends_sleep() {
        let futex = Futex::default();
        for left in [Duration::ZERO, Duration::from_millis(20)] {
            assert!(!futex.sleep(futex.count(), 0, after(left)));
        }
    }

    #[test]
    fn wake_ends_the_sleep_of_the_given_slots_only() {
        let wakers = ThreadWakers::new(100);
        thread::scope(|scope| {
            let sleeps = |slot: usize, time: u64| {
                let wakers = &wakers;
                scope.spawn(move || {
                    let begin = Instant::now();
                    wakers.sleep(slot, after(Duration::from_millis(time)));
                    begin.elapsed()
                })
            };
            let woken = [3, 7, 32 + 7, 99].map(|slot| sleeps(slot, 60_000));
            let others = [4, 64 + 7].map(|slot| sleeps(slot, 100));
            thread::sleep(Duration::from_millis(20)); // so that most of the threads are asleep
            wakers.wake(&mut [99, 3, 39, 7]);
            for sleeper in woken {
                assert!(sleeper.join().expect("it ends") < Duration::from_secs(60));
            }
            for sleeper in others {
                assert!(sleeper.join().expect("it ends") >= Duration::from_millis(100));
            }
        });
    }

    #[test]
    fn a_flag_stays_set_until_it_is_cleared() {
        let wakers = ThreadWakers::new(1);
        wakers.wake(&mut [0]);
        wakers.sleep(0, None);
        wakers.sleep(0, None);
        wakers.clear(0);
        let begin = Instant::now();
        wakers.sleep(0, after(Duration::from_millis(20)));
        assert!(begin.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn each_slot_has_a_bit() {
        let all: Vec<_> = (0..Futex::SLOTS).collect();
        assert_eq!(bits(&all), NonZeroU32::MAX);
        assert!(all.iter().all(|&slot| bits(&[slot]).get().count_ones() == 1));
    }
}
