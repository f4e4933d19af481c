//! Encryption and decryption: a padding and an operation (RFC 8017 §7).
//!
//! To decrypt a batch: take the [`RejectionKey`](crate::RejectionKey) of each PKCS#1 v1.5
//! ciphertext, call [`private_batch`](crate::private_batch), and decode each buffer.
//!
//! Encryption is not checked, which would require the private key: a fault in it may reveal that
//! one message.

use zeroize::{Zeroize, Zeroizing};

use crate::error::{Error, MODULUS_BYTES_MAX, Rejected};
use crate::implicit_rejection::{self, RejectionKey};
use crate::key::{PrivateKey, PublicKey};
use crate::oaep::{self, Oaep};
use crate::premaster::{self, Premaster, TlsVersions};
use crate::workspace::Workspace;
use crate::{eme_pkcs1v15, of_thread};

impl PublicKey {
    /// Encrypts by RSAES-PKCS1-v1_5 (RFC 8017 §7.2.1). Use it only for old peers; otherwise use
    /// [`encrypt_oaep`](Self::encrypt_oaep).
    ///
    /// # Errors
    ///
    /// As [`encrypt_pkcs1v15_with`](Self::encrypt_pkcs1v15_with).
    pub fn encrypt_pkcs1v15(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.fill(|workspace, ciphertext| {
            self.encrypt_pkcs1v15_with(workspace, message, ciphertext)
        })
    }

    /// Encrypts by RSAES-OAEP (RFC 8017 §7.1.1).
    ///
    /// # Errors
    ///
    /// As [`encrypt_pkcs1v15_with`](Self::encrypt_pkcs1v15_with).
    pub fn encrypt_oaep(&self, oaep: Oaep<'_>, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.fill(|workspace, ciphertext| {
            self.encrypt_oaep_with(workspace, oaep, message, ciphertext)
        })
    }

    /// Like [`encrypt_pkcs1v15`](Self::encrypt_pkcs1v15), with this workspace, into `ciphertext` of
    /// [`size`](Self::size) bytes.
    ///
    /// # Errors
    ///
    /// [`Misuse::BufferLength`](crate::Misuse::BufferLength); [`Rejected::MessageLong`];
    /// `Unavailable` if there are no random bytes.
    pub fn encrypt_pkcs1v15_with(
        &self,
        workspace: &mut Workspace,
        message: &[u8],
        ciphertext: &mut [u8],
    ) -> Result<(), Error> {
        self.check_length(ciphertext)?;
        eme_pkcs1v15::encode(ciphertext, message)?;
        self.encrypt_raw(workspace, ciphertext)
    }

    /// Like [`encrypt_oaep`](Self::encrypt_oaep), with this workspace, into `ciphertext` of
    /// [`size`](Self::size) bytes.
    ///
    /// # Errors
    ///
    /// As [`encrypt_pkcs1v15_with`](Self::encrypt_pkcs1v15_with).
    pub fn encrypt_oaep_with(
        &self,
        workspace: &mut Workspace,
        oaep: Oaep<'_>,
        message: &[u8],
        ciphertext: &mut [u8],
    ) -> Result<(), Error> {
        self.check_length(ciphertext)?;
        oaep::encode(ciphertext, oaep, message)?;
        self.encrypt_raw(workspace, ciphertext)
    }

    /// Applies RSAEP (RFC 8017 §5.1.1) to a padded message, in place. This is
    /// [`public`](Self::public), followed by a wipe of the workspace.
    ///
    /// # Errors
    ///
    /// As [`public`](Self::public).
    pub fn encrypt_raw(&self, workspace: &mut Workspace, em: &mut [u8]) -> Result<(), Error> {
        let result = self.public(workspace, em);
        workspace.limbs.wipe();
        result
    }
}

impl PrivateKey {
    /// Makes the derivation key for [`implicit_rejection::decode`] of this ciphertext.
    ///
    /// # Errors
    ///
    /// [`Rejected::DecryptionFailed`] if the ciphertext does not have [`size`](Self::size) bytes.
    pub fn rejection_key(&self, ciphertext: &[u8]) -> Result<RejectionKey, Error> {
        if ciphertext.len() == self.size() {
            Ok(RejectionKey::new(&self.d_hash, ciphertext))
        } else {
            Err(Rejected::DecryptionFailed.into())
        }
    }

    /// Decrypts by RSAES-PKCS1-v1_5 (RFC 8017 §7.2.2) with implicit rejection. Returns the
    /// message if the padding is valid, otherwise a synthetic message, which depends on the
    /// ciphertext and the key only. This is the only safe way to decrypt this padding for untrusted
    /// peers. The caller must treat real and synthetic messages alike, whatever their length.
    ///
    /// # Errors
    ///
    /// As [`decrypt_pkcs1v15_with`](Self::decrypt_pkcs1v15_with).
    pub fn decrypt_pkcs1v15(&self, ciphertext: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.decrypt_message(|workspace, buffer| {
            self.decrypt_pkcs1v15_with(workspace, ciphertext, buffer)
        })
    }

    /// Decrypts by RSAES-OAEP (RFC 8017 §7.1.2).
    ///
    /// # Errors
    ///
    /// As [`decrypt_oaep_with`](Self::decrypt_oaep_with).
    pub fn decrypt_oaep(
        &self,
        oaep: Oaep<'_>,
        ciphertext: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.decrypt_message(|workspace, buffer| {
            self.decrypt_oaep_with(workspace, oaep, ciphertext, buffer)
        })
    }

    /// Returns the message that `decrypt` leaves in its buffer, and wipes the buffer.
    fn decrypt_message(
        &self,
        decrypt: impl for<'a> FnOnce(&mut Workspace, &'a mut [u8]) -> Result<&'a [u8], Error>,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mut buffer = Zeroizing::new([0; MODULUS_BYTES_MAX]);
        let buffer = &mut buffer[..self.size()];
        let message = of_thread::with(|workspace| decrypt(workspace, buffer))?;
        Ok(Zeroizing::new(message.to_vec()))
    }

    /// Like [`decrypt_pkcs1v15`](Self::decrypt_pkcs1v15), with this workspace.
    ///
    /// `buffer` has [`size`](Self::size) bytes. The message is at its end. It is secret; the caller
    /// must wipe it.
    ///
    /// # Errors
    ///
    /// [`Rejected::DecryptionFailed`] if the ciphertext does not have the length of n or is not
    /// below n. Both facts are public. The buffer is then zeroed.
    /// [`Misuse::BufferLength`](crate::Misuse::BufferLength); [`Error::Fault`] and `Unavailable` as
    /// [`private`](Self::private).
    pub fn decrypt_pkcs1v15_with<'a>(
        &self,
        workspace: &mut Workspace,
        ciphertext: &[u8],
        buffer: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        self.public.check_length(buffer)?;
        let key = self.rejection_key(ciphertext);
        self.decrypt(workspace, ciphertext, buffer)?;
        implicit_rejection::decode(buffer, &key?)
    }

    /// Like [`decrypt_oaep`](Self::decrypt_oaep), with this workspace.
    ///
    /// `buffer` has [`size`](Self::size) bytes. The message is at its end. It is secret; the caller
    /// must wipe it.
    ///
    /// # Errors
    ///
    /// [`Rejected::DecryptionFailed`] for any invalid ciphertext; the buffer is then zeroed.
    /// [`Misuse::BufferLength`](crate::Misuse::BufferLength); [`Error::Fault`] and `Unavailable` as
    /// [`private`](Self::private).
    pub fn decrypt_oaep_with<'a>(
        &self,
        workspace: &mut Workspace,
        oaep: Oaep<'_>,
        ciphertext: &[u8],
        buffer: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        self.public.check_length(buffer)?;
        self.decrypt(workspace, ciphertext, buffer)?;
        let size = buffer.len();
        match oaep::decode(buffer, oaep).map(<[u8]>::len) {
            Ok(len) => Ok(&buffer[size - len..]),
            Err(error) => {
                buffer.zeroize();
                Err(error)
            }
        }
    }

    /// Decrypts the premaster secret of a TLS client (RFC 5246 §7.4.7.1). Returns random bytes if
    /// the ciphertext is invalid in any way, without revealing that.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] and `Unavailable` as [`private`](Self::private).
    pub fn decrypt_tls_premaster(
        &self,
        workspace: &mut Workspace,
        versions: TlsVersions,
        ciphertext: &[u8],
    ) -> Result<Premaster, Error> {
        let substitute = premaster::substitute()?;
        let mut em = Zeroizing::new([0; MODULUS_BYTES_MAX]);
        let em = &mut em[..self.size()];
        match self.decrypt(workspace, ciphertext, em) {
            Ok(()) => Ok(premaster::decode(em, versions, substitute)),
            Err(Error::Rejected(_)) => Ok(substitute),
            Err(error) => Err(error),
        }
    }

    /// Runs the private-key operation; `em` has the length of n.
    fn decrypt(
        &self,
        workspace: &mut Workspace,
        ciphertext: &[u8],
        em: &mut [u8],
    ) -> Result<(), Error> {
        if ciphertext.len() == em.len() {
            em.copy_from_slice(ciphertext);
            match self.private(workspace, em) {
                Err(Error::Rejected(_)) => {}
                result => return result,
            }
        }
        em.zeroize(); // the buffer may contain an earlier message
        Err(Rejected::DecryptionFailed.into())
    }
}

#[cfg(test)]
mod tests {
    use tollgate_mont::{LaneKernel, LimbKernel};

    use super::*;
    use crate::test_keys;

    #[test]
    fn encryption_leaves_nothing_in_the_workspace() {
        let key = test_keys::key("rsa-1024");
        for kernel in LimbKernel::all() {
            let mut workspace = Workspace::with_kernels(kernel, LaneKernel::Portable);
            let mut em = vec![7; key.size()];
            key.public().public(&mut workspace, &mut em).expect("below n");
            assert!(!workspace.limbs.is_wiped(), "{kernel:?}: there is something to wipe");
            key.public().encrypt_raw(&mut workspace, &mut em).expect("below n");
            assert!(workspace.limbs.is_wiped(), "{kernel:?}");
        }
    }
}
