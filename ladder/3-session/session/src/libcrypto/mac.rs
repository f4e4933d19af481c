//! The HMAC of records, if it is separate from their encryption.

use core::ffi::CStr;

use foreign_types::ForeignType;
use openssl::error::ErrorStack;
use openssl::md_ctx::MdCtx;
use openssl::pkey::PKey;
use openssl_sys as sys;
use tollgate_server::in_memory::Source;

use super::check;

/// The longest HMAC of a record, in bytes: SHA-384.
const BYTES_MAX: usize = 48;

/// An HMAC with its key, set once.
pub(crate) struct Mac(MdCtx);

impl Mac {
    pub(crate) fn new(source: Source<'_>, hash: &CStr, key: &[u8]) -> Result<Self, ErrorStack> {
        let mut ctx = MdCtx::new()?;
        source.begin_signature(&mut ctx, &*PKey::hmac(key)?, Some(hash))?;
        Ok(Self(ctx))
    }

    /// Computes the HMAC of a record as `tls1_mac` does. Each record has a copy of the context.
    pub(crate) fn tag(&self, head: &[u8], body: &[u8]) -> Result<[u8; BYTES_MAX], ErrorStack> {
        let mut ctx = MdCtx::new()?;
        // SAFETY: two valid contexts; the second is only read.
        check(unsafe { sys::EVP_MD_CTX_copy_ex(ctx.as_ptr(), self.0.as_ptr()) })?;
        ctx.digest_sign_update(head)?;
        ctx.digest_sign_update(body)?;
        let mut tag = [0; BYTES_MAX];
        ctx.digest_sign_final(Some(&mut tag))?;
        Ok(tag)
    }
}

#[cfg(test)]
mod tests {
    use super::super::each_engine;
    use super::*;

    #[test]
    fn it_is_that_of_rfc_2202_and_4231() {
        // test case 2 of both
        each_engine(|source, _| {
            for (hash, first) in [
                (c"SHA1", [0xef, 0xfc, 0xdf, 0x6a]),
                (c"SHA256", [0x5b, 0xdc, 0xc1, 0x46]),
                (c"SHA384", [0xaf, 0x45, 0xd2, 0xe3]),
            ] {
                let mac = Mac::new(source, hash, b"Jefe").unwrap();
                for _ in 0..2 {
                    let tag = mac.tag(b"what do ya want ", b"for nothing?").unwrap();
                    assert_eq!(tag[..4], first, "{hash:?}");
                }
            }
        });
    }
}
