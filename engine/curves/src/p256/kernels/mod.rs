//! The kernels of P-256, one file each. Only `dispatch.rs` calls them.

#[cfg(target_arch = "x86_64")]
pub(crate) mod p256_affine_mb8_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod p256_comb_mb8_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod p256_comb_mulx;
pub(crate) mod p256_comb_portable;
#[cfg(target_arch = "x86_64")]
pub(crate) mod p256_comb_sum8_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod p256_field52_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod p256_field64_mulx;
#[cfg(target_arch = "x86_64")]
pub(crate) mod p256_points52_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod p256_points64_mulx;
#[cfg(target_arch = "x86_64")]
pub(crate) mod p256_select_avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod p256_window_mb8_ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) mod p256_window_mulx;
pub(crate) mod p256_window_portable;
