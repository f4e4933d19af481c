//! One module for each verb: its options, its records and its output.

pub(crate) mod agent;
pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod explain;
pub(crate) mod fleet;
pub(crate) mod kernel;
pub(crate) mod ladder;
pub(crate) mod man;
pub(crate) mod papers;
pub(crate) mod serve;
pub(crate) mod speed;
pub(crate) mod trial;
pub(crate) mod tune;
pub(crate) mod workload;
