//! Measures the limit that Linux sets if threads sleep in every operation. The program uses no
//! queue and no cryptography.
//!
//! ```text
//! sleepers [MICROSECONDS OF A BATCH] [SECONDS]
//! ```
//!
//! For each core of this process, one thread computes for the given time and then wakes eight other
//! threads. The eight threads go to sleep again at once, and the last of them wakes the computing
//! thread. There are no locks, and one call wakes all eight threads. The program prints the share
//! of time that the cores spend computing. This share is an upper bound for a queue whose callers
//! sleep. Under `taskset -c 0` no thread is woken on another core.
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "a program, small counts")]

use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicBool, AtomicU32};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use rustix::thread::futex::{self, Flags};

/// Number of threads that wait for a batch.
const WIDTH: u32 = 8;

#[derive(Default)]
struct Group {
    waiting: AtomicU32,
    /// Number of times that the group was complete; the computing thread sleeps on this count.
    lines: AtomicU32,
    /// Number of batches; the other threads sleep on this count.
    batches: AtomicU32,
}

/// Sleeps until the count differs from `seen`.
fn sleep(count: &AtomicU32, seen: u32) {
    while count.load(SeqCst) == seen {
        let _ = futex::wait(count, Flags::PRIVATE, seen, None); // fails if the count differs already
    }
}

/// Increments the count and wakes the threads that sleep on it.
fn wake(count: &AtomicU32) {
    count.fetch_add(1, SeqCst);
    let _ = futex::wake(count, Flags::PRIVATE, i32::MAX.unsigned_abs());
}

impl Group {
    fn sleep(&self, stop: &AtomicBool) {
        loop {
            let seen = self.batches.load(SeqCst);
            if stop.load(SeqCst) {
                break; // checked after reading `seen`: at the end the count changes
            }
            if self.waiting.fetch_add(1, SeqCst) + 1 == WIDTH {
                wake(&self.lines);
            }
            sleep(&self.batches, seen);
        }
    }

    fn compute(&self, batch: Duration, stop: &AtomicBool) {
        let mut lines = 0;
        while !stop.load(SeqCst) {
            sleep(&self.lines, lines);
            lines = self.lines.load(SeqCst);
            self.waiting.store(0, SeqCst);
            let begin = Instant::now();
            while begin.elapsed() < batch {
                core::hint::spin_loop();
            }
            wake(&self.batches);
        }
    }
}

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let micros: u64 = arguments.next().map_or(Ok(115), |word| word.parse())?;
    let seconds: u64 = arguments.next().map_or(Ok(2), |word| word.parse())?;
    let groups: Vec<Group> =
        (0..thread::available_parallelism()?.get()).map(|_| Group::default()).collect();
    let (batch, stop) = (Duration::from_micros(micros), AtomicBool::new(false));
    let begin = Instant::now();
    let mut share = 0.;
    thread::scope(|scope| {
        for group in &groups {
            scope.spawn(|| group.compute(batch, &stop));
            (0..WIDTH).for_each(|_| drop(scope.spawn(|| group.sleep(&stop))));
        }
        thread::sleep(Duration::from_secs(seconds));
        stop.store(true, SeqCst);
        let batches: u32 = groups.iter().map(|group| group.batches.load(SeqCst)).sum();
        let available = begin.elapsed().as_secs_f64() * groups.len() as f64;
        share = batch.as_secs_f64() * f64::from(batches) / available;
        groups.iter().flat_map(|group| [&group.batches, &group.lines]).for_each(wake);
    });
    println!(
        "{} cores, batches of {micros} us for {WIDTH} threads: {share:.2} of them compute",
        groups.len()
    );
    Ok(())
}
