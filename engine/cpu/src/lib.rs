#![doc = include_str!("../README.md")]

pub mod features;
pub mod memcheck;
pub mod process;
pub mod wipe;

pub use features::{
    Feature, HaveAdxBmi2, HaveAvx2, HaveAvx512, HaveAvxIfma, HaveIfma, Proof, UnknownFeature,
};
