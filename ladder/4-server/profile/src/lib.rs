//! Where a server's CPU time goes: samples of `perf`, grouped into parts by rules.
//!
//! [`Recording`] samples the threads of a running server with Linux `perf`, and [`Samples`] are the
//! stacks that it took. [`Profile`] counts them by [`Part`]: user and kernel code apart, functions
//! grouped by the rules in `parts/*.toml`. It also lists the functions that no rule knows.
//!
//! # Stripped libraries
//!
//! Most of libcrypto's functions are static, and distributions strip their names. Two sources give
//! them back, so that no debug symbols are needed:
//!
//! * `.eh_frame_hdr`, which unwinding needs, has the start of each function;
//! * the tables that libcrypto's provider returns to `OSSL_PROVIDER_query_operation` have the
//!   entry functions of each algorithm, such as `signature RSA` and `kdf TLS13-KDF`.
//!
//! All functions that such an entry function calls are found below it on the stack.
//!
//! ```
//! use tollgate_profile::{Profile, Samples};
//!
//! let text = "7 1.000000500: 1000000 cpu-clock: \n\
//!             \t  12a39d RSA_private_encrypt (/usr/lib/libcrypto.so.3)\n\
//!             \t   1000 main (/usr/sbin/nginx)\n\n";
//! let samples = Samples::of_script(text)?;
//! let profile = Profile::new(&samples, 0..2_000_000_000);
//! assert_eq!(profile.share("rsa"), 1.0);
//! # Ok::<(), tollgate_profile::Error>(())
//! ```
//!
//! # Sources
//!
//! * The method, samples of a running server grouped by part, is that of HP's study of its SSL
//!   server (2001).
//! * `perf-record(1)` and `perf-script(1)`; `provider-base(7)` of OpenSSL 3.0; the Linux Standard
//!   Base for `.eh_frame_hdr`.

mod binary;
mod error;
mod operations;
mod parts;
mod perf;
mod profile;
mod script;

pub use error::Error;
pub use parts::{Part, parts};
pub use perf::{Event, Recording, Threads};
pub use profile::{Profile, Unknown};
pub use script::Samples;
