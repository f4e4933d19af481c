//! A count of futex to sleep on, by Linux' futex: no lock, and one call wakes the threads of a
//! batch and no others.

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
    /// Places that are notifications apart: each has a bit.
    pub(crate) const SLOTS: usize = 32;

    pub(crate) fn count(&self) -> u32 {
        self.count.load(Acquire)
    }

    /// Sleeps unless more futex were counted than were heard, until a ring for this slot. False
    /// if the deadline passed before.
    pub(crate) fn sleep(&self, heard: u32, slot: usize, deadline: Option<Instant>) -> bool {
        let until = deadline.and_then(on_the_system_clock);
        // A signal, another count: whoever sleeps looks again.
        wait_bitset(&self.count, Flags::PRIVATE, heard, until.as_ref(), bits(&[slot]))
            != Err(Errno::TIMEDOUT)
    }

    /// Counts a ring, and wakes who sleeps at these slots, of which there are some.
    pub(crate) fn ring(&self, slots: &[usize]) {
        self.count.fetch_add(1, Release);
        // It fails where a futex is forbidden, and there no lock of a Rust program works either.
        let _ = wake_bitset(&self.count, Flags::PRIVATE, ALL, bits(slots));
    }
}

/// As many as the system counts.
const ALL: u32 = i32::MAX.unsigned_abs();

/// The bits of slots among those that a call wakes.
fn bits(slots: &[usize]) -> NonZeroU32 {
    let bits = slots.iter().fold(0, |bits, slot| bits | 1_u32 << (slot % Futex::SLOTS));
    NonZeroU32::new(bits).expect("somebody sleeps, or is woken")
}

/// The time on the clock that the system waits by; none if that clock never shows it.
fn on_the_system_clock(deadline: Instant) -> Option<Timespec> {
    let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok()?;
    clock_gettime(ClockId::Monotonic).checked_add(left)
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::thread;

    use super::*;
    // Tested here, on a futex: its own file is built again on loom's locks.
    use crate::thread_wakers::ThreadWakers;

    fn after(time: Duration) -> Option<Instant> {
        Instant::now().checked_add(time)
    }

    #[test]
    fn who_heard_less_does_not_sleep() {
        let futex = Futex::default();
        let heard = futex.count();
        futex.ring(&[5]);
        let last = (0..64).rev().fold(Instant::now(), |at, bit| {
            at.checked_add(Duration::from_secs(1 << bit)).unwrap_or(at)
        });
        for deadline in [None, after(Duration::from_secs(1 << 40)), Some(last)] {
            assert!(futex.sleep(heard, 0, deadline));
        }
    }

    #[test]
    fn a_deadline_ends_the_sleep() {
        let futex = Futex::default();
        for left in [Duration::ZERO, Duration::from_millis(20)] {
            assert!(!futex.sleep(futex.count(), 0, after(left)));
        }
    }

    #[test]
    fn all_who_are_rung_for_end_their_sleep_and_nobody_else() {
        let bells = ThreadWakers::new(100);
        thread::scope(|scope| {
            let sleeps = |slot: usize, time: u64| {
                let bells = &bells;
                scope.spawn(move || {
                    let begin = Instant::now();
                    bells.sleep(slot, after(Duration::from_millis(time)));
                    begin.elapsed()
                })
            };
            let rung = [3, 7, 32 + 7, 99].map(|slot| sleeps(slot, 60_000));
            let others = [4, 64 + 7].map(|slot| sleeps(slot, 100));
            thread::sleep(Duration::from_millis(20)); // so that they sleep, mostly
            bells.ring(&mut [99, 3, 39, 7]);
            for sleeper in rung {
                assert!(sleeper.join().expect("it ends") < Duration::from_secs(60));
            }
            for sleeper in others {
                assert!(sleeper.join().expect("it ends") >= Duration::from_millis(100));
            }
        });
    }

    #[test]
    fn a_bell_stays_rung_until_it_is_silenced() {
        let bells = ThreadWakers::new(1);
        bells.ring(&mut [0]);
        bells.sleep(0, None);
        bells.sleep(0, None);
        bells.silence(0);
        let begin = Instant::now();
        bells.sleep(0, after(Duration::from_millis(20)));
        assert!(begin.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn each_place_has_a_bit() {
        let all: Vec<_> = (0..Futex::SLOTS).collect();
        assert_eq!(bits(&all), NonZeroU32::MAX);
        assert!(all.iter().all(|&slot| bits(&[slot]).get().count_ones() == 1));
    }
}
