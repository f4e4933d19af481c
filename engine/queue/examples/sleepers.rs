//! What Linux allows threads that sleep for every operation: no queue, no cryptography.
//!
//! ```text
//! sleepers [MICROSECONDS OF A BATCH] [SECONDS]
//! ```
//!
//! For each core of this process a thread that computes for so long, and then wakes eight others,
//! which go to sleep again at once; the last of them wakes it. Nobody takes a lock, and one call
//! wakes all eight. Printed is what share of the cores computes: a queue whose callers sleep can
//! hardly have more. Under `taskset -c 0` no thread is woken on another core.
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "a program, small counts")]

use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicBool, AtomicU32};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use rustix::thread::futex::{self, Flags};

/// Threads of a batch.
const WIDTH: u32 = 8;

#[derive(Default)]
struct Group {
    waiting: AtomicU32,
    /// Full lines so far, on which who computes sleeps.
    lines: AtomicU32,
    /// Batches so far, on which all others sleep.
    batches: AtomicU32,
}

/// Sleeps until the count is another one than was seen.
fn sleep(count: &AtomicU32, seen: u32) {
    while count.load(SeqCst) == seen {
        let _ = futex::wait(count, Flags::PRIVATE, seen, None); // it fails if there is another one
    }
}

/// Counts one more, and wakes who sleeps on it.
fn wake(count: &AtomicU32) {
    count.fetch_add(1, SeqCst);
    let _ = futex::wake(count, Flags::PRIVATE, i32::MAX.unsigned_abs());
}

impl Group {
    fn sleep(&self, stop: &AtomicBool) {
        loop {
            let seen = self.batches.load(SeqCst);
            if stop.load(SeqCst) {
                break; // after the look: the end is a wake too
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
