//! ML-KEM-768 and X25519MLKEM768 through libcrypto's C functions, in this process. With OpenSSL 3.5
//! or later, beside those of its own provider.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]
#![allow(unsafe_code, reason = "functions of libcrypto")]

#[path = "../host/mod.rs"]
mod host;

mod agreement;
mod beside_openssl;
mod keys;
mod rig;
