//! Hash functions by OpenSSL's names, and messages hashed piece by piece.
#![forbid(unsafe_code)]

use core::ffi::CStr;

use digest::DynDigest;
use tollgate_rsa::Hash;

/// A hash function that a signature can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HashFunction {
    /// For old PKCS#1 v1.5 signatures only.
    Md5,
    /// MD5 and SHA-1 side by side, 36 bytes without `DigestInfo`: TLS 1.0 and 1.1 (RFC 4346
    /// §7.4.3).
    Md5Sha1,
    /// The rest.
    Of(Hash),
}

/// A message on its way through a hash function.
#[derive(Clone)]
pub(crate) struct Stream(Vec<Box<dyn DynDigest>>);

/// A digest of at most 64 bytes.
pub(crate) struct Digest {
    bytes: [u8; Hash::LEN_MAX],
    len: usize,
}

impl HashFunction {
    /// By any of the names that OpenSSL's providers give, in either case.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(name)))
            .map(|(md, _)| *md)
    }

    /// OpenSSL's first name.
    pub(crate) fn name(self) -> &'static CStr {
        match self {
            Self::Md5 => c"MD5",
            Self::Md5Sha1 => c"MD5-SHA1",
            Self::Of(hash) => match hash {
                Hash::Sha1 => c"SHA1",
                Hash::Sha224 => c"SHA2-224",
                Hash::Sha256 => c"SHA2-256",
                Hash::Sha384 => c"SHA2-384",
                Hash::Sha512 => c"SHA2-512",
                Hash::Sha512_224 => c"SHA2-512/224",
                Hash::Sha512_256 => c"SHA2-512/256",
                Hash::Sha3_224 => c"SHA3-224",
                Hash::Sha3_256 => c"SHA3-256",
                Hash::Sha3_384 => c"SHA3-384",
                Hash::Sha3_512 => c"SHA3-512",
            },
        }
    }

    /// Bytes of a digest.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Md5Sha1 => 36,
            Self::Of(hash) => hash.len(),
        }
    }

    /// What stands before the digest in a PKCS#1 v1.5 signature.
    pub(crate) fn digest_info_prefix(self) -> &'static [u8] {
        match self {
            Self::Md5 => &[
                0x30, 0x20, 0x30, 0x0c, 0x06, 0x08, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x05,
                0x05, 0x00, 0x04, 0x10,
            ],
            Self::Md5Sha1 => &[],
            Self::Of(hash) => hash.digest_info_prefix(),
        }
    }

    /// The hash function, if PSS and OAEP may use it.
    pub(crate) fn hash(self) -> Option<Hash> {
        match self {
            Self::Md5 | Self::Md5Sha1 => None,
            Self::Of(hash) => Some(hash),
        }
    }

    /// The digest of a whole message.
    pub(crate) fn digest(self, message: &[u8]) -> Digest {
        let Self::Of(hash) = self else {
            let mut stream = self.stream();
            stream.update(message);
            return stream.finish();
        };
        let digest = hash.digest(message);
        let mut bytes = [0; Hash::LEN_MAX];
        bytes[..hash.len()].copy_from_slice(digest.as_ref());
        Digest { bytes, len: hash.len() }
    }

    /// The start of a message.
    pub(crate) fn stream(self) -> Stream {
        let sha1 = || Box::new(sha1::Sha1::default());
        let md5 = || Box::new(md5::Md5::default());
        Stream(match self {
            Self::Md5 => vec![md5()],
            Self::Md5Sha1 => vec![md5(), sha1()],
            Self::Of(hash) => vec![match hash {
                Hash::Sha1 => sha1(),
                Hash::Sha224 => Box::new(sha2::Sha224::default()),
                Hash::Sha256 => Box::new(sha2::Sha256::default()),
                Hash::Sha384 => Box::new(sha2::Sha384::default()),
                Hash::Sha512 => Box::new(sha2::Sha512::default()),
                Hash::Sha512_224 => Box::new(sha2::Sha512_224::default()),
                Hash::Sha512_256 => Box::new(sha2::Sha512_256::default()),
                Hash::Sha3_224 => Box::new(sha3::Sha3_224::default()),
                Hash::Sha3_256 => Box::new(sha3::Sha3_256::default()),
                Hash::Sha3_384 => Box::new(sha3::Sha3_384::default()),
                Hash::Sha3_512 => Box::new(sha3::Sha3_512::default()),
            }],
        })
    }
}

impl Stream {
    pub(crate) fn update(&mut self, piece: &[u8]) {
        for state in &mut self.0 {
            state.update(piece);
        }
    }

    pub(crate) fn finish(mut self) -> Digest {
        let mut digest = Digest { bytes: [0; Hash::LEN_MAX], len: 0 };
        for state in &mut self.0 {
            let end = digest.len + state.output_size();
            let place = &mut digest.bytes[digest.len..end];
            state.finalize_into_reset(place).expect("the place has the digest's length");
            digest.len = end;
        }
        digest
    }
}

impl AsRef<[u8]> for Digest {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// All names of `providers/implementations/include/prov/names.h`, and the object names of OpenSSL
/// 1.
const NAMES: [(HashFunction, &[&str]); 13] = [
    (HashFunction::Md5, &["MD5", "SSL3-MD5", "1.2.840.113549.2.5", "RSA-MD5"]),
    (HashFunction::Md5Sha1, &["MD5-SHA1"]),
    (HashFunction::Of(Hash::Sha1), &["SHA1", "SHA-1", "SSL3-SHA1", "1.3.14.3.2.26", "RSA-SHA1"]),
    (
        HashFunction::Of(Hash::Sha224),
        &["SHA2-224", "SHA-224", "SHA224", "2.16.840.1.101.3.4.2.4", "RSA-SHA224"],
    ),
    (
        HashFunction::Of(Hash::Sha256),
        &["SHA2-256", "SHA-256", "SHA256", "2.16.840.1.101.3.4.2.1", "RSA-SHA256"],
    ),
    (
        HashFunction::Of(Hash::Sha384),
        &["SHA2-384", "SHA-384", "SHA384", "2.16.840.1.101.3.4.2.2", "RSA-SHA384"],
    ),
    (
        HashFunction::Of(Hash::Sha512),
        &["SHA2-512", "SHA-512", "SHA512", "2.16.840.1.101.3.4.2.3", "RSA-SHA512"],
    ),
    (
        HashFunction::Of(Hash::Sha512_224),
        &["SHA2-512/224", "SHA-512/224", "SHA512-224", "2.16.840.1.101.3.4.2.5", "RSA-SHA512/224"],
    ),
    (
        HashFunction::Of(Hash::Sha512_256),
        &["SHA2-512/256", "SHA-512/256", "SHA512-256", "2.16.840.1.101.3.4.2.6", "RSA-SHA512/256"],
    ),
    (HashFunction::Of(Hash::Sha3_224), &["SHA3-224", "2.16.840.1.101.3.4.2.7", "RSA-SHA3-224"]),
    (HashFunction::Of(Hash::Sha3_256), &["SHA3-256", "2.16.840.1.101.3.4.2.8", "RSA-SHA3-256"]),
    (HashFunction::Of(Hash::Sha3_384), &["SHA3-384", "2.16.840.1.101.3.4.2.9", "RSA-SHA3-384"]),
    (HashFunction::Of(Hash::Sha3_512), &["SHA3-512", "2.16.840.1.101.3.4.2.10", "RSA-SHA3-512"]),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use openssl::hash::{MessageDigest, hash};

    use super::*;

    #[test]
    fn digests_are_those_of_openssl_under_each_name() {
        for (md, names) in NAMES {
            let theirs = MessageDigest::from_name(md.name().to_str().unwrap()).unwrap();
            let expected = hash(theirs, b"a message").unwrap();
            assert_eq!(md.digest(b"a message").as_ref(), &*expected, "{md:?}");
            let mut stream = md.stream();
            stream.update(b"a mes");
            let mut copy = stream.clone();
            copy.update(b"sage");
            stream.update(b"s");
            assert_eq!(copy.finish().as_ref(), &*expected, "{md:?}");
            assert_ne!(stream.finish().as_ref(), &*expected, "{md:?}");
            assert_eq!((md.len(), theirs.size()), (expected.len(), expected.len()));
            for name in names {
                assert_eq!(HashFunction::from_name(name), Some(md));
                assert_eq!(HashFunction::from_name(&name.to_lowercase()), Some(md));
                let alias = MessageDigest::from_name(name).unwrap();
                assert_eq!(*hash(alias, b"a message").unwrap(), *expected, "{name}");
            }
        }
        assert_eq!(HashFunction::from_name("RIPEMD160"), None);
        assert_eq!(HashFunction::from_name(""), None);
    }
}
