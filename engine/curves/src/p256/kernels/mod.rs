//! The kernels of P-256, one file each. Only `dispatch.rs` calls them.

pub(crate) mod p256_affine_mb8_ifma;
pub(crate) mod p256_comb_mb8_ifma;
pub(crate) mod p256_comb_mulx;
pub(crate) mod p256_comb_sum8_ifma;
pub(crate) mod p256_field52_ifma;
pub(crate) mod p256_field64_mulx;
pub(crate) mod p256_points52_ifma;
pub(crate) mod p256_points64_mulx;
pub(crate) mod p256_select_avx2;
pub(crate) mod p256_verify_mb8_ifma;
pub(crate) mod p256_window_mb8_ifma;
pub(crate) mod p256_window_mulx;
pub(crate) mod sha512_mb8_avx512;
