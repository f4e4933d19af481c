//! Primitives as contenders: each call runs in the library context of its server.

use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;
use openssl::md::Md;
use openssl::md_ctx::MdCtx;
use tollgate_bench::{Contender, Wrong};
use tollgate_server::in_memory::{Source, Worker};

use crate::error::Error;
use crate::libcrypto::{self, Padding};
use crate::mean::BLINDING_USES;
use crate::primitive::{Group, Primitive, PrivateOperation};

/// The number of bytes that a server signs in TLS 1.3: padding, text and transcript hash (RFC 8446
/// §4.4.3). In TLS 1.2 it is similar.
const SIGNED_BYTES: usize = 130;
/// The length in bytes of an HKDF label and its context, RFC 8446 §7.1.
const LABEL_BYTES: usize = 54;
/// The length in bytes of the label and the seed of the TLS 1.2 PRF, if the seed is a session hash.
const SEED_BYTES: usize = 54;
/// The length in bytes of a record's additional data.
const ADDED_BYTES: usize = 13;
const TAG_BYTES: usize = 16;
/// A fixed key: the benchmark encrypts no secrets.
const KEY: [u8; 16] = [7; 16];
const NONCE: [u8; 12] = [9; 12];

impl Group {
    fn generate(
        self,
        source: Source<'_>,
    ) -> Result<openssl::pkey::PKey<openssl::pkey::Private>, ErrorStack> {
        match self {
            Self::P256 => libcrypto::generate(source, c"EC", Some(c"P-256")),
            Self::X25519 => libcrypto::generate(source, c"X25519", None),
        }
    }
}

/// Returns a contender that runs the primitive and checks the result. An RSA operation is repeated
/// until it has made a new blinding pair once.
pub(crate) fn contender<'w>(
    primitive: Primitive,
    name: String,
    worker: &'w Worker,
) -> Result<Contender<'w>, Error> {
    let one = build(primitive, name, worker, worker.source());
    let one = one.map_err(Error::openssl("a primitive"))?;
    Ok(if matches!(primitive, Primitive::Rsa(_)) { one.repeated(BLINDING_USES) } else { one })
}

fn build<'w>(
    primitive: Primitive,
    name: String,
    worker: &'w Worker,
    source: Source<'w>,
) -> Result<Contender<'w>, ErrorStack> {
    let key = worker.key();
    Ok(match primitive {
        Primitive::Rsa(PrivateOperation::Decrypt) => {
            let mut premaster = [5; 48];
            premaster[..2].copy_from_slice(&[3, 3]);
            let ciphertext = libcrypto::encrypt(source, key, &premaster)?;
            checked(name, premaster, move || libcrypto::decrypt(source, key, &ciphertext))
        }
        Primitive::Rsa(PrivateOperation::SignPkcs1) => {
            let sign = move || libcrypto::sign(source, key, Padding::Pkcs1, &[1; SIGNED_BYTES]);
            checked(name, sign()?, sign)
        }
        Primitive::Rsa(PrivateOperation::SignPss) => {
            // Each signature has a new salt. Without verification, only the length can be checked.
            let sign = move || libcrypto::sign(source, key, Padding::Pss, &[1; SIGNED_BYTES]);
            checked(name, key.size(), move || Ok(sign()?.len()))
        }
        Primitive::Generate(group) => {
            // Generation includes the encoding, because libssl writes the public key into a
            // message.
            let length = libcrypto::encoded_public(&*group.generate(source)?)?.len();
            checked(name, length, move || {
                Ok(libcrypto::encoded_public(&*group.generate(source)?)?.len())
            })
        }
        Primitive::Agree(group) => {
            let own = group.generate(source)?;
            let peer = libcrypto::encoded_public(&*group.generate(source)?)?;
            let agree = move || libcrypto::agree(source, &own, &peer);
            checked(name, agree()?, agree)
        }
        Primitive::Prf(bytes) => {
            derive(name, bytes, move |out| libcrypto::prf(source, &[1; 48], &[2; SEED_BYTES], out))?
        }
        Primitive::Extract => {
            derive(name, 32, move |out| libcrypto::extract(source, &[1; 32], &[2; 32], out))?
        }
        Primitive::Expand => derive(name, 32, move |out| {
            libcrypto::expand(source, &[1; 32], &[2; LABEL_BYTES], out)
        })?,
        Primitive::Hash(bytes) => {
            let md = Md::fetch(Some(source.library), "SHA256", source.query.to_str().ok())?;
            let text = vec![3_u8; bytes as usize];
            // A new context each time, as `ssl_handshake_hash` makes a copy of the transcript's.
            let hash = move || {
                let mut ctx = MdCtx::new()?;
                let mut digest = [0_u8; 32];
                ctx.digest_init(&md)?;
                ctx.digest_update(&text)?;
                ctx.digest_final(&mut digest)?;
                Ok(digest)
            };
            checked(name, hash()?, hash)
        }
        Primitive::RecordKey => {
            let cipher = fetch_cipher(source)?;
            checked(name, 12, move || {
                let mut ctx = CipherCtx::new()?;
                ctx.encrypt_init(Some(&cipher), Some(&KEY), Some(&NONCE))?;
                Ok(ctx.iv_length())
            })
        }
        Primitive::Seal(bytes) => {
            let mut ctx = CipherCtx::new()?;
            ctx.encrypt_init(Some(&*fetch_cipher(source)?), Some(&KEY), None)?;
            let text = vec![4_u8; bytes as usize];
            let mut out = vec![0_u8; bytes as usize + TAG_BYTES];
            let mut seal = move || seal(&mut ctx, &text, &mut out);
            checked(name, seal()?, seal)
        }
        Primitive::Open(bytes) => {
            let cipher = fetch_cipher(source)?;
            let text = vec![4_u8; bytes as usize];
            let mut sealed = vec![0_u8; bytes as usize + TAG_BYTES];
            let mut ctx = CipherCtx::new()?;
            ctx.encrypt_init(Some(&*cipher), Some(&KEY), None)?;
            let tag = seal(&mut ctx, &text, &mut sealed)?;
            sealed.truncate(text.len());
            let mut ctx = CipherCtx::new()?;
            ctx.decrypt_init(Some(&*cipher), Some(&KEY), None)?;
            let mut out = vec![0_u8; bytes as usize + TAG_BYTES];
            checked(name, text.len(), move || {
                ctx.decrypt_init(None, None, Some(&NONCE))?;
                ctx.set_tag(&tag)?;
                ctx.cipher_update(&[8; ADDED_BYTES], None)?;
                let length = ctx.cipher_update(&sealed, Some(&mut out))?;
                // A wrong tag fails here.
                Ok(length + ctx.cipher_final(&mut out[length..])?)
            })
        }
    })
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

fn fetch_cipher(source: Source<'_>) -> Result<Cipher, ErrorStack> {
    Cipher::fetch(Some(source.library), "AES-128-GCM", source.query.to_str().ok())
}

fn derive<'w>(
    name: String,
    bytes: u32,
    into: impl Fn(&mut [u8]) -> Result<(), ErrorStack> + 'w,
) -> Result<Contender<'w>, ErrorStack> {
    let derive = move || {
        let mut out = [0_u8; 48];
        into(&mut out[..bytes as usize])?;
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
    Contender::new(name, 1, move || match run() {
        Ok(result) if result == expected => Ok(()),
        Ok(_) => Err(Wrong::new("another result than expected")),
        Err(stack) => {
            Err(Wrong::new(stack.to_string().lines().next().unwrap_or("it failed").to_owned()))
        }
    })
}
