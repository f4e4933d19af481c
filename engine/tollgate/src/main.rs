//! `tollgate`: keys, the OpenSSL provider and the signer; other verbs run `tollgate-ladder`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tollgate::run().unwrap_or_else(|error| tollgate::output::fail(&error))
}
