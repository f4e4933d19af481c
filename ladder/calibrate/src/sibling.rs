//! Whether the sibling thread of this core runs: a gauge of how many instructions the core holds in
//! flight.
//!
//! A core with two hardware threads splits its window of instructions in halves while both run. On
//! a shared machine the other thread may be another tenant's, and no load average tells of it. Code
//! that lives on the window (long chains of multiplications, side by side) then takes up to half as
//! long again; a figure from such a minute is one of the neighbour too.
//!
//! The gauge runs blocks of 160 instructions. Each begins with a chain of 16 multiplications
//! that takes 48 to 64 cycles and needs nothing of the block before, and ends with instructions
//! that do nothing. A whole window holds the next blocks' chains as well, and overlaps them; half a
//! window holds one and a bit.

use crate::tsc;

/// Instructions of a block: less than half a window holds two of them, on cores from 2015 on.
#[cfg(target_arch = "x86_64")]
const BLOCK: u32 = 160;

/// Blocks of a reading: about a microsecond, so that it can stand beside each sample.
#[cfg(target_arch = "x86_64")]
const BLOCKS: u32 = 100;

/// A reading this many times the lowest one was taken on a core that is shared. A Zen 5 core takes
/// 24 cycles for a block while it is whole and 41 while it is not; the clock itself moves by less.
pub const SHARED_FROM: f64 = 1.3;

/// Ticks of the time stamp counter for a fixed number of blocks, now. Only readings of one process
/// can be compared: see [`SHARED_FROM`]. `None` where there is no such counter.
#[must_use]
pub fn gauge() -> Option<u64> {
    // the first pass brings the code in
    blocks();
    let first = tsc::ticks()?;
    blocks();
    Some(tsc::ticks()?.saturating_sub(first).max(1))
}

/// Executes the blocks.
#[cfg(target_arch = "x86_64")]
fn blocks() {
    const {
        assert!(BLOCK == 1 + 16 + 141 + 2, "as the block below");
    };
    // SAFETY: moves, multiplications of floats and a counter on three registers that are declared;
    // no memory, no stack.
    unsafe {
        core::arch::asm!(
            "2:",
            "movaps {x}, {one}",
            ".rept 16",
            "mulsd {x}, {one}",
            ".endr",
            ".rept 141",
            "nop",
            ".endr",
            "sub {blocks:e}, 1",
            "jnz 2b",
            x = out(xmm_reg) _,
            one = in(xmm_reg) 1.0f64,
            blocks = inout(reg) BLOCKS => _,
            options(nomem, nostack),
        );
    }
}

/// Nothing to gauge elsewhere.
#[cfg(not(target_arch = "x86_64"))]
fn blocks() {}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::clock;

    #[test]
    fn a_block_takes_what_its_instructions_may_take() {
        if tollgate_cpu::memcheck::running_on_valgrind() {
            return; // cycles mean nothing there
        }
        // The shortest of many. No core finishes more than 12 instructions a cycle; where blocks do
        // not overlap at all, one takes its chain (16 multiplications of at most 6 cycles) and the
        // instructions behind it, two a cycle at least.
        let cycles = (0..200).map(|_| clock::time(blocks).1.core.unwrap().cycles);
        let block = cycles.min_by(f64::total_cmp).unwrap() / f64::from(BLOCKS);
        assert!((160.0 / 12.0..16.0 * 6.0 + 80.0).contains(&block), "{block} cycles for a block");
        assert!(gauge().unwrap() > 0);
    }
}
