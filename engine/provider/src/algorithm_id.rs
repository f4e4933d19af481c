//! The `AlgorithmIdentifier` of ECDSA, for X.509 and CMS; `tollgate_rsa` has those of RSA.
#![forbid(unsafe_code)]

use der::Encode;
use der::asn1::ObjectIdentifier;
use spki::AlgorithmIdentifierOwned;
use tollgate_rsa::Hash;

/// Returns the DER of ECDSA's identifier, which has no parameters (RFC 5758, section 3.2); `None`
/// if the hash function has none.
pub(crate) fn ecdsa(hash: Hash) -> Option<Vec<u8>> {
    let oid = match hash {
        Hash::Sha1 => "1.2.840.10045.4.1",
        Hash::Sha224 => "1.2.840.10045.4.3.1",
        Hash::Sha256 => "1.2.840.10045.4.3.2",
        Hash::Sha384 => "1.2.840.10045.4.3.3",
        Hash::Sha512 => "1.2.840.10045.4.3.4",
        Hash::Sha3_224 => "2.16.840.1.101.3.4.3.9",
        Hash::Sha3_256 => "2.16.840.1.101.3.4.3.10",
        Hash::Sha3_384 => "2.16.840.1.101.3.4.3.11",
        Hash::Sha3_512 => "2.16.840.1.101.3.4.3.12",
        _ => return None,
    };
    let oid = ObjectIdentifier::new_unwrap(oid);
    AlgorithmIdentifierOwned { oid, parameters: None }.to_der().ok()
}
