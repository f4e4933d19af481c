#![doc = include_str!("../README.md")]
#![allow(unsafe_code, reason = "instructions and system calls without a safe function")]

pub mod features;
pub mod memcheck;
pub mod process;
pub mod wipe;

pub use features::{
    Feature, HaveAdxBmi2, HaveAvx2, HaveAvx512, HaveAvxIfma, HaveIfma, Proof, UnknownFeature,
};
