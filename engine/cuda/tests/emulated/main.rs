//! The source of the kernels, compiled for a CPU, against big integers and against the engine's own
//! operations. The emulation is `device/emulated_driver.cpp`: a library with the functions of
//! NVIDIA's driver.
//!
//! Each test runs longer with `TOLLGATE_TEST_LONG`.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(unsafe_code, reason = "functions of the libraries that are emulated")]

mod arithmetic;
mod compiled;
mod doubles;
mod driver;
mod faults;
mod library;
mod meter;
mod operations;
mod secrets;
mod unit;

use num_bigint::BigUint;

/// Returns `usual` or, in long tests, `long`.
fn rounds(usual: usize, long: usize) -> usize {
    if std::env::var_os("TOLLGATE_TEST_LONG").is_some() { long } else { usual }
}

/// Returns the limbs of a number, 32 bits each.
fn limbs(x: &BigUint, len: usize) -> Vec<u32> {
    let mut limbs = x.to_u32_digits();
    assert!(limbs.len() <= len, "the number fits");
    limbs.resize(len, 0);
    limbs
}

fn random(rng: &mut fastrand::Rng, bits: usize) -> BigUint {
    let mut bytes = vec![0; bits.div_ceil(8)];
    rng.fill(&mut bytes);
    BigUint::from_bytes_le(&bytes) >> (8 * bytes.len() - bits)
}
