//! The steps of signing and verifying that all algorithms have in common.
#![forbid(unsafe_code)]

use std::sync::Arc;

use tollgate_rsa::Hash;

use crate::context::Context;
use crate::handle::Output;
use crate::message::Message;
use crate::params::Params;
use crate::reason::Reason;

/// The context of a signature or a verification.
pub(crate) trait Signer: Context {
    fn message(&mut self) -> &mut Message;

    /// Returns the hash function of this name, if OpenSSL's default provider signs with it.
    fn hash_function(name: &str) -> Result<Hash, Reason>;

    /// Returns the maximum length of a signature in bytes.
    fn size(&self) -> Result<usize, Reason>;

    /// Signs a digest, or raw bytes if no hash function is set.
    fn sign(&mut self, output: &mut Output, digest: &[u8]) -> Result<(), Reason>;

    /// Verifies a signature of a digest, or of raw bytes if no hash function is set.
    fn verify(&self, signature: &[u8], digest: &[u8]) -> Result<(), Reason>;

    /// Starts an operation on a message. If the call names no hash function, the last hash function
    /// is used.
    fn digest_init(
        &mut self,
        name: Option<&str>,
        key: Option<Arc<Self::Key>>,
        private: bool,
        params: Params<'_>,
    ) -> Result<(), Reason> {
        self.restart(key, private)?;
        let name = name.filter(|name| !name.is_empty());
        self.message().begin(name.map(Self::hash_function).transpose()?);
        self.set(params)
    }

    fn digest_sign_final(&mut self, output: &mut Output) -> Result<(), Reason> {
        if output.is_query_for(self.size()?)? {
            return Ok(());
        }
        let digest = self.message().finish()?;
        self.sign(output, digest.as_ref())
    }

    /// Signs a whole message, or the rest of a message. The context is then ready for another
    /// message.
    fn digest_sign(&mut self, output: &mut Output, rest: &[u8]) -> Result<(), Reason> {
        if output.is_query_for(self.size()?)? {
            return Ok(());
        }
        let digest = self.message().finish_with(rest)?;
        self.sign(output, digest.as_ref())
    }

    fn digest_verify_final(&mut self, signature: &[u8]) -> Result<(), Reason> {
        let digest = self.message().finish()?;
        self.verify(signature, digest.as_ref())
    }

    /// Verifies the signature of a message. `rest` is the whole message, or the part that was not
    /// yet passed in. The context is then ready for another message.
    fn digest_verify(&mut self, signature: &[u8], rest: &[u8]) -> Result<(), Reason> {
        let digest = self.message().finish_with(rest)?;
        self.verify(signature, digest.as_ref())
    }
}
