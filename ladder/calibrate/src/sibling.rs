//! Detects whether the sibling thread of this core is busy, by the number of instructions that the
//! core holds in flight.
//!
//! While both hardware threads of a core run, each has half of the core's instruction window. On a
//! shared machine the other thread may belong to another tenant, and no load average shows it. Code
//! that needs a large window (long independent chains of multiplications) then takes up to 50 %
//! longer; its figures depend on the other load.
//!
//! The gauge runs blocks of 160 instructions. Each block begins with a chain of 16 multiplications,
//! which takes 48 to 64 cycles and does not depend on the block before. It ends with no-ops. A
//! whole window holds several blocks, so their chains run at the same time. Half a window holds
//! little more than one block, so the chains run one after another.

use crate::tsc;

/// The number of instructions in a block. On cores from 2015 or later, half of the instruction
/// window has room for fewer than two blocks.
#[cfg(target_arch = "x86_64")]
const BLOCK: u32 = 160;

/// The number of blocks in a reading. They take about a microsecond, which is short enough for a
/// reading with each sample.
#[cfg(target_arch = "x86_64")]
const BLOCKS: u32 = 100;

/// The core counts as shared if a reading is at least this many times the lowest reading. A Zen 5
/// core takes 24 cycles for a block if it is not shared, and 41 cycles if it is shared. Changes of
/// the clock are smaller.
pub const SHARED_FROM: f64 = 1.3;

/// Ticks of the time stamp counter for a fixed number of blocks. Only readings of one process
/// are comparable: see [`SHARED_FROM`]. `None` if there is no time stamp counter.
#[must_use]
pub fn gauge() -> Option<u64> {
    // the first pass loads the code
    blocks();
    let first = tsc::ticks()?;
    blocks();
    Some(tsc::ticks()?.saturating_sub(first).max(1))
}

/// Executes the blocks.
#[cfg(target_arch = "x86_64")]
fn blocks() {
    const {
        assert!(BLOCK == 1 + 16 + 141 + 2, "the number of instructions below");
    };
    // SAFETY: moves, multiplications of floats and a counter on three declared registers, without
    // memory and stack.
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

/// Does nothing on other architectures.
#[cfg(not(target_arch = "x86_64"))]
fn blocks() {}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {

    use super::*;
    use crate::clock;

    #[test]
    fn the_time_of_a_block_is_plausible() {
        if tollgate_cpu::memcheck::running_on_valgrind() {
            return; // cycles cannot be measured there
        }
        // Takes the median of many. No core retires more than 12 instructions a cycle. If blocks
        // do not overlap at all, a block takes its chain (16 multiplications of at most 6 cycles)
        // and the other instructions, at least two a cycle.
        let cycles = |_| clock::time(blocks).1.core.unwrap().cycles;
        let mut cycles: Vec<f64> = (0..201).map(cycles).collect();
        cycles.sort_by(f64::total_cmp);
        let block = cycles[100] / f64::from(BLOCKS);
        assert!((160.0 / 12.0..16.0 * 6.0 + 80.0).contains(&block), "{block} cycles for a block");
        assert!(gauge().unwrap() > 0);
    }
}
