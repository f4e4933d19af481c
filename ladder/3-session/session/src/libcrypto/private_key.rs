//! Operations with the server's key: a signature, and the decryption of a premaster secret.

use core::ffi::CStr;

use foreign_types::ForeignTypeRef;
use openssl::error::ErrorStack;
use openssl::md_ctx::MdCtx;
use openssl::pkey::{PKeyRef, Private};
use openssl::pkey_ctx::PkeyCtxRef;
use openssl::rsa::Padding as RsaPadding;
use openssl::sign::RsaPssSaltlen;
use openssl_sys as sys;
use tollgate_server::in_memory::Source;

use super::check;
use super::params::{end, unsigned};

/// `RSA_PKCS1_WITH_TLS_PADDING` of `openssl/rsa.h`. Decryption always returns 48 bytes; after an
/// error these bytes are random.
const TLS_PADDING: i32 = 7;
/// Maximum length of a plaintext in bytes: RSA of 16384 bits.
const RSA_BYTES_MAX: usize = 2048;

/// Signs as libssl does, with the digest of this name: with RSA-PSS if `is_pss`, or else in the
/// only other form that the key has.
pub(crate) fn sign(
    source: Source<'_>,
    key: &PKeyRef<Private>,
    digest_name: Option<&CStr>,
    is_pss: bool,
    message: &[u8],
) -> Result<Vec<u8>, ErrorStack> {
    let mut digest = MdCtx::new()?;
    let ctx = source.begin_signature(&mut digest, key, digest_name)?;
    if is_pss {
        ctx.set_rsa_padding(RsaPadding::PKCS1_PSS)?;
        ctx.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)?;
    }
    let mut signature = vec![0; key.size()];
    let length = digest.digest_sign(message, Some(&mut signature))?;
    signature.truncate(length);
    Ok(signature)
}

/// Encrypts `premaster` to the key with PKCS#1 v1.5, as the client does.
pub(crate) fn encrypt(
    source: Source<'_>,
    key: &PKeyRef<Private>,
    premaster: &[u8],
) -> Result<Vec<u8>, ErrorStack> {
    let mut ctx = source.key_context(key)?;
    ctx.encrypt_init()?;
    ctx.set_rsa_padding(RsaPadding::PKCS1)?;
    let mut ciphertext = Vec::new();
    ctx.encrypt_to_vec(premaster, &mut ciphertext)?;
    Ok(ciphertext)
}

/// Decrypts a premaster secret as `tls_process_cke_rsa` does.
pub(crate) fn decrypt(
    source: Source<'_>,
    key: &PKeyRef<Private>,
    ciphertext: &[u8],
) -> Result<[u8; 48], ErrorStack> {
    let mut ctx = source.key_context(key)?;
    ctx.decrypt_init()?;
    ctx.set_rsa_padding(RsaPadding::from_raw(TLS_PADDING))?;
    set_client_version(&mut ctx, 0x0303)?;
    let mut out = [0_u8; RSA_BYTES_MAX];
    ctx.decrypt(ciphertext, Some(&mut out))?;
    let mut premaster = [0; 48];
    premaster.copy_from_slice(&out[..48]);
    Ok(premaster)
}

/// Sets the client's version. A premaster secret of TLS begins with this version.
fn set_client_version(ctx: &mut PkeyCtxRef<Private>, version: u32) -> Result<(), ErrorStack> {
    let params = [unsigned(c"tls-client-version", &version), end()];
    // SAFETY: a valid context. The parameters end with an empty one and live long enough.
    check(unsafe { sys::EVP_PKEY_CTX_set_params(ctx.as_ptr(), params.as_ptr()) })
}

#[cfg(test)]
mod tests {

    use openssl::hash::MessageDigest;
    use openssl::pkey::PKey;
    use openssl::sign::Verifier;

    use super::super::each_engine;
    use super::*;

    #[test]
    fn signatures_verify_and_premasters_come_back() {
        each_engine(|source, key| {
            let public = PKey::public_key_from_der(&key.public_key_to_der().unwrap()).unwrap();
            for is_pss in [false, true] {
                let signature = sign(source, key, Some(c"SHA256"), is_pss, b"message").unwrap();
                let mut verifier = Verifier::new(MessageDigest::sha256(), &public).unwrap();
                if is_pss {
                    verifier.set_rsa_padding(RsaPadding::PKCS1_PSS).unwrap();
                    verifier.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH).unwrap();
                }
                assert!(verifier.verify_oneshot(&signature, b"message").unwrap(), "PSS: {is_pss}");
            }
            let mut premaster = [6; 48];
            premaster[..2].copy_from_slice(&[3, 3]);
            let mut ciphertext = encrypt(source, key, &premaster).unwrap();
            assert_eq!(decrypt(source, key, &ciphertext).unwrap(), premaster);
            ciphertext[9] ^= 1; // no oracle: a random secret or an error, never the original
            assert_ne!(decrypt(source, key, &ciphertext).ok(), Some(premaster));
        });
    }
}
