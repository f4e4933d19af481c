//! What the system allows threads that sleep for every operation: no engine, no cryptography.
//!
//! ```text
//! sleepers [MICROSECONDS OF A BATCH] [SECONDS]
//! ```
//!
//! For each core of this process a thread that computes for so long, and then wakes eight others,
//! which go to sleep again at once; the last of them wakes it. One condition variable wakes all
//! eight with one call. Printed is what share of the cores computes: no engine whose callers sleep
//! has more. Under `taskset -c 0` no thread is woken on another core.
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "a program, small counts")]

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use core::time::Duration;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// Threads of a batch.
const WIDTH: usize = 8;

#[derive(Default)]
struct Group {
    line: Mutex<Line>,
    batch_is_done: Condvar,
    line_is_full: Condvar,
    /// For all to read when they are done.
    batches: AtomicU32,
}

#[derive(Default)]
struct Line {
    waiting: usize,
    /// Batches that were done: a sleeper waits for the next one.
    done: u64,
    is_over: bool,
}

impl Group {
    fn sleep(&self) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        while !line.is_over {
            let own = line.done;
            line.waiting += 1;
            if line.waiting == WIDTH {
                self.line_is_full.notify_one();
            }
            line = self
                .batch_is_done
                .wait_while(line, |line| line.done == own && !line.is_over)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn compute(&self, batch: Duration, stop: &AtomicBool) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        while !stop.load(Relaxed) {
            line = self
                .line_is_full
                .wait_while(line, |line| line.waiting < WIDTH)
                .unwrap_or_else(PoisonError::into_inner);
            line.waiting = 0;
            drop(line);
            let begin = Instant::now();
            while begin.elapsed() < batch {
                core::hint::spin_loop();
            }
            line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
            line.done += 1;
            self.batches.fetch_add(1, Relaxed);
            self.batch_is_done.notify_all();
        }
        line.is_over = true;
        self.batch_is_done.notify_all();
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
    thread::scope(|scope| {
        for group in &groups {
            scope.spawn(|| group.compute(batch, &stop));
            (0..WIDTH).for_each(|_| drop(scope.spawn(|| group.sleep())));
        }
        thread::sleep(Duration::from_secs(seconds));
        stop.store(true, Relaxed);
    });
    let cores = groups.len();
    let batches: u32 = groups.iter().map(|group| group.batches.load(Relaxed)).sum();
    let share =
        batch.as_secs_f64() * f64::from(batches) / (begin.elapsed().as_secs_f64() * cores as f64);
    println!(
        "{cores} cores, batches of {micros} us for {WIDTH} threads: {share:.2} of them compute"
    );
    Ok(())
}
