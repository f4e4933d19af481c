//! The time stamp counter, read where it was asked.
//!
//! A tick of this counter is *not* a core cycle: it runs at one fixed rate, whatever the core does.
//! Use it as a ruler and turn lengths into core cycles with [`crate::clock`].

/// The time stamp counter now: after everything before the call, before everything behind it.
/// `None` where there is none that can be read (other architectures).
#[cfg(target_arch = "x86_64")]
#[inline]
#[must_use]
pub fn ticks() -> Option<u64> {
    let (low, high): (u64, u64);
    // SAFETY: LFENCE and RDTSC exist on every x86-64 processor; RDTSC writes rax and rdx, declared
    // as outputs, with their upper halves zero. Nothing else changes. Without `nomem` the compiler
    // keeps memory accesses on their side of the reading.
    unsafe {
        core::arch::asm!(
            "lfence",
            "rdtsc",
            "lfence",
            out("rax") low,
            out("rdx") high,
            options(nostack, preserves_flags),
        );
    }
    Some(high << 32 | low)
}

/// No such counter elsewhere.
#[cfg(not(target_arch = "x86_64"))]
#[must_use]
pub fn ticks() -> Option<u64> {
    None
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_run_backwards() {
        // One thread may move between cores; the counters of all cores agree since about 2008.
        let readings: Vec<_> = (0..1000).map(|_| ticks()).collect();
        assert!(readings.is_sorted());
        assert!(readings.first() < readings.last());
        assert!(readings[0].is_some());
    }
}
