//! The requests of a load: digests, and the check of their signatures.

use std::path::Path;

use openssl::md::{Md, MdRef};
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Public};
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::Padding;
use openssl::sign::RsaPssSaltlen;
use tollgate_keyless::{Operation, Ski, Stub};
use tollgate_rsa::Hash;

use crate::error::CliError;
use crate::read;
use tollgate::key::public;

/// The number of digests. Each request has the next one.
pub(super) const COUNT: usize = 256;

/// A key, an operation, and digests.
pub(super) struct Cases {
    key: PKey<Public>,
    pub(super) ski: Ski,
    pub(super) operation: Operation,
    hash: Hash,
    digests: Vec<Vec<u8>>,
}

impl Cases {
    /// Reads the public half of a key: a stub, a public key or a certificate. The operation is one
    /// that the key can do.
    pub(super) fn new(file: &Path, asked: Option<Operation>) -> Result<Self, CliError> {
        let name = file.display();
        let pem = read::key(file)?;
        let stub = Stub::from_pem(&pem).map_err(CliError::about(name.to_string()))?;
        let key = match stub {
            Some(stub) => PKey::public_key_from_der(stub.spki()),
            None => public(&pem),
        };
        let key = key.map_err(|_| {
            error!("{name}: no usable key: give a stub, a public key or a certificate in PEM")
        })?;
        let ski = Ski::of_public_key(&key.public_key_to_der()?);
        let ski = ski.ok_or_else(|| error!("{name}: no usable key: give another file"))?;
        let usual = match key.id() {
            Id::RSA => Operation::SignPkcs1v15(Hash::Sha256),
            Id::EC => Operation::SignEcdsa(Hash::Sha256),
            _ => bail!("{name}: a signer has no such keys: give RSA, or P-256"),
        };
        let operation = asked.unwrap_or(usual);
        let is_rsa = key.id() == Id::RSA;
        let hash = match operation {
            Operation::SignPkcs1v15(hash) | Operation::SignPss(hash) if is_rsa => hash,
            Operation::SignEcdsa(hash) if !is_rsa => hash,
            _ => bail!("{name}: such a key does no {}: give another --operation", operation.name()),
        };
        let digest = |number: usize| hash.digest(&number.to_be_bytes()).as_ref().to_vec();
        Ok(Self { key, ski, operation, hash, digests: (0..COUNT).map(digest).collect() })
    }

    /// Returns the name of the key in records, such as `rsa-2048`.
    pub(super) fn key_name(&self) -> String {
        let curve = self.key.ec_key().ok().and_then(|key| key.group().curve_name());
        match curve {
            Some(Nid::X9_62_PRIME256V1) => "ecdsa-p256".to_owned(),
            Some(_) => "ecdsa".to_owned(),
            None => format!("rsa-{}", self.key.bits()),
        }
    }

    /// Returns the size of an RSA key.
    pub(super) fn bits(&self) -> Option<u32> {
        (self.key.id() == Id::RSA).then_some(self.key.bits())
    }

    pub(super) fn digest(&self, case: usize) -> &[u8] {
        &self.digests[case % COUNT]
    }

    /// Checks the signature of a digest with the public key.
    pub(super) fn check(&self, case: usize, signature: &[u8]) -> Result<(), String> {
        let checked = self.verify(self.digest(case), signature);
        if checked.unwrap_or(false) { Ok(()) } else { Err("a wrong signature".to_owned()) }
    }

    fn verify(&self, digest: &[u8], signature: &[u8]) -> Result<bool, openssl::error::ErrorStack> {
        let mut context = PkeyCtx::new(&self.key)?;
        context.verify_init()?;
        if self.key.id() == Id::RSA {
            let is_pss = matches!(self.operation, Operation::SignPss(_));
            context.set_rsa_padding(if is_pss { Padding::PKCS1_PSS } else { Padding::PKCS1 })?;
            context.set_signature_md(md(self.hash))?;
            if is_pss {
                context.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)?;
            }
        }
        context.verify(digest, signature)
    }
}

/// Returns OpenSSL's form of a hash function of SHA-2.
fn md(hash: Hash) -> &'static MdRef {
    match hash {
        Hash::Sha224 => Md::sha224(),
        Hash::Sha384 => Md::sha384(),
        Hash::Sha512 => Md::sha512(),
        _ => Md::sha256(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use openssl::pkey::Private;

    use super::*;

    fn file(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/keys").join(name)
    }

    /// Signs the digest of a case.
    fn signed(cases: &Cases, key: &PKey<Private>, case: usize) -> Vec<u8> {
        let mut context = PkeyCtx::new(key).unwrap();
        context.sign_init().unwrap();
        if key.id() == Id::RSA {
            let is_pss = matches!(cases.operation, Operation::SignPss(_));
            let padding = if is_pss { Padding::PKCS1_PSS } else { Padding::PKCS1 };
            context.set_rsa_padding(padding).unwrap();
            context.set_signature_md(md(cases.hash)).unwrap();
            if is_pss {
                context.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH).unwrap();
            }
        }
        let mut signature = Vec::new();
        context.sign_to_vec(cases.digest(case), &mut signature).unwrap();
        signature
    }

    #[test]
    fn only_the_signature_of_the_digest_passes() {
        for (name, asked, expected) in [
            ("rsa-2048.pem", None, "rsa-2048 sign-pkcs1v15-sha256"),
            ("rsa-3072.pem", Some(Operation::SignPss(Hash::Sha512)), "rsa-3072 sign-pss-sha512"),
            ("ec-p256.pem", None, "ecdsa-p256 sign-ecdsa-sha256"),
        ] {
            let cases = Cases::new(&file(name), asked).unwrap();
            assert_eq!(format!("{} {}", cases.key_name(), cases.operation.name()), expected);
            let pem = std::fs::read(file(name)).unwrap();
            let mut signature = signed(&cases, &PKey::private_key_from_pem(&pem).unwrap(), 3);
            assert_eq!(cases.check(3, &signature), Ok(()));
            assert_eq!(cases.check(3 + COUNT, &signature), Ok(()), "the same digest");
            assert!(cases.check(4, &signature).is_err());
            *signature.last_mut().unwrap() ^= 1;
            assert!(cases.check(3, &signature).is_err() && cases.check(3, &[]).is_err());
        }
        let refused = |name, operation| Cases::new(&file(name), Some(operation)).err().unwrap();
        let why = refused("rsa-2048.pem", Operation::SignEcdsa(Hash::Sha256)).to_string();
        assert!(why.contains("does no sign-ecdsa-sha256"), "{why}");
        assert!(Cases::new(&file("ed25519.pem"), None).is_err());
    }
}
