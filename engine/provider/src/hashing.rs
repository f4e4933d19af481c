//! Hash functions by OpenSSL's names.
#![forbid(unsafe_code)]

use core::ffi::CStr;

use tollgate_rsa::{Hash, Hasher};
use zeroize::Zeroizing;

/// Returns the hash function of this name: any name of OpenSSL's providers, in upper or lower case.
pub(crate) fn from_name(name: &str) -> Option<Hash> {
    let is_name = |known: &[u8]| known.eq_ignore_ascii_case(name.as_bytes());
    let row = NAMES.iter().find(|(_, first, others)| {
        is_name(first.to_bytes()) || others.iter().any(|other| is_name(other.as_bytes()))
    });
    row.map(|(hash, ..)| *hash)
}

/// Returns OpenSSL's first name of the hash function.
pub(crate) fn name(hash: Hash) -> &'static CStr {
    let row = NAMES.iter().find(|(known, ..)| *known == hash);
    row.expect("every hash function has a row").1
}

/// HMAC (RFC 2104) of all parts, under a key that is no longer than a block. Returns the length of
/// the output.
pub(crate) fn hmac(hash: Hash, key: &[u8], parts: &[&[u8]], output: &mut [u8; 64]) -> usize {
    let padded = |byte: u8| {
        let mut block = Zeroizing::new([byte; BLOCK_BYTES_MAX]);
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let keyed = |byte: u8, parts: &[&[u8]]| {
        let mut hasher = Hasher::new(hash);
        hasher.update(&padded(byte)[..block_bytes(hash)]);
        parts.iter().for_each(|part| hasher.update(part));
        Zeroizing::new(hasher.finish())
    };
    let inner = keyed(0x36, parts);
    let outer = keyed(0x5c, &[inner.as_ref()]);
    output[..hash.len()].copy_from_slice(outer.as_ref());
    hash.len()
}

/// The length of a block of SHA3-224.
const BLOCK_BYTES_MAX: usize = 144;

/// Returns the length of the blocks that a hash function reads (FIPS 180-4, FIPS 202).
const fn block_bytes(hash: Hash) -> usize {
    match hash {
        Hash::Mdc2 => 8,
        Hash::Sha384 | Hash::Sha512 | Hash::Sha512_224 | Hash::Sha512_256 => 128,
        Hash::Sha3_224 | Hash::Sha3_256 | Hash::Sha3_384 | Hash::Sha3_512 => 200 - 2 * hash.len(),
        _ => 64,
    }
}

/// All names of `providers/implementations/include/prov/names.h`, with OpenSSL's first one in a
/// separate column, and the object names of OpenSSL 1.
const NAMES: [(Hash, &CStr, &[&str]); 17] = [
    (Hash::Md4, c"MD4", &["1.2.840.113549.2.4", "RSA-MD4"]),
    (Hash::Md5, c"MD5", &["SSL3-MD5", "1.2.840.113549.2.5", "RSA-MD5"]),
    (Hash::Md5Sha1, c"MD5-SHA1", &[]),
    (Hash::Mdc2, c"MDC2", &["2.5.8.3.101", "RSA-MDC2"]),
    (
        Hash::Ripemd160,
        c"RIPEMD-160",
        &["RIPEMD160", "RIPEMD", "RMD160", "1.3.36.3.2.1", "RSA-RIPEMD160"],
    ),
    (Hash::Sha1, c"SHA1", &["SHA-1", "SSL3-SHA1", "1.3.14.3.2.26", "RSA-SHA1"]),
    (Hash::Sha224, c"SHA2-224", &["SHA-224", "SHA224", "2.16.840.1.101.3.4.2.4", "RSA-SHA224"]),
    (Hash::Sha256, c"SHA2-256", &["SHA-256", "SHA256", "2.16.840.1.101.3.4.2.1", "RSA-SHA256"]),
    (Hash::Sha384, c"SHA2-384", &["SHA-384", "SHA384", "2.16.840.1.101.3.4.2.2", "RSA-SHA384"]),
    (Hash::Sha512, c"SHA2-512", &["SHA-512", "SHA512", "2.16.840.1.101.3.4.2.3", "RSA-SHA512"]),
    (
        Hash::Sha512_224,
        c"SHA2-512/224",
        &["SHA-512/224", "SHA512-224", "2.16.840.1.101.3.4.2.5", "RSA-SHA512/224"],
    ),
    (
        Hash::Sha512_256,
        c"SHA2-512/256",
        &["SHA-512/256", "SHA512-256", "2.16.840.1.101.3.4.2.6", "RSA-SHA512/256"],
    ),
    (Hash::Sha3_224, c"SHA3-224", &["2.16.840.1.101.3.4.2.7", "RSA-SHA3-224"]),
    (Hash::Sha3_256, c"SHA3-256", &["2.16.840.1.101.3.4.2.8", "RSA-SHA3-256"]),
    (Hash::Sha3_384, c"SHA3-384", &["2.16.840.1.101.3.4.2.9", "RSA-SHA3-384"]),
    (Hash::Sha3_512, c"SHA3-512", &["2.16.840.1.101.3.4.2.10", "RSA-SHA3-512"]),
    (Hash::Sm3, c"SM3", &["1.2.156.10197.1.401", "RSA-SM3"]),
];

#[cfg(test)]
mod tests {
    use openssl::hash::{MessageDigest, hash};
    use openssl::md::Md;
    use openssl::pkey::PKey;
    use openssl::provider::Provider;
    use openssl::sign::Signer;

    use super::*;

    #[test]
    fn macs_equal_openssl_s() {
        for (md, name, _) in NAMES.iter().filter(|row| !matches!(row.0, Hash::Md4 | Hash::Mdc2)) {
            let name = MessageDigest::from_name(name.to_str().unwrap()).unwrap();
            for key in [&[][..], &[7], &[0xa5; 64]] {
                let theirs = PKey::hmac(if key.is_empty() { &[0] } else { key }).unwrap();
                let mut signer = Signer::new(name, &theirs).unwrap();
                let theirs = signer.sign_oneshot_to_vec(b"a message").unwrap();
                let mut ours = [0; 64];
                let len = hmac(*md, key, &[b"a ", b"", b"message"], &mut ours);
                assert_eq!(ours[..len], theirs, "{md:?}");
            }
        }
    }

    #[test]
    fn digests_equal_openssl_s_under_each_name() {
        // MD4 and MDC2 are in the legacy provider; most builds lack MDC2.
        let _providers = ["legacy", "default"].map(|name| Provider::load(None, name));
        for &md in Hash::ALL {
            assert!(NAMES.iter().any(|row| row.0 == md), "{md:?} has no name");
        }
        for (md, first, others) in NAMES {
            assert_eq!(name(md), first);
            let first = first.to_str().unwrap();
            let names = [&[first], others].concat();
            if Md::fetch(None, first, None).is_err() && matches!(md, Hash::Md4 | Hash::Mdc2) {
                assert!(names.iter().all(|name| from_name(name) == Some(md)));
                continue;
            }
            let theirs = MessageDigest::from_name(first).unwrap();
            let expected = hash(theirs, b"a message").unwrap();
            assert_eq!(md.digest(b"a message").as_ref(), &*expected, "{md:?}");
            assert_eq!((md.len(), theirs.size()), (expected.len(), expected.len()));
            for name in names {
                assert_eq!(from_name(name), Some(md));
                assert_eq!(from_name(&name.to_lowercase()), Some(md));
                let alias = MessageDigest::from_name(name).unwrap();
                assert_eq!(*hash(alias, b"a message").unwrap(), *expected, "{name}");
            }
        }
        assert_eq!(from_name("BLAKE2B-512"), None);
        assert_eq!(from_name(""), None);
    }
}
