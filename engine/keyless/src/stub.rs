//! The file that stands for a private key where only its public half is: a stub.

use der::pem::{LineEnding, encode_string};
use tollgate_rsa::pem;

use crate::ski::Ski;

/// The label of the PEM block.
const LABEL: &str = "TOLLGATE REMOTE KEY";

/// The longest file, in bytes. A key of 8192 bits needs 1.6 kB; HAProxy has the certificates in the
/// same file.
const FILE_BYTES_MAX: usize = 1 << 20;

/// A stub: the `SubjectPublicKeyInfo` of a key that a signer has. It holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stub {
    spki: Vec<u8>,
    ski: Ski,
}

impl Stub {
    /// Makes the stub of a key from its `SubjectPublicKeyInfo`.
    ///
    /// # Errors
    ///
    /// The bytes are no `SubjectPublicKeyInfo`.
    pub fn new(spki: Vec<u8>) -> Result<Self, InvalidStub> {
        let ski = Ski::of_public_key(&spki).ok_or(InvalidStub)?;
        Ok(Self { spki, ski })
    }

    /// Returns the stub in a PEM file; `None` if there is none. Text and other blocks around it are
    /// skipped, as [`pem::blocks`] says.
    ///
    /// # Errors
    ///
    /// The block has no end, is no base64, or holds no `SubjectPublicKeyInfo`.
    pub fn from_pem(file: &[u8]) -> Result<Option<Self>, InvalidStub> {
        let file = &file[..file.len().min(FILE_BYTES_MAX)];
        let stub = |block: pem::Block<'_>| {
            let spki = block.der().map_err(|_| InvalidStub)?;
            Self::new(spki.to_vec())
        };
        pem::blocks(file).find(|block| block.label == LABEL.as_bytes()).map(stub).transpose()
    }

    /// Writes the stub as a PEM file. The name of the key stands before the block, for the reader.
    ///
    /// # Panics
    ///
    /// Never: a key is short enough for PEM.
    #[must_use]
    pub fn to_pem(&self) -> String {
        let block = encode_string(LABEL, LineEnding::LF, &self.spki);
        format!(
            "The private half of this key is on a signer; its name there is\n{}\n{}",
            self.ski,
            block.expect("a key is short")
        )
    }

    /// Returns the `SubjectPublicKeyInfo`.
    #[must_use]
    pub fn spki(&self) -> &[u8] {
        &self.spki
    }

    /// Returns the name of the key.
    #[must_use]
    pub const fn ski(&self) -> Ski {
        self.ski
    }
}

/// The file or the key is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no stub of a key: make it again with `tollgate key stub`")]
pub struct InvalidStub;

#[cfg(test)]
mod tests {
    use super::*;

    /// The public half of vectors/keys/ec-p256.pem:
    ///
    /// ```text
    /// openssl pkey -in ec-p256.pem -pubout -outform DER | xxd -p
    /// ```
    fn spki() -> Vec<u8> {
        let mut spki = vec![
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
            0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
        ];
        spki.extend([7; 64]); // any 64 bytes: a stub does not know curves
        spki
    }

    #[test]
    fn a_stub_is_found_in_its_file() {
        let stub = Stub::new(spki()).unwrap();
        let pem = stub.to_pem();
        let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let comment = format!("begins with -----BEGIN {LABEL}-----\n");
        for file in [
            pem.clone(),
            format!("{certificate}{pem}{certificate}"),
            format!("\u{feff}{comment}{pem}").replace('\n', "\r\n"),
            format!("\u{feff}{}", pem.replace("The private", &format!("-----BEGIN {LABEL}-----?"))),
        ] {
            assert_eq!(Stub::from_pem(file.as_bytes()), Ok(Some(stub.clone())));
        }
        assert_eq!(Stub::from_pem(certificate.as_bytes()), Ok(None));
        assert!(pem.lines().nth(1).is_some_and(|line| line == stub.ski().to_string()));
    }

    #[test]
    fn broken_stubs_are_refused() {
        let pem = Stub::new(spki()).unwrap().to_pem();
        let cut = &pem[..pem.len() - 12];
        let other = pem.replace("MFkw", "MFkx"); // another type inside
        for file in [cut, &other, &pem.replace("MFkw", "M*kw")] {
            assert_eq!(Stub::from_pem(file.as_bytes()), Err(InvalidStub), "{file}");
        }
        assert_eq!(Stub::new(vec![0x30, 0]), Err(InvalidStub));
    }
}
