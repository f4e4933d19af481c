//! A chain of certificates below a trust anchor, generated for tests and measurements.

use core::fmt;

use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Private};
use openssl::x509::X509;
use zeroize::Zeroizing;

use crate::certificate::{Certificate, Credentials, Issuer, make_certificate, make_key};
use crate::error::{Error, Unavailable};
use crate::kinds::KeyKind;

/// A certificate that a trust anchor issued over a chain, with its key. For tests and measurements.
///
/// A peer that knows the [trust anchor](Self::root) verifies as many signatures as the chain has
/// certificates.
pub struct Issued {
    /// The certificate first, then those of its issuers, without the trust anchor.
    chain: Vec<X509>,
    key: PKey<Private>,
    root: X509,
}

impl Issued {
    /// The longest chain. With RSA-4096 it still fits into one record.
    pub const LENGTH_MAX: usize = 8;

    /// Generates a chain of `length` certificates, from 1 to [`Self::LENGTH_MAX`]; each has its own
    /// key of this kind. All are for localhost, 127.0.0.1 and `::1`.
    ///
    /// # Errors
    ///
    /// OpenSSL cannot generate the keys.
    ///
    /// # Panics
    ///
    /// If the length is out of range.
    pub fn new(kind: KeyKind, length: usize) -> Result<Self, Error> {
        assert!((1..=Self::LENGTH_MAX).contains(&length), "a chain has 1 to 8 certificates");
        Self::issue(kind, length).map_err(Unavailable::openssl("making a chain of certificates"))
    }

    fn issue(kind: KeyKind, length: usize) -> Result<Self, ErrorStack> {
        let mut key = make_key(kind)?;
        let root = make_certificate("root", &key, kind, None)?;
        let mut chain: Vec<X509> = Vec::new();
        for below in 1..=length {
            let of = chain.first().unwrap_or(&root);
            let own = make_key(kind)?;
            let is_leaf = below == length;
            let name = if is_leaf { "localhost".to_owned() } else { format!("issuer {below}") };
            let issuer = Issuer { certificate: of, key: &key, of_leaf: is_leaf };
            let made = make_certificate(&name, &own, kind, Some(&issuer))?;
            chain.insert(0, made);
            key = own;
        }
        Ok(Self { chain, key, root })
    }

    /// Returns the chain and the key, for a server's configuration.
    ///
    /// # Errors
    ///
    /// OpenSSL is out of memory.
    pub fn certificate(&self) -> Result<Certificate, Error> {
        let pem = || {
            let blocks = self.chain.iter().map(|one| one.to_pem());
            let chain = blocks.collect::<Result<Vec<_>, _>>()?.concat();
            let key = Zeroizing::new(self.key.private_key_to_pem_pkcs8()?);
            Ok(Certificate::Pem { chain, key })
        };
        pem().map_err(Unavailable::openssl("writing a chain of certificates"))
    }

    /// Returns the certificates of the chain in DER, the end's own first.
    ///
    /// # Errors
    ///
    /// OpenSSL is out of memory.
    pub fn chain_der(&self) -> Result<Vec<Vec<u8>>, Error> {
        let der: Result<_, _> = self.chain.iter().map(|one| one.to_der()).collect();
        der.map_err(Unavailable::openssl("writing a chain of certificates"))
    }

    /// Returns the private key as PKCS#8 in DER.
    ///
    /// # Errors
    ///
    /// OpenSSL is out of memory.
    pub fn key_pkcs8(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let der = self.key.private_key_to_pkcs8();
        der.map(Zeroizing::new).map_err(Unavailable::openssl("writing a key"))
    }

    /// Returns the trust anchor in PEM.
    ///
    /// # Errors
    ///
    /// OpenSSL is out of memory.
    pub fn root(&self) -> Result<Vec<u8>, Error> {
        self.root.to_pem().map_err(Unavailable::openssl("writing a trust anchor"))
    }

    pub(crate) fn trust_anchor(&self) -> &X509 {
        &self.root
    }

    pub(crate) fn credentials(&self) -> Result<Credentials, Error> {
        Credentials::load(&self.certificate()?)
    }
}

/// Omits the key.
impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued").field("certificates", &self.chain.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use openssl::stack::Stack;
    use openssl::x509::X509StoreContext;
    use openssl::x509::store::X509StoreBuilder;

    use super::*;

    /// Returns whether OpenSSL verifies the chain without its certificate at `without`.
    fn is_verified(issued: &Issued, root: &X509, without: Option<usize>) -> bool {
        let mut store = X509StoreBuilder::new().unwrap();
        store.add_cert(root.clone()).unwrap();
        let mut others = Stack::new().unwrap();
        for (at, one) in issued.chain.iter().enumerate().skip(1) {
            if Some(at) != without {
                others.push(one.clone()).unwrap();
            }
        }
        let mut context = X509StoreContext::new().unwrap();
        let verify = |context: &mut openssl::x509::X509StoreContextRef| context.verify_cert();
        context.init(&store.build(), &issued.chain[0], &others, verify).unwrap()
    }

    #[test]
    fn every_certificate_of_a_chain_is_needed() {
        for kind in [KeyKind::EcdsaP256, KeyKind::Ed25519] {
            for length in [1, 4] {
                let issued = Issued::new(kind, length).unwrap();
                assert_eq!(issued.chain_der().unwrap().len(), length);
                assert!(is_verified(&issued, &issued.root, None), "{kind} {length}");
                for at in 1..length {
                    assert!(!is_verified(&issued, &issued.root, Some(at)), "{kind} {at}");
                }
                let other = Issued::new(kind, 1).unwrap();
                assert!(!is_verified(&issued, &other.root, None), "another root");
            }
        }
    }
}
