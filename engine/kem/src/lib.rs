#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod code;
pub mod hybrid;
mod keys;
mod self_test;

pub use code::MlKem768;
pub use keys::{
    CIPHERTEXT_BYTES, DecapsulationKey, EXPANDED_BYTES, EncapsulationKey, InvalidKey, PUBLIC_BYTES,
    RANDOM_BYTES, SECRET_BYTES, SEED_BYTES,
};
