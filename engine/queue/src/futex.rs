//! Wake-ups by Linux futex: no lock, and one call wakes exactly the threads of a batch.

use core::num::NonZeroU32;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Release};

use rustix::thread::futex::{Flags, wait_bitset, wake_bitset};

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

    /// Sleeps until a wake-up of this slot. Returns at once if the count differs from `seen`. A
    /// signal ends the sleep too, so the caller checks its flag again.
    pub(crate) fn sleep(&self, seen: u32, slot: usize) {
        let _ = wait_bitset(&self.count, Flags::PRIVATE, seen, None, bits(&[slot]));
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

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::thread;

    use super::*;
    // These tests use the real futex. Loom's tests compile `thread_wakers.rs` with the portable
    // futex instead.
    use crate::thread_wakers::ThreadWakers;

    #[test]
    fn a_changed_count_prevents_sleep() {
        let futex = Futex::default();
        let seen = futex.count();
        futex.wake(&[5]);
        futex.sleep(seen, 0);
    }

    #[test]
    fn wake_ends_the_sleep_of_the_given_slots_only() {
        let wakers = ThreadWakers::new(100);
        thread::scope(|scope| {
            let sleeps = |slot: usize| {
                let wakers = &wakers;
                scope.spawn(move || wakers.sleep(slot))
            };
            let woken = [3, 7, 32 + 7, 99].map(sleeps);
            let others = [4, 64 + 7].map(sleeps);
            thread::sleep(Duration::from_millis(20)); // so that most of the threads are asleep
            wakers.wake(&mut [99, 3, 39, 7]);
            woken.into_iter().for_each(|sleeper| sleeper.join().expect("it ends"));
            assert!(others.iter().all(|sleeper| !sleeper.is_finished()));
            wakers.wake(&mut [4, 64 + 7]);
        });
    }

    #[test]
    fn a_flag_stays_set_until_it_is_cleared() {
        let wakers = ThreadWakers::new(1);
        wakers.wake(&mut [0]);
        wakers.sleep(0);
        wakers.sleep(0);
        wakers.clear(0);
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| wakers.sleep(0));
            thread::sleep(Duration::from_millis(20));
            assert!(!sleeper.is_finished());
            wakers.wake(&mut [0]);
        });
    }

    #[test]
    fn each_slot_has_a_bit() {
        let all: Vec<_> = (0..Futex::SLOTS).collect();
        assert_eq!(bits(&all), NonZeroU32::MAX);
        assert!(all.iter().all(|&slot| bits(&[slot]).get().count_ones() == 1));
    }
}
