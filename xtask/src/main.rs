//! The test matrix, the project's own checks, and what cargo does not make: the header of the C
//! library, generated pages, the public API, Debian packages and the compiled device code.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command says what it found")]

use core::error::Error;
use std::process::ExitCode;

mod api;
mod audit;
mod deb;
mod debian;
mod finding;
mod gpu;
mod header;
mod kernels;
mod machine_code;
mod matrix;
mod openssl_suite;
mod readme;
mod sbom;
mod tidy;
mod workspace;

const USAGE: &str = "usage: cargo xtask test [--quick | --long] | test openssl [RECIPE...]
       | tidy [--sizes] | audit [BINARY] | api [--check] | readme | header | gpu | deb";

/// The result of a command that can lack a tool or a file.
type Result<T> = core::result::Result<T, Box<dyn Error>>;

/// Exit code 0: all is well; 1: findings, which are printed; 2: a command or a file failed.
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether there is nothing to correct.
fn run(words: &[&str]) -> Result<bool> {
    match *words {
        ["api"] => api::write(),
        ["api", "--check"] => api::check(),
        ["audit"] => audit::run(None),
        ["audit", binary] => audit::run(Some(binary)),
        ["deb"] => deb::build(),
        ["gpu"] => gpu::write(),
        ["header"] => header::write(),
        ["readme"] => readme::write(),
        ["runner", program, ref words @ ..] => matrix::runner(program, words),
        ["test", "openssl", ref recipes @ ..] => openssl_suite::run(recipes),
        ["test"] => matrix::run(false),
        ["test", "--quick"] => matrix::quick(),
        ["test", "--long"] => matrix::run(true),
        ["tidy"] => tidy::run(),
        ["tidy", "--sizes"] => tidy::sizes(),
        _ => Err(USAGE.into()),
    }
}
