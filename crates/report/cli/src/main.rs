//! `tollgate`: what a TLS connection costs, rung by rung.
fn main() {}
