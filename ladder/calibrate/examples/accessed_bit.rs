//! Measures loads by a mask from pages whose accessed bit is clear (x86-64 Linux, AVX-512).
//!
//! Operating systems clear accessed bits to find pages that no one uses. If a load by an empty mask
//! then takes longer until a load selects something, the time of a table select by masked loads
//! depends on what it has selected.
//!
//! ```text
//! cargo run --release --package tollgate-calibrate --example accessed_bit
//! ```
#![allow(unsafe_code, reason = "pages without an accessed bit")]
#![allow(clippy::print_stdout, reason = "prints its figures")]

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86 {
    use core::arch::asm;

    use tollgate_calibrate::tsc::ticks;

    const PAGE: usize = 4096;
    const PAGES: usize = 8;

    /// Returns the ticks of one load of a vector at `at`, in the lanes of `mask`.
    #[inline(never)]
    #[target_feature(enable = "avx512f")]
    fn load(at: &[u8; 64], mask: u32) -> u64 {
        let before = ticks().expect("x86-64 has the counter");
        // SAFETY: the operand is a readable array of 64 bytes; AVX-512 is present (target feature),
        // and the registers that change are declared.
        unsafe {
            asm!(
                "kmovw k1, {mask:e}",
                "vmovdqu64 zmm0{{k1}}, [{at}]",
                mask = in(reg) mask,
                at = in(reg) at,
                out("k1") _,
                out("zmm0") _,
                options(nostack, readonly),
            );
        }
        ticks().expect("x86-64 has the counter") - before
    }

    /// Clears the accessed bits of this process, and makes every core forget its translations.
    fn clear() -> std::io::Result<()> {
        std::fs::write("/proc/self/clear_refs", "1")?;
        // freeing many pages at once flushes all translations
        drop(core::hint::black_box(vec![1u8; 4 << 20]));
        Ok(())
    }

    /// Prints the median ticks of loads by these masks, in this order, after the bits were cleared.
    fn show(what: &str, pages: &[u8], masks: &[u32]) -> std::io::Result<()> {
        clear()?;
        print!("{what:40}");
        for &mask in masks {
            let mut times: Vec<u64> = (0..64 * PAGES)
                .map(|i| {
                    let at = (i % PAGES) * PAGE + (i * 64) % PAGE;
                    let line = pages[at..].first_chunk().expect("a line of a page");
                    // SAFETY: `main` has checked that AVX-512 is present.
                    unsafe { load(line, mask) }
                })
                .collect();
            times.sort_unstable();
            print!("  mask {mask}: {} ticks", times[times.len() / 2]);
        }
        println!();
        Ok(())
    }

    pub(super) fn main() -> std::io::Result<()> {
        if !std::arch::is_x86_feature_detected!("avx512f") {
            println!("skipped: this processor has no AVX-512");
            return Ok(());
        }
        let mut pages = vec![1u8; (PAGES + 1) * PAGE];
        let from = pages.as_ptr().align_offset(PAGE);
        let pages = core::hint::black_box(&mut pages[from..]);
        for _ in 0..3 {
            show("empty masks only", pages, &[0, 0])?;
            show("one lane selected, then empty masks", pages, &[1, 0])?;
        }
        println!("If the first line is slower, do not select by masked loads on this processor.");
        Ok(())
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn main() -> std::io::Result<()> {
    x86::main()
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn main() {
    println!("skipped: this program needs Linux on x86-64");
}
