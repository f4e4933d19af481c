//! Prints what the calibration probes find on this core: `cargo run --release --example rates`.
#![allow(clippy::print_stdout, reason = "printing is its purpose")]

use tollgate_calibrate::probe::Rates;

fn main() {
    for (name, rate) in Rates::measure().named() {
        match rate {
            Some(rate) => println!("{name} = {rate:.3}"),
            None => println!("{name} = unknown"),
        }
    }
}
