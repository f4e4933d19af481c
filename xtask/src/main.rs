//! Checks of the house that cargo does not do, and the parts of README.md made from records.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command says what it found")]

use std::process::ExitCode;

mod audit;
mod counts;
mod finding;
mod house;
mod kernels;
mod machine_code;
mod readme;
mod tidy;

const USAGE: &str = "usage: cargo xtask tidy | readme [--check] | audit [BINARY] | counts [BINARY]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["audit"] => audit::run(None),
        ["audit", binary] => audit::run(Some(binary)),
        ["counts"] => counts::run(None),
        ["counts", binary] => counts::run(Some(binary)),
        ["readme"] => readme::write(),
        ["readme", "--check"] => tidy::run(&[readme::check]),
        ["tidy"] => tidy::run(&tidy::CHECKS),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
