//! Checks of the house that cargo does not do.
fn main() {}
