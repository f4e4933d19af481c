//! Primitives as contenders: each call runs in the library context of its server.

mod record;

use core::ffi::CStr;

use openssl::error::ErrorStack;
use openssl::md::Md;
use openssl::md_ctx::MdCtx;
use openssl::pkey::{PKey, Private};
use tollgate_bench::{Contender, Wrong};
use tollgate_server::KeyKind;
use tollgate_server::in_memory::{Source, Worker};
use tollgate_tls_client::Group;

use self::record::record;
use crate::error::Error;
use crate::libcrypto::{self, jobs};
use crate::primitive::{Kem, Primitive, PrivateOperation, hash_name};

/// RSA operations after which OpenSSL makes a new blinding pair (`BN_BLINDING_COUNTER`). This costs
/// about as much as the operation itself. A median of single operations would miss it.
const BLINDING_USES: u32 = 32;

/// The number of bytes that a server signs in TLS 1.3: padding, text and transcript hash (RFC 8446
/// §4.4.3). In TLS 1.2 it is similar.
const SIGNED_BYTES: usize = 130;
/// The length in bytes of an HKDF label and its context, RFC 8446 §7.1.
const LABEL_BYTES: usize = 54;
/// The length in bytes of the label and the seed of the TLS 1.2 PRF, if the seed is a session hash.
const SEED_BYTES: usize = 54;
/// The longest hash, in bytes: SHA-384.
const HASH_BYTES_MAX: usize = 48;

/// The longest output of the PRF, in bytes: the key block of AES-256-CBC with SHA-384.
const PRF_BYTES_MAX: usize = 192;

/// OpenSSL's name of a group's algorithm, and of the curve.
const fn group_names(group: Group) -> (&'static CStr, Option<&'static CStr>) {
    match group {
        Group::P256 => (c"EC", Some(c"P-256")),
        Group::P384 => (c"EC", Some(c"P-384")),
        Group::X25519 => (c"X25519", None),
        Group::X25519MlKem768 => (c"X25519MLKEM768", None),
    }
}

fn generate(group: Group, source: Source<'_>) -> Result<PKey<Private>, ErrorStack> {
    let (algorithm, name) = group_names(group);
    libcrypto::generate(source, algorithm, name)
}

/// A call that returns whether its result is right.
type Call<'w> = Box<dyn Fn() -> Result<bool, ErrorStack> + 'w>;

/// Returns a contender that runs the primitive, in batches of this size, and checks the results. An
/// RSA operation is repeated until it has made a new blinding pair once.
pub(crate) fn contender<'w>(
    (primitive, batch): (Primitive, u32),
    name: String,
    key: KeyKind,
    worker: &'w Worker,
) -> Result<Contender<'w>, Error> {
    let source = worker.source();
    let one = match primitive {
        Primitive::Private(operation) => {
            private(operation, key, worker).map(|call| in_batches(name, batch, call))
        }
        Primitive::Agree(group) => {
            agreement(group, source).map(|call| in_batches(name, batch, call))
        }
        Primitive::Generate(group) => generation(group, name, source),
        Primitive::ReadKey(kem) => reading(kem, name, source),
        Primitive::Encapsulate(kem) => encapsulation(kem, name, source),
        Primitive::RecordKey(_)
        | Primitive::Seal(..)
        | Primitive::Open(..)
        | Primitive::Mac(..) => record(primitive, name, source),
        Primitive::Prf(..) | Primitive::Extract(_) | Primitive::Expand(_) | Primitive::Hash(..) => {
            schedule(primitive, name, source)
        }
    }
    .map_err(Error::openssl("a primitive"))?;
    let is_rsa = matches!(primitive, Primitive::Private(_)) && key.is_rsa();
    Ok(if is_rsa { one.repeated(BLINDING_USES / batch) } else { one })
}

/// Returns the number of calls of a primitive that the server's engine runs as one batch, if as
/// many connections wait; 1 if they run alone.
pub(crate) fn batch_of(primitive: Primitive, key: KeyKind, worker: &Worker) -> Result<u32, Error> {
    let call = match primitive {
        Primitive::Private(operation) => private(operation, key, worker),
        Primitive::Agree(group) => agreement(group, worker.source()),
        _ => return Ok(1),
    };
    let batch = call.and_then(|call| jobs::batch_of(&call));
    let batch = batch.map_err(Error::openssl("a batch of a primitive"))?;
    Ok(u32::try_from(batch).unwrap_or(u32::MAX))
}

/// Returns a contender for calls in batches of this size: as jobs that the engine pauses meanwhile.
fn in_batches(name: String, batch: u32, call: Call<'_>) -> Contender<'_> {
    if batch == 1 {
        return checked(name, true, call);
    }
    Contender::new(name, batch, move || {
        let results = jobs::together(batch as usize, &call).map_err(|stack| failed(&stack))?;
        results.into_iter().try_for_each(|result| judged(result, &true))
    })
}

fn private(
    operation: PrivateOperation,
    kind: KeyKind,
    worker: &Worker,
) -> Result<Call<'_>, ErrorStack> {
    let (source, key) = (worker.source(), worker.key());
    let sign =
        move |is_pss| libcrypto::sign(source, key, kind.digest(), is_pss, &[1; SIGNED_BYTES]);
    Ok(match operation {
        PrivateOperation::Decrypt => {
            let mut premaster = [5; 48];
            premaster[..2].copy_from_slice(&[3, 3]);
            let ciphertext = libcrypto::encrypt(source, key, &premaster)?;
            Box::new(move || Ok(libcrypto::decrypt(source, key, &ciphertext)? == premaster))
        }
        PrivateOperation::SignPkcs1 => {
            let expected = sign(false)?;
            Box::new(move || Ok(sign(false)? == expected))
        }
        // Each signature has a new salt. Without verification, only the length can be checked.
        PrivateOperation::SignPss => Box::new(move || Ok(sign(true)?.len() == key.size())),
        // The length of an ECDSA signature varies by some bytes.
        PrivateOperation::Sign => Box::new(move || Ok(sign(false)?.len() > key.size() / 2)),
    })
}

fn agreement(group: Group, source: Source<'_>) -> Result<Call<'_>, ErrorStack> {
    let ours = generate(group, source)?;
    let peer = libcrypto::encoded_public(&*generate(group, source)?)?;
    let agree = move || libcrypto::agree(source, &ours, &peer);
    let expected = agree()?;
    Ok(Box::new(move || Ok(agree()? == expected)))
}

/// Generation includes the encoding, because libssl writes the public key into a message.
fn generation(group: Group, name: String, source: Source<'_>) -> Result<Contender<'_>, ErrorStack> {
    let length = libcrypto::encoded_public(&*generate(group, source)?)?.len();
    Ok(checked(name, length, move || {
        Ok(libcrypto::encoded_public(&*generate(group, source)?)?.len())
    }))
}

/// Returns the encoded public key of a new key pair of a KEM.
fn public_key(kem: Kem, source: Source<'_>) -> Result<Vec<u8>, ErrorStack> {
    libcrypto::encoded_public(&*libcrypto::generate(source, kem.algorithm(), None)?)
}

fn reading(kem: Kem, name: String, source: Source<'_>) -> Result<Contender<'_>, ErrorStack> {
    let public = public_key(kem, source)?;
    let read = move || Ok(libcrypto::read_public(source, kem.algorithm(), &public)?.id());
    Ok(checked(name, read()?, read))
}

fn encapsulation(kem: Kem, name: String, source: Source<'_>) -> Result<Contender<'_>, ErrorStack> {
    let public = public_key(kem, source)?;
    // As a part of the hybrid, ML-KEM is measured apart from reading its key.
    let known = match kem {
        Kem::MlKem768 => Some(libcrypto::read_public(source, kem.algorithm(), &public)?),
        Kem::X25519MlKem768 => None,
    };
    let encapsulate = move || {
        let read;
        let key = match &known {
            Some(key) => key,
            None => {
                read = libcrypto::read_public(source, kem.algorithm(), &public)?;
                &read
            }
        };
        let (sent, kept) = libcrypto::encapsulate(source, key)?;
        Ok((sent.len(), kept.len()))
    };
    Ok(checked(name, encapsulate()?, encapsulate))
}

fn schedule<'w>(
    primitive: Primitive,
    name: String,
    source: Source<'w>,
) -> Result<Contender<'w>, ErrorStack> {
    Ok(match primitive {
        Primitive::Prf(hash, bytes) => derive(name, bytes as usize, move |out| {
            libcrypto::prf(source, hash_name(hash), &[1; 48], &[2; SEED_BYTES], out)
        })?,
        Primitive::Extract(hash) => {
            let (secret, salt) = (vec![1_u8; hash.bytes()], vec![2_u8; hash.bytes()]);
            derive(name, hash.bytes(), move |out| {
                libcrypto::extract(source, hash_name(hash), &secret, &salt, out)
            })?
        }
        Primitive::Expand(hash) => {
            let secret = vec![1_u8; hash.bytes()];
            derive(name, hash.bytes(), move |out| {
                libcrypto::expand(source, hash_name(hash), &secret, &[2; LABEL_BYTES], out)
            })?
        }
        Primitive::Hash(hash, bytes) => hashed(name, hash_name(hash), bytes, source)?,
        _ => unreachable!("`contender` passes no other"),
    })
}

fn hashed<'w>(
    name: String,
    hash: &CStr,
    bytes: u32,
    source: Source<'w>,
) -> Result<Contender<'w>, ErrorStack> {
    let hash = hash.to_str().expect("names are ASCII");
    let md = Md::fetch(Some(source.library), hash, source.query.to_str().ok())?;
    let text = vec![3_u8; bytes as usize];
    // A new context each time, as `ssl_handshake_hash` makes a copy of the transcript's.
    let hash = move || {
        let mut ctx = MdCtx::new()?;
        let mut digest = [0_u8; HASH_BYTES_MAX];
        ctx.digest_init(&md)?;
        ctx.digest_update(&text)?;
        ctx.digest_final(&mut digest)?;
        Ok(digest)
    };
    Ok(checked(name, hash()?, hash))
}

fn derive<'w>(
    name: String,
    bytes: usize,
    into: impl Fn(&mut [u8]) -> Result<(), ErrorStack> + 'w,
) -> Result<Contender<'w>, ErrorStack> {
    let derive = move || {
        let mut out = [0_u8; PRF_BYTES_MAX];
        into(&mut out[..bytes])?;
        Ok(out)
    };
    Ok(checked(name, derive()?, derive))
}

/// Returns a contender that checks each result against the expected one.
fn checked<'w, T: PartialEq + 'w>(
    name: String,
    expected: T,
    mut run: impl FnMut() -> Result<T, ErrorStack> + 'w,
) -> Contender<'w> {
    Contender::new(name, 1, move || judged(run(), &expected))
}

fn judged<T: PartialEq>(result: Result<T, ErrorStack>, expected: &T) -> Result<(), Wrong> {
    match result {
        Ok(result) if result == *expected => Ok(()),
        Ok(_) => Err(Wrong::new("another result than expected")),
        Err(stack) => Err(failed(&stack)),
    }
}

fn failed(stack: &ErrorStack) -> Wrong {
    Wrong::new(stack.to_string().lines().next().unwrap_or("it failed").to_owned())
}
