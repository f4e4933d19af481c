//! Every kernel against slow integers: products, squares, selects, exponentiations; random and
//! patterned; each lane alone. The judge of the judge is `num-bigint`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod blocks;
mod exponentiations;
mod family;
mod operands;
mod products;
mod refusals;
mod selects;

/// Scales the number of rounds: the long run judges a hundred times as many.
fn rounds(short: usize) -> usize {
    if std::env::var_os("TOLLGATE_TEST_LONG").is_some() { short * 100 } else { short }
}
