#![doc = include_str!("../README.md")]
#![allow(unsafe_code, reason = "the functions of a C library")]
#![allow(
    non_camel_case_types,
    clippy::doc_markdown,
    clippy::missing_safety_doc,
    reason = "names and text are those of the header, whose rules say which pointers are valid"
)]

mod arguments;
mod border;
mod code;
mod event_loop;
mod handle;
mod operation;
mod own_thread;
mod private_key;
mod public_key;
mod queue;
mod scheme;
mod thread_memory;
mod verify;

pub use code::{tollgate_code, tollgate_error_text, tollgate_last_error, tollgate_version};
pub use event_loop::{
    tollgate_loop, tollgate_loop_fd, tollgate_loop_free, tollgate_loop_new, tollgate_loop_next,
    tollgate_loop_submit,
};
pub use operation::tollgate_operation;
pub use own_thread::{tollgate_decrypt, tollgate_run_batch, tollgate_sign};
pub use private_key::{
    tollgate_private_key, tollgate_private_key_bits, tollgate_private_key_free,
    tollgate_private_key_from_der, tollgate_private_key_from_pem, tollgate_private_key_public,
    tollgate_private_key_size,
};
pub use public_key::{
    tollgate_encrypt, tollgate_public_key, tollgate_public_key_bits, tollgate_public_key_free,
    tollgate_public_key_from_der, tollgate_public_key_from_pem, tollgate_public_key_size,
};
pub use queue::{
    tollgate_queue, tollgate_queue_counts, tollgate_queue_free, tollgate_queue_run,
    tollgate_queue_start,
};
pub use scheme::{
    tollgate_digest, tollgate_hash, tollgate_salt, tollgate_scheme, tollgate_scheme_kind,
};
pub use verify::{tollgate_verification, tollgate_verify, tollgate_verify_batch};
