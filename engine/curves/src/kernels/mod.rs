//! The kernels, one file each. Only `dispatch.rs` calls them.

pub(crate) mod comb52_mb8_ifma;
pub(crate) mod comb52_sum8_ifma;
pub(crate) mod edwards52_ifma;
pub(crate) mod field52_ifma;
pub(crate) mod ladder51_quad_ifma;
pub(crate) mod ladder52_mb8_ifma;
pub(crate) mod quotient52_mb8_ifma;
