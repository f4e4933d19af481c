//! OpenSSL 4.0 as static libraries, for the provider's tests; prints their folder.
#![allow(clippy::print_stdout, reason = "its purpose")]

fn main() {
    println!("{}", env!("PREFIX"));
}
