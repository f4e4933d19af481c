//! The kernels, one file each, and their tiles. Each file begins with the contract of its kernel.
//! `Model` is the portable kernel that computes the same; tests compare both.

pub(crate) mod amm52_blocks_portable;
pub(crate) mod amm52_mb8_portable;
pub(crate) mod amm64_portable;
pub(crate) mod select_portable;

#[cfg(target_arch = "x86_64")]
pub(crate) mod amm52_blocks_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod amm52_long_blocks_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod amm52_mb8_avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod amm52_mb8_avx512;
#[cfg(target_arch = "x86_64")]
pub(crate) mod amm52_mb8_avxifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod amm52_mb8_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod amm64_mulx;
#[cfg(target_arch = "x86_64")]
pub(crate) mod ams52_mb8_avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod ams52_mb8_avx512;
#[cfg(target_arch = "x86_64")]
pub(crate) mod ams52_mb8_avxifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod ams52_mb8_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod ams64_mulx;
#[cfg(target_arch = "x86_64")]
mod chains64_mulx;
#[cfg(target_arch = "x86_64")]
pub(crate) mod columns52_ifma;
#[cfg(target_arch = "x86_64")]
mod fold52_halves_ifma;
#[cfg(target_arch = "x86_64")]
mod karatsuba52_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod lanes52_blocks;
#[cfg(target_arch = "x86_64")]
mod rows52_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod select52_blocks_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod select52_mb8_avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod select52_mb8_avx512;
#[cfg(target_arch = "x86_64")]
pub(crate) mod select64_sse2;
#[cfg(target_arch = "x86_64")]
mod short52_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod table52_mb8_ifma;
#[cfg(target_arch = "x86_64")]
mod tiles26;
#[cfg(target_arch = "x86_64")]
pub(crate) mod tiles26_avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod tiles26_avx512;
#[cfg(target_arch = "x86_64")]
pub(crate) mod tiles52_avxifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod tiles52_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod tiles64;
#[cfg(target_arch = "x86_64")]
mod tiles64_mulx;
#[cfg(target_arch = "x86_64")]
mod unmasked;
#[cfg(target_arch = "x86_64")]
mod unroll;
#[cfg(target_arch = "x86_64")]
pub(crate) mod window52_mb8_ifma;
