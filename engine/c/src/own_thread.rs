//! Private operations of the calling thread: one, or a batch.

use core::ffi::c_int;

use tollgate_queue::{Job as _, Outcome, PrivateError, PrivateJob, Request, Unit as _};

use crate::arguments::{Buffer, Place, array, bytes, check_size};
use crate::border::enter;
use crate::code::Failure;
use crate::code::tollgate_code::TOLLGATE_PANIC;
use crate::handle;
use crate::operation::{Asked, tollgate_operation};
use crate::private_key::tollgate_private_key;
use crate::scheme::{Scheme, tollgate_scheme};
use crate::thread_memory::{ThreadMemory, WIDTH, with_thread_memory};

/// Signs a digest. The scheme is TOLLGATE_RSASSA_PKCS1V15 or TOLLGATE_RSASSA_PSS, and signature_len
/// the key's size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_sign(
    key: *const tollgate_private_key,
    scheme: *const tollgate_scheme,
    digest: *const u8,
    digest_len: usize,
    signature: *mut u8,
    signature_len: usize,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let key = unsafe { handle::borrow("key", key) }?;
        // SAFETY: the caller's promise.
        let scheme = unsafe { Scheme::read(scheme) }?;
        // SAFETY: the caller's promise.
        let digest = unsafe { bytes("digest", digest, digest_len) }?;
        // SAFETY: the caller's promise.
        let buffer = unsafe { Buffer::new("signature", signature, signature_len) }?;
        if !scheme.is_signature() {
            return Err(Scheme::not_signature());
        }
        check_size("signature_len", signature_len, key.0.size())?;
        run_alone(
            |job| Ok(job.load(&key.0, scheme.work(), digest)?),
            |signature| buffer.write(signature),
        )
    })
}

/// Decrypts a ciphertext of the key's size into message, which has at least the key's size too, and
/// sets message_len. The scheme is TOLLGATE_RSAES_OAEP or TOLLGATE_RSAES_PKCS1V15. The message is
/// secret: wipe it after use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_decrypt(
    key: *const tollgate_private_key,
    scheme: *const tollgate_scheme,
    ciphertext: *const u8,
    ciphertext_len: usize,
    message: *mut u8,
    message_capacity: usize,
    message_len: *mut usize,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let len = unsafe { Place::new("message_len", message_len) }?;
        len.set(0);
        // SAFETY: the caller's promise.
        let key = unsafe { handle::borrow("key", key) }?;
        // SAFETY: the caller's promise.
        let scheme = unsafe { Scheme::read(scheme) }?;
        // SAFETY: the caller's promise.
        let ciphertext = unsafe { bytes("ciphertext", ciphertext, ciphertext_len) }?;
        // SAFETY: the caller's promise.
        let buffer = unsafe { Buffer::new("message", message, message_capacity) }?;
        if scheme.is_signature() {
            return Err(Scheme::not_encryption());
        }
        buffer.check("message", key.0.size())?;
        run_alone(
            |job| Ok(job.load(&key.0, scheme.work(), ciphertext)?),
            |message| {
                buffer.write(message);
                len.set(message.len());
            },
        )
    })
}

/// Runs any number of operations in this thread, with any keys, sizes and schemes. Operations of
/// one key size share lanes, up to eight at a time; smaller numbers run in the cheapest way. Sets
/// code and output_len of each operation, and returns the first code that is not TOLLGATE_OK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_run_batch(
    operations: *mut tollgate_operation,
    count: usize,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let operations = unsafe { array("operations", operations, count) }?;
        // No element is done unless its own result says so.
        operations.iter_mut().for_each(|operation| operation.refuse(TOLLGATE_PANIC as c_int));
        match with_thread_memory(|memory| run_all(memory, operations)) {
            Ok(end) => end,
            Err(failure) => {
                operations.iter_mut().for_each(|operation| operation.refuse(failure.code()));
                Err(failure)
            }
        }
    })
}

/// Runs one operation of this thread. `done` gets the result.
fn run_alone(
    load: impl FnOnce(&mut PrivateJob) -> Result<(), Failure>,
    done: impl FnOnce(&[u8]),
) -> Result<(), Failure> {
    with_thread_memory(|memory| {
        let batch = &mut memory.batch[..1];
        load(&mut batch[0].job)?;
        memory.lanes.run(batch);
        let end = end_of(&mut batch[0]).map(|job| done(job.output()));
        batch[0].job.wipe();
        Ok(end?)
    })?
}

/// Takes the end of a request.
fn end_of(request: &mut Request<PrivateJob>) -> Result<&PrivateJob, PrivateError> {
    match request.take_outcome() {
        Some(Outcome::Done) => Ok(&request.job),
        Some(Outcome::Refused(why)) => Err(PrivateError::Rejected(why)),
        Some(Outcome::Fault) | None => Err(PrivateError::Fault),
    }
}

/// Runs the operations of each key size, eight at a time. Returns the first failure.
fn run_all(
    memory: &mut ThreadMemory,
    operations: &mut [tollgate_operation],
) -> Result<(), Failure> {
    let mut ends: Vec<Result<(), Failure>> = Vec::with_capacity(operations.len());
    let mut by_size = Vec::with_capacity(operations.len());
    for (at, operation) in operations.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        let key = unsafe { handle::borrow("operation.key", operation.key) };
        by_size.push((key.map_or(0, |key| key.0.bits()), at));
        ends.push(Ok(()));
    }
    by_size.sort_unstable();
    for of_one_size in by_size.chunk_by(|(bits, _), (next, _)| bits == next) {
        for group in of_one_size.chunks(WIDTH) {
            run_group(memory, operations, group, &mut ends);
        }
    }
    let first = ends.into_iter().enumerate().find_map(|(at, end)| Some((at, end.err()?)));
    first.map_or(Ok(()), |(at, failure)| Err(failure.of(&format!("operation {at}"))))
}

/// Runs up to eight operations of one key size.
fn run_group(
    memory: &mut ThreadMemory,
    operations: &mut [tollgate_operation],
    group: &[(usize, usize)],
    ends: &mut [Result<(), Failure>],
) {
    let mut loaded = Vec::with_capacity(WIDTH);
    for &(_, at) in group {
        let job = &mut memory.batch[loaded.len()].job;
        // SAFETY: the caller's promise.
        let asked = unsafe { Asked::read(&raw mut operations[at]) };
        match asked.and_then(|asked| Ok(asked.load(job).map(|()| asked.target)?)) {
            Ok(target) => loaded.push((at, target)),
            Err(failure) => ends[at] = operations[at].end(Err(failure)),
        }
    }
    let batch = &mut memory.batch[..loaded.len()];
    memory.lanes.run(batch);
    for (request, (at, target)) in batch.iter_mut().zip(loaded) {
        ends[at] = target.finish(end_of(request));
        request.job.wipe();
    }
}
