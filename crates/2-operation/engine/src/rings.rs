//! A count of rings to sleep on, by Linux' futex: no lock, and one call wakes the threads of a
//! batch and no others.

use core::num::NonZeroU32;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Release};
use std::time::Instant;

use rustix::io::Errno;
use rustix::thread::futex::{Flags, wait_bitset, wake_bitset};
use rustix::time::{ClockId, Timespec, clock_gettime};

#[derive(Default)]
pub(crate) struct Rings {
    count: AtomicU32,
}

impl Rings {
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Acquire)
    }

    /// Sleeps unless more rings were counted than were heard; until a ring for this place, or for
    /// one that shares its bit. False if then, or at any time after it, the deadline is over.
    pub(crate) fn sleep(&self, heard: u32, place: usize, deadline: Option<Instant>) -> bool {
        let until = deadline.map(on_the_system_clock);
        // A signal, another ring: whoever sleeps looks again.
        wait_bitset(&self.count, Flags::PRIVATE, heard, until.as_ref(), bits(&[place]))
            != Err(Errno::TIMEDOUT)
    }

    /// Counts a ring, and wakes who sleeps at these places, of which there are some.
    pub(crate) fn ring(&self, places: &[usize]) {
        self.count.fetch_add(1, Release);
        // It fails for words that are no memory.
        let _ = wake_bitset(&self.count, Flags::PRIVATE, ALL, bits(places));
    }
}

/// As many as the system counts.
const ALL: u32 = i32::MAX.unsigned_abs();

/// The bits of places among those that a call wakes.
fn bits(places: &[usize]) -> NonZeroU32 {
    let bits = places.iter().fold(0, |bits, place| bits | 1_u32 << (place % 32));
    NonZeroU32::new(bits).expect("somebody sleeps, or is woken")
}

/// The time on the clock that the system waits by.
fn on_the_system_clock(deadline: Instant) -> Timespec {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).unwrap_or(YEARS);
    clock_gettime(ClockId::Monotonic) + left
}

const YEARS: Timespec = Timespec { tv_sec: 1 << 40, tv_nsec: 0 };

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::thread;

    use super::*;

    fn after(time: Duration) -> Option<Instant> {
        Instant::now().checked_add(time)
    }

    #[test]
    fn who_heard_less_does_not_sleep() {
        let rings = Rings::default();
        let heard = rings.count();
        rings.ring(&[5]);
        assert!(rings.sleep(heard, 0, None));
        assert!(rings.sleep(heard, 0, after(Duration::from_secs(1 << 40))));
    }

    #[test]
    fn a_deadline_ends_the_sleep() {
        let rings = Rings::default();
        for left in [Duration::ZERO, Duration::from_millis(20)] {
            assert!(!rings.sleep(rings.count(), 0, after(left)));
        }
    }

    #[test]
    fn one_ring_wakes_all_it_is_for() {
        let (rings, heard) = (Rings::default(), 0);
        thread::scope(|scope| {
            let sleepers = [3, 7, 32 + 7].map(|place| {
                let rings = &rings;
                scope.spawn(move || rings.sleep(heard, place, after(Duration::from_secs(60))))
            });
            thread::sleep(Duration::from_millis(20)); // so that it is a sleep that ends, mostly
            rings.ring(&[3, 7]);
            for sleeper in sleepers {
                assert!(sleeper.join().expect("it ends"), "nobody rang for a minute");
            }
        });
    }

    #[test]
    fn places_share_a_bit_only_with_those_32_further() {
        let all: Vec<_> = (0..32).collect();
        assert_eq!(bits(&all), NonZeroU32::MAX);
        for place in all {
            assert_eq!(bits(&[place]).get().count_ones(), 1);
            assert_eq!(bits(&[place, place + 32]), bits(&[place]));
        }
    }
}
