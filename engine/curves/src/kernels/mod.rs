//! The kernels, one file each. Only `dispatch.rs` calls them.

pub(crate) mod comb51_portable;
#[cfg(target_arch = "x86_64")]
pub(crate) mod comb52_mb8_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod comb52_sum8_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod comb64_mulx;
#[cfg(target_arch = "x86_64")]
pub(crate) mod edwards52_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod field52_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod field64_mulx;
pub(crate) mod ladder51_portable;
#[cfg(target_arch = "x86_64")]
pub(crate) mod ladder51_quad_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod ladder52_mb8_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod ladder64_mulx;
#[cfg(target_arch = "x86_64")]
pub(crate) mod quotient52_mb8_ifma;
