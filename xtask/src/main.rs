//! Project checks beyond cargo's, and the generators of the header of the C library, of the parts of
//! README.md that come from records, of the lists of crates in the packages, and of the compiled
//! device code; and OpenSSL's own tests with the provider.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command says what it found")]

use std::process::ExitCode;

mod audit;
mod finding;
mod gpu;
mod header;
mod kernels;
mod machine_code;
mod openssl_suite;
mod readme;
mod sbom;
mod tidy;
mod workspace;

const USAGE: &str =
    "usage: cargo xtask tidy | header | gpu | readme [--check] | audit [BINARY] | sbom FOLDER
       | test openssl [RECIPE...]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["audit"] => audit::run(None),
        ["audit", binary] => audit::run(Some(binary)),
        ["gpu"] => gpu::write(),
        ["header"] => header::write(),
        ["readme"] => readme::write(),
        ["readme", "--check"] => tidy::run(&[readme::check]),
        ["sbom", folder] => sbom::write(folder),
        ["test", "openssl", ref recipes @ ..] => openssl_suite::run(recipes),
        ["tidy"] => tidy::run(&tidy::CHECKS),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
