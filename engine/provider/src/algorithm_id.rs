//! The `AlgorithmIdentifier` of a signature, in DER, for X.509 and CMS (RFC 8017 appendix A.2).
#![forbid(unsafe_code)]

use der::asn1::AnyRef;
use der::{Encode, Tag, TagNumber};
use tollgate_rsa::Hash;

/// Returns the identifier of RSASSA-PKCS1-v1_5; `None` if the hash function has none.
pub(crate) fn pkcs1(hash: Hash) -> Option<Vec<u8>> {
    let nist = |arc| [&SIG_ALGS[..], &[arc]].concat();
    let rsa = |arc| [&PKCS_1[..], &[arc]].concat();
    let oid = match hash {
        Hash::Md4 => rsa(3),
        Hash::Md5 => rsa(4),
        Hash::Md5Sha1 => return None,
        Hash::Mdc2 => MDC2_WITH_RSA.to_vec(),
        Hash::Ripemd160 => RIPEMD160_WITH_RSA.to_vec(),
        Hash::Sha1 => rsa(5),
        Hash::Sha256 => rsa(11),
        Hash::Sha384 => rsa(12),
        Hash::Sha512 => rsa(13),
        Hash::Sha224 => rsa(14),
        Hash::Sha512_224 => rsa(15),
        Hash::Sha512_256 => rsa(16),
        Hash::Sha3_224 => nist(13),
        Hash::Sha3_256 => nist(14),
        Hash::Sha3_384 => nist(15),
        Hash::Sha3_512 => nist(16),
        Hash::Sm3 => return None, // OpenSSL writes no identifier either
    };
    Some(sequence(&[&element(Tag::ObjectIdentifier, &oid), NULL]))
}

/// Returns the identifier of ECDSA, which has no parameters (RFC 5758, section 3.2); `None` if the
/// hash function has none.
pub(crate) fn ecdsa(hash: Hash) -> Option<Vec<u8>> {
    let x9_62 = |arcs: &[u8]| [&ECDSA_SIGNATURES[..], arcs].concat();
    let nist = |arc| [&SIG_ALGS[..], &[arc]].concat();
    let oid = match hash {
        Hash::Sha1 => x9_62(&[1]),
        Hash::Sha224 => x9_62(&[3, 1]),
        Hash::Sha256 => x9_62(&[3, 2]),
        Hash::Sha384 => x9_62(&[3, 3]),
        Hash::Sha512 => x9_62(&[3, 4]),
        Hash::Sha3_224 => nist(9),
        Hash::Sha3_256 => nist(10),
        Hash::Sha3_384 => nist(11),
        Hash::Sha3_512 => nist(12),
        _ => return None,
    };
    Some(sequence(&[&element(Tag::ObjectIdentifier, &oid)]))
}

/// Returns the identifier of RSASSA-PSS, without the fields that have default values (SHA-1, MGF1
/// with SHA-1, 20 bytes of salt); `None` if a hash function has no identifier.
pub(crate) fn pss(hash: Hash, mgf_hash: Hash, salt_len: usize) -> Option<Vec<u8>> {
    let mut params = Vec::new();
    if hash != Hash::Sha1 {
        params.push(explicit(TagNumber(0), &hash_id(hash)?));
    }
    if mgf_hash != Hash::Sha1 {
        let mgf1 = element(Tag::ObjectIdentifier, &[&PKCS_1[..], &[8]].concat());
        params.push(explicit(TagNumber(1), &sequence(&[&mgf1, &hash_id(mgf_hash)?])));
    }
    if salt_len != 20 {
        let salt_len = u32::try_from(salt_len).expect("a salt is shorter than a modulus");
        let integer = salt_len.to_der().expect("a number has an encoding");
        params.push(explicit(TagNumber(2), &integer));
    }
    let params: Vec<&[u8]> = params.iter().map(Vec::as_slice).collect();
    let rsassa_pss = element(Tag::ObjectIdentifier, &[&PKCS_1[..], &[10]].concat());
    Some(sequence(&[&rsassa_pss, &sequence(&params)]))
}

/// Returns the identifier of a `DigestInfo`, with NULL parameters. The identifier is the prefix of
/// the `DigestInfo` without its first two bytes, which are the outer header, and without its last
/// two bytes, which are the header of the digest.
fn hash_id(hash: Hash) -> Option<Vec<u8>> {
    let prefix = hash.digest_info_prefix();
    (prefix.len() > 4).then(|| prefix[2..prefix.len() - 2].to_vec())
}

fn sequence(elements: &[&[u8]]) -> Vec<u8> {
    element(Tag::Sequence, &elements.concat())
}

fn explicit(number: TagNumber, content: &[u8]) -> Vec<u8> {
    element(Tag::ContextSpecific { constructed: true, number }, content)
}

fn element(tag: Tag, content: &[u8]) -> Vec<u8> {
    let any = AnyRef::new(tag, content).expect("identifiers are short");
    any.to_der().expect("identifiers are short")
}

/// 1.2.840.113549.1.1: PKCS #1.
const PKCS_1: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
/// 1.2.840.10045.4: the signatures of X9.62.
const ECDSA_SIGNATURES: [u8; 6] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
/// 2.16.840.1.101.3.4.3: NIST's signature algorithms.
const SIG_ALGS: [u8; 8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03];
/// 1.3.36.3.3.1.2: `rsaSignatureWithripemd160`.
const RIPEMD160_WITH_RSA: [u8; 6] = [0x2b, 0x24, 0x03, 0x03, 0x01, 0x02];
/// 1.3.14.3.2.14: `mdc2WithRSASignature`.
const MDC2_WITH_RSA: [u8; 5] = [0x2b, 0x0e, 0x03, 0x02, 0x0e];
const NULL: &[u8] = &[0x05, 0x00];
