//! Primitives of records.

use openssl::cipher::{Cipher as EvpCipher, CipherRef as EvpCipherRef};
use openssl::cipher_ctx::{CipherCtx, CipherCtxRef};
use openssl::error::ErrorStack;
use openssl::rand::rand_bytes;
use tollgate_bench::Contender;
use tollgate_server::in_memory::Source;
use tollgate_tls_client::Cipher;

use super::checked;
use crate::libcrypto::Mac;
use crate::primitive::{Primitive, cipher_name, hash_name};

/// The length in bytes of a record's additional data, and of the head of its HMAC.
const ADDED_BYTES: usize = 13;
const TAG_BYTES: usize = 16;
/// A fixed key: the benchmark encrypts no secrets. Its length is that of the longest key.
const KEY: [u8; 32] = [7; 32];
const NONCE: [u8; 12] = [9; 12];
/// The IV of CBC.
const IV: [u8; 16] = [9; 16];

pub(super) fn record<'w>(
    primitive: Primitive,
    name: String,
    source: Source<'w>,
) -> Result<Contender<'w>, ErrorStack> {
    match primitive {
        Primitive::RecordKey(cipher) => key(cipher, name, source),
        Primitive::Seal(cipher, bytes) if cipher.is_cbc() => seal_cbc(cipher, bytes, name, source),
        Primitive::Open(cipher, bytes) if cipher.is_cbc() => open_cbc(cipher, bytes, name, source),
        Primitive::Seal(cipher, bytes) => seal_aead(cipher, bytes, name, source),
        Primitive::Open(cipher, bytes) => open_aead(cipher, bytes, name, source),
        Primitive::Mac(hash, bytes) => {
            let mac = Mac::new(source, hash_name(hash), &KEY[..hash.bytes().min(KEY.len())])?;
            let body = vec![4_u8; bytes as usize];
            let tag = move || mac.tag(&[8; ADDED_BYTES], &body);
            Ok(checked(name, tag()?, tag))
        }
        _ => unreachable!("`contender` passes no other"),
    }
}

fn fetch(cipher: Cipher, source: Source<'_>) -> Result<EvpCipher, ErrorStack> {
    EvpCipher::fetch(Some(source.library), cipher_name(cipher), source.query.to_str().ok())
}

/// The first vector of a cipher: a nonce, or the IV of CBC.
fn vector(cipher: Cipher) -> &'static [u8] {
    cipher.block_bytes().map_or(&NONCE[..], |block| &IV[..block])
}

fn key<'w>(cipher: Cipher, name: String, source: Source<'w>) -> Result<Contender<'w>, ErrorStack> {
    let evp = fetch(cipher, source)?;
    let (key, vector) = (&KEY[..cipher.key_bytes()], vector(cipher));
    Ok(checked(name, vector.len(), move || {
        let mut ctx = CipherCtx::new()?;
        ctx.encrypt_init(Some(&evp), Some(key), Some(vector))?;
        Ok(ctx.iv_length())
    }))
}

type Init = fn(
    &mut CipherCtxRef,
    Option<&EvpCipherRef>,
    Option<&[u8]>,
    Option<&[u8]>,
) -> Result<(), ErrorStack>;

/// A context for CBC without padding, initialized by `init` with the key.
fn cbc(cipher: Cipher, source: Source<'_>, init: Init) -> Result<CipherCtx, ErrorStack> {
    let mut ctx = CipherCtx::new()?;
    let key = &KEY[..cipher.key_bytes()];
    init(&mut ctx, Some(&*fetch(cipher, source)?), Some(key), Some(vector(cipher)))?;
    ctx.set_padding(false);
    Ok(ctx)
}

/// Encrypts the IV, the content and the padding at once, as `tls1_enc` does; the encrypted IV is
/// the record's IV.
fn seal_cbc<'w>(
    cipher: Cipher,
    bytes: u32,
    name: String,
    source: Source<'w>,
) -> Result<Contender<'w>, ErrorStack> {
    let mut ctx = cbc(cipher, source, CipherCtxRef::encrypt_init)?;
    let block = vector(cipher).len();
    let mut text = vec![4_u8; bytes as usize];
    let mut out = vec![0_u8; bytes as usize + block];
    Ok(checked(name, text.len(), move || {
        rand_bytes(&mut text[..block])?;
        ctx.cipher_update(&text, Some(&mut out))
    }))
}

fn open_cbc<'w>(
    cipher: Cipher,
    bytes: u32,
    name: String,
    source: Source<'w>,
) -> Result<Contender<'w>, ErrorStack> {
    let mut ctx = cbc(cipher, source, CipherCtxRef::decrypt_init)?;
    let text = vec![4_u8; bytes as usize];
    let mut out = vec![0_u8; text.len() + vector(cipher).len()];
    Ok(checked(name, text.len(), move || ctx.cipher_update(&text, Some(&mut out))))
}

fn seal_aead<'w>(
    cipher: Cipher,
    bytes: u32,
    name: String,
    source: Source<'w>,
) -> Result<Contender<'w>, ErrorStack> {
    let mut ctx = CipherCtx::new()?;
    ctx.encrypt_init(Some(&*fetch(cipher, source)?), Some(&KEY[..cipher.key_bytes()]), None)?;
    let text = vec![4_u8; bytes as usize];
    let mut out = vec![0_u8; bytes as usize + TAG_BYTES];
    let mut seal = move || seal(&mut ctx, &text, &mut out);
    Ok(checked(name, seal()?, seal))
}

fn open_aead<'w>(
    cipher: Cipher,
    bytes: u32,
    name: String,
    source: Source<'w>,
) -> Result<Contender<'w>, ErrorStack> {
    let (evp, key) = (fetch(cipher, source)?, &KEY[..cipher.key_bytes()]);
    let text = vec![4_u8; bytes as usize];
    let mut sealed = vec![0_u8; bytes as usize + TAG_BYTES];
    let mut ctx = CipherCtx::new()?;
    ctx.encrypt_init(Some(&*evp), Some(key), None)?;
    let tag = seal(&mut ctx, &text, &mut sealed)?;
    sealed.truncate(text.len());
    let mut ctx = CipherCtx::new()?;
    ctx.decrypt_init(Some(&*evp), Some(key), None)?;
    let mut out = vec![0_u8; bytes as usize + TAG_BYTES];
    Ok(checked(name, text.len(), move || {
        ctx.decrypt_init(None, None, Some(&NONCE))?;
        ctx.set_tag(&tag)?;
        ctx.cipher_update(&[8; ADDED_BYTES], None)?;
        let length = ctx.cipher_update(&sealed, Some(&mut out))?;
        // A wrong tag fails here.
        Ok(length + ctx.cipher_final(&mut out[length..])?)
    }))
}

/// Encrypts one record and returns its tag.
fn seal(ctx: &mut CipherCtx, text: &[u8], out: &mut [u8]) -> Result<[u8; TAG_BYTES], ErrorStack> {
    let mut tag = [0; TAG_BYTES];
    ctx.encrypt_init(None, None, Some(&NONCE))?;
    ctx.cipher_update(&[8; ADDED_BYTES], None)?;
    let length = ctx.cipher_update(text, Some(out))?;
    ctx.cipher_final(&mut out[length..])?;
    ctx.tag(&mut tag)?;
    Ok(tag)
}
