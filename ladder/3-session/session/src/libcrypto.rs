//! Functions of libcrypto that libssl calls for a session and that the `openssl` crate lacks.
//!
//! All `unsafe` code of this crate is in this module; safe functions wrap each call. Declarations
//! follow the headers of OpenSSL 3.0.
#![allow(unsafe_code, reason = "declarations of libcrypto")]

mod agreement;
pub(crate) mod jobs;
mod kdf;
mod mac;
mod params;
mod private_key;

use core::ffi::c_int;

use openssl::error::ErrorStack;

pub(crate) use self::agreement::has_keys_of;
pub use self::agreement::{agree, decapsulate, encapsulate, encoded_public, generate, read_public};
pub(crate) use self::kdf::{expand, extract, prf};
pub(crate) use self::mac::Mac;
pub(crate) use self::private_key::{decrypt, encrypt, sign};

fn check(result: c_int) -> Result<(), ErrorStack> {
    if result == 1 { Ok(()) } else { Err(ErrorStack::get()) }
}

/// Returns true, and says so, if tests of X25519MLKEM768 cannot run here.
#[cfg(test)]
#[allow(clippy::print_stdout, reason = "a test says what it lacks")]
pub(crate) fn is_without_hybrid(source: tollgate_server::in_memory::Source<'_>) -> bool {
    let lacks = !has_keys_of(source, c"X25519MLKEM768");
    if lacks {
        println!("not run: OpenSSL has no X25519MLKEM768 before version 3.5");
    }
    lacks
}

#[cfg(test)]
fn each_engine(
    test: impl Fn(
        tollgate_server::in_memory::Source<'_>,
        &openssl::pkey::PKeyRef<openssl::pkey::Private>,
    ),
) {
    use tollgate_server::in_memory::Worker;
    use tollgate_server::{Config, Engine};

    for engine in [Engine::OpenSsl, Engine::Tollgate] {
        let worker = Worker::new(&Config { engine, ..Config::default() }).unwrap();
        test(worker.source(), worker.key());
    }
}
