//! Ordered reads of the time stamp counter.
//!
//! A tick of this counter is *not* a core cycle: the counter runs at a fixed rate, whatever the
//! core's clock. Convert ticks to core cycles with [`crate::clock`].

/// Reads the time stamp counter. The read is ordered: the processor executes it after all
/// instructions that precede the call, and before all instructions that follow the call. `None` if
/// there is no readable counter (other architectures).
#[cfg(target_arch = "x86_64")]
#[inline]
#[must_use]
pub fn ticks() -> Option<u64> {
    let (low, high): (u64, u64);
    // SAFETY: LFENCE and RDTSC exist on every x86-64 processor; RDTSC writes rax and rdx, declared
    // as outputs, with their upper halves zero. Nothing else changes. Without `nomem` the compiler
    // does not move memory accesses across the read.
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

/// Other architectures have no such counter.
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
        // A thread may move between cores; since about 2008 the counters of all cores agree.
        let readings: Vec<_> = (0..1000).map(|_| ticks()).collect();
        assert!(readings.is_sorted());
        assert!(readings.first() < readings.last());
        assert!(readings[0].is_some());
    }
}
