//! The `AlgorithmIdentifier`s of signatures, for X.509 and CMS (RFC 8017 appendix A).

use der::asn1::{Any, AnyRef, ObjectIdentifier};
use der::{Decode, Encode, Tag, TagNumber};
use spki::AlgorithmIdentifierOwned;

use crate::hash::Hash;

/// Returns the identifier of RSASSA-PKCS1-v1_5 with this hash function; `None` if there is none.
pub(crate) fn pkcs1v15(hash: Hash) -> Option<AlgorithmIdentifierOwned> {
    let oid = match hash {
        #[cfg(feature = "legacy-hashes")]
        Hash::Md4 => "1.2.840.113549.1.1.3",
        #[cfg(feature = "legacy-hashes")]
        Hash::Md5 => "1.2.840.113549.1.1.4",
        #[cfg(feature = "legacy-hashes")]
        Hash::Mdc2 => "1.3.14.3.2.14",
        #[cfg(feature = "legacy-hashes")]
        Hash::Ripemd160 => "1.3.36.3.3.1.2",
        Hash::Sha1 => "1.2.840.113549.1.1.5",
        Hash::Sha256 => "1.2.840.113549.1.1.11",
        Hash::Sha384 => "1.2.840.113549.1.1.12",
        Hash::Sha512 => "1.2.840.113549.1.1.13",
        Hash::Sha224 => "1.2.840.113549.1.1.14",
        Hash::Sha512_224 => "1.2.840.113549.1.1.15",
        Hash::Sha512_256 => "1.2.840.113549.1.1.16",
        Hash::Sha3_224 => "2.16.840.1.101.3.4.3.13",
        Hash::Sha3_256 => "2.16.840.1.101.3.4.3.14",
        Hash::Sha3_384 => "2.16.840.1.101.3.4.3.15",
        Hash::Sha3_512 => "2.16.840.1.101.3.4.3.16",
        _ => return None, // OpenSSL writes none for SM3 and MD5-SHA1 either
    };
    let oid = ObjectIdentifier::new_unwrap(oid);
    Some(AlgorithmIdentifierOwned { oid, parameters: Some(Any::null()) })
}

/// Returns the identifier of RSASSA-PSS, without the parameters that have default values (SHA-1,
/// MGF1 with SHA-1, 20 bytes of salt); `None` if a hash function has no identifier.
pub(crate) fn pss(hash: Hash, mgf_hash: Hash, salt_len: usize) -> Option<AlgorithmIdentifierOwned> {
    let mut params = Vec::new();
    if hash != Hash::Sha1 {
        params.extend(explicit(TagNumber(0), &hash_id(hash)?));
    }
    if mgf_hash != Hash::Sha1 {
        let mgf1 = MGF1.to_der().expect("identifiers are short");
        let mgf1 = element(Tag::Sequence, &[mgf1, hash_id(mgf_hash)?].concat());
        params.extend(explicit(TagNumber(1), &mgf1));
    }
    if salt_len != 20 {
        let salt_len = u32::try_from(salt_len).ok()?.to_der().expect("a number has an encoding");
        params.extend(explicit(TagNumber(2), &salt_len));
    }
    let params = Any::from_der(&element(Tag::Sequence, &params)).expect("it was just encoded");
    Some(AlgorithmIdentifierOwned { oid: RSASSA_PSS, parameters: Some(params) })
}

/// Returns the identifier of a `DigestInfo`, with NULL parameters. The identifier is the prefix of
/// the `DigestInfo` without its first two bytes, which are the outer header, and without its last
/// two bytes, which are the header of the digest.
fn hash_id(hash: Hash) -> Option<Vec<u8>> {
    let prefix = hash.digest_info_prefix();
    (prefix.len() > 4).then(|| prefix[2..prefix.len() - 2].to_vec())
}

fn explicit(number: TagNumber, content: &[u8]) -> Vec<u8> {
    element(Tag::ContextSpecific { constructed: true, number }, content)
}

fn element(tag: Tag, content: &[u8]) -> Vec<u8> {
    let any = AnyRef::new(tag, content).expect("identifiers are short");
    any.to_der().expect("identifiers are short")
}

const MGF1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.8");
const RSASSA_PSS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.10");
