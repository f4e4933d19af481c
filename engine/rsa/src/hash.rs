//! Hash functions by value: lengths, digests without allocation, and the `DigestInfo` prefixes of
//! RFC 8017 §9.2.

use core::fmt;

use zeroize::Zeroize;

use crate::error::{Error, Rejected};
use crate::hasher::Hasher;

/// A hash function: of messages, and of the masks of PSS and OAEP.
///
/// MD5 and SHA-1 have collisions. What they signed is still verified, but
/// [`check_to_sign`](Self::check_to_sign) refuses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hash {
    /// MD5, 16 bytes; for signatures of old.
    Md5,
    /// MD5 and SHA-1 side by side, 36 bytes that PKCS#1 v1.5 signs without `DigestInfo`: TLS 1.0
    /// and 1.1 (RFC 4346 §7.4.3).
    Md5Sha1,
    /// SHA-1, 20 bytes; for signatures of old, and for masks.
    Sha1,
    /// SHA-224, 28 bytes.
    Sha224,
    /// SHA-256, 32 bytes.
    Sha256,
    /// SHA-384, 48 bytes.
    Sha384,
    /// SHA-512, 64 bytes.
    Sha512,
    /// SHA-512/224, 28 bytes.
    Sha512_224,
    /// SHA-512/256, 32 bytes.
    Sha512_256,
    /// SHA3-224, 28 bytes.
    Sha3_224,
    /// SHA3-256, 32 bytes.
    Sha3_256,
    /// SHA3-384, 48 bytes.
    Sha3_384,
    /// SHA3-512, 64 bytes.
    Sha3_512,
}

/// A digest of at most 64 bytes, on the stack; its bytes are `as_ref()`.
#[derive(Clone, Copy, PartialEq, Eq, Zeroize)]
pub struct Digest {
    bytes: [u8; Hash::LEN_MAX],
    len: usize,
}

#[expect(clippy::len_without_is_empty, reason = "no hash function gives an empty digest")]
impl Hash {
    /// Returns the digest of `message`.
    pub fn digest(self, message: &[u8]) -> Digest {
        self.digest_parts(&[message])
    }

    /// Returns the digest of the concatenation of `parts`.
    pub fn digest_parts(self, parts: &[&[u8]]) -> Digest {
        let mut hasher = Hasher::new(self);
        parts.iter().for_each(|part| hasher.update(part));
        hasher.finish()
    }

    /// Checks that signatures may be made with this function: those with MD5 and SHA-1 can be
    /// forged by whoever chooses a part of the message.
    ///
    /// Encoders do not ask. For a peer that knows nothing else, encode
    /// ([`pkcs1v15::encode`](crate::pkcs1v15::encode),
    /// [`pss::encode_random`](crate::pss::encode_random)) and call
    /// [`private`](crate::PrivateKey::private).
    ///
    /// # Errors
    ///
    /// [`Rejected::HashBroken`].
    pub fn check_to_sign(self) -> Result<(), Error> {
        match self {
            Self::Md5 | Self::Md5Sha1 | Self::Sha1 => Err(Rejected::HashBroken(self).into()),
            _ => Ok(()),
        }
    }

    /// Checks that `digest` has this function's length.
    ///
    /// # Errors
    ///
    /// [`Rejected::DigestLength`] with both lengths.
    pub fn check(self, digest: &[u8]) -> Result<(), Error> {
        if digest.len() == self.len() {
            return Ok(());
        }
        Err(Rejected::DigestLength { found_bytes: digest.len(), expected_bytes: self.len() }.into())
    }

    /// Returns the length of a digest, in bytes: 16 to 64.
    pub const fn len(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Md5Sha1 => 36,
            Self::Sha1 => 20,
            Self::Sha224 | Self::Sha512_224 | Self::Sha3_224 => 28,
            Self::Sha256 | Self::Sha512_256 | Self::Sha3_256 => 32,
            Self::Sha384 | Self::Sha3_384 => 48,
            Self::Sha512 | Self::Sha3_512 => 64,
        }
    }

    /// Returns the name as its standard writes it, e.g. `SHA-512/256`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Md5 => "MD5",
            Self::Md5Sha1 => "MD5-SHA1",
            Self::Sha1 => "SHA-1",
            Self::Sha224 => "SHA-224",
            Self::Sha256 => "SHA-256",
            Self::Sha384 => "SHA-384",
            Self::Sha512 => "SHA-512",
            Self::Sha512_224 => "SHA-512/224",
            Self::Sha512_256 => "SHA-512/256",
            Self::Sha3_224 => "SHA3-224",
            Self::Sha3_256 => "SHA3-256",
            Self::Sha3_384 => "SHA3-384",
            Self::Sha3_512 => "SHA3-512",
        }
    }

    /// Returns the DER of `DigestInfo` up to the digest: RFC 8017 §9.2, note 1.
    ///
    /// Empty for MD5 and SHA-1 side by side. The parameters are NULL for every function, those of
    /// SHA-3 included, as OpenSSL writes and demands them.
    pub const fn digest_info_prefix(self) -> &'static [u8] {
        match self {
            Self::Md5 => &[
                0x30, 0x20, 0x30, 0x0c, 0x06, 0x08, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x05,
                0x05, 0x00, 0x04, 0x10,
            ],
            Self::Md5Sha1 => &[],
            Self::Sha1 => &[
                0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04,
                0x14,
            ],
            Self::Sha224 => const { &nist_prefix(Self::Sha224) },
            Self::Sha256 => const { &nist_prefix(Self::Sha256) },
            Self::Sha384 => const { &nist_prefix(Self::Sha384) },
            Self::Sha512 => const { &nist_prefix(Self::Sha512) },
            Self::Sha512_224 => const { &nist_prefix(Self::Sha512_224) },
            Self::Sha512_256 => const { &nist_prefix(Self::Sha512_256) },
            Self::Sha3_224 => const { &nist_prefix(Self::Sha3_224) },
            Self::Sha3_256 => const { &nist_prefix(Self::Sha3_256) },
            Self::Sha3_384 => const { &nist_prefix(Self::Sha3_384) },
            Self::Sha3_512 => const { &nist_prefix(Self::Sha3_512) },
        }
    }

    /// Every hash function of this crate, in the order of the declaration.
    pub const ALL: [Self; 13] = [
        Self::Md5,
        Self::Md5Sha1,
        Self::Sha1,
        Self::Sha224,
        Self::Sha256,
        Self::Sha384,
        Self::Sha512,
        Self::Sha512_224,
        Self::Sha512_256,
        Self::Sha3_224,
        Self::Sha3_256,
        Self::Sha3_384,
        Self::Sha3_512,
    ];

    /// The length of the longest digest, in bytes.
    pub const LEN_MAX: usize = 64;
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Digest {
    pub(crate) fn new(digest: &[u8]) -> Self {
        let mut bytes = [0; Hash::LEN_MAX];
        bytes[..digest.len()].copy_from_slice(digest);
        Self { bytes, len: digest.len() }
    }
}

impl AsRef<[u8]> for Digest {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// `DigestInfo` for an algorithm 2.16.840.1.101.3.4.2.arc of NIST.
const fn nist_prefix(hash: Hash) -> [u8; 19] {
    let arc = match hash {
        Hash::Sha256 => 1,
        Hash::Sha384 => 2,
        Hash::Sha512 => 3,
        Hash::Sha224 => 4,
        Hash::Sha512_224 => 5,
        Hash::Sha512_256 => 6,
        Hash::Sha3_224 => 7,
        Hash::Sha3_256 => 8,
        Hash::Sha3_384 => 9,
        Hash::Sha3_512 => 10,
        Hash::Md5 | Hash::Md5Sha1 | Hash::Sha1 => panic!("not an algorithm of that arc"),
    };
    #[expect(clippy::cast_possible_truncation, reason = "a digest has at most 64 bytes")]
    let len = hash.len() as u8;
    // SEQUENCE { SEQUENCE { OID, NULL }, OCTET STRING of len bytes }: 2, 15 and 2 + len bytes.
    [
        0x30,
        17 + len,
        0x30,
        0x0d,
        0x06,
        0x09,
        0x60,
        0x86,
        0x48,
        0x01,
        0x65,
        0x03,
        0x04,
        0x02,
        arc,
        0x05,
        0x00,
        0x04,
        len,
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use der::{Decode, Reader, SliceReader, asn1::AnyRef, asn1::OctetStringRef};
    use spki::AlgorithmIdentifierRef;

    use super::*;

    /// `printf abc | openssl dgst -ALGORITHM` (FIPS 180-4 and FIPS 202 give the same examples).
    const ABC: [(Hash, &str); 13] = [
        (Hash::Md5, "900150983cd24fb0d6963f7d28e17f72"),
        (Hash::Md5Sha1, "900150983cd24fb0d6963f7d28e17f72a9993e364706816aba3e25717850c26c9cd0d89d"),
        (Hash::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (Hash::Sha224, "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
        (Hash::Sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            Hash::Sha384,
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed\
            8086072ba1e7cc2358baeca134c825a7",
        ),
        (
            Hash::Sha512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
            2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
        (Hash::Sha512_224, "4634270f707b6a54daae7530460842e20e37ed265ceee9a43e8924aa"),
        (Hash::Sha512_256, "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
        (Hash::Sha3_224, "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"),
        (Hash::Sha3_256, "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
        (
            Hash::Sha3_384,
            "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b2\
            98d88cea927ac7f539f1edf228376d25",
        ),
        (
            Hash::Sha3_512,
            "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e\
            10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0",
        ),
    ];

    #[test]
    fn digests_of_abc() {
        for ((hash, expected), of_all) in ABC.into_iter().zip(Hash::ALL) {
            assert_eq!(hash, of_all, "the table covers every function");
            assert_eq!(hex::encode(hash.digest(b"abc")), expected, "{hash}");
            assert_eq!(hash.digest(b"abc").as_ref().len(), hash.len(), "{hash}");
            assert_eq!(hash.digest_parts(&[b"a", b"", b"bc"]), hash.digest(b"abc"), "{hash}");
        }
    }

    /// The object identifiers of RFC 8017 appendix B.1 and of NIST's register for SHA-3.
    const OIDS: [(Hash, &str); 12] = [
        (Hash::Md5, "1.2.840.113549.2.5"),
        (Hash::Sha1, "1.3.14.3.2.26"),
        (Hash::Sha224, "2.16.840.1.101.3.4.2.4"),
        (Hash::Sha256, "2.16.840.1.101.3.4.2.1"),
        (Hash::Sha384, "2.16.840.1.101.3.4.2.2"),
        (Hash::Sha512, "2.16.840.1.101.3.4.2.3"),
        (Hash::Sha512_224, "2.16.840.1.101.3.4.2.5"),
        (Hash::Sha512_256, "2.16.840.1.101.3.4.2.6"),
        (Hash::Sha3_224, "2.16.840.1.101.3.4.2.7"),
        (Hash::Sha3_256, "2.16.840.1.101.3.4.2.8"),
        (Hash::Sha3_384, "2.16.840.1.101.3.4.2.9"),
        (Hash::Sha3_512, "2.16.840.1.101.3.4.2.10"),
    ];

    #[test]
    fn prefix_and_digest_are_a_digest_info() {
        for (hash, oid) in OIDS {
            let digest = hash.digest(b"abc");
            let info = [hash.digest_info_prefix(), digest.as_ref()].concat();
            let any = AnyRef::from_der(&info).unwrap(); // refuses a wrong outer length
            let mut reader = SliceReader::new(any.value()).unwrap();
            let algorithm = AlgorithmIdentifierRef::decode(&mut reader).unwrap();
            assert_eq!(algorithm.oid.to_string(), oid, "{hash}");
            assert!(algorithm.parameters.unwrap().is_null(), "{hash}");
            let octets = <&OctetStringRef>::decode(&mut reader).unwrap();
            assert_eq!(octets.as_bytes(), digest.as_ref(), "{hash}");
            assert!(reader.is_finished(), "{hash}");
        }
    }

    #[test]
    fn what_has_collisions_is_not_signed() {
        for hash in Hash::ALL {
            let is_broken = matches!(hash, Hash::Md5 | Hash::Md5Sha1 | Hash::Sha1);
            let expected = if is_broken { Err(Rejected::HashBroken(hash).into()) } else { Ok(()) };
            assert_eq!(hash.check_to_sign(), expected, "{hash}");
        }
    }

    /// RFC 8017 §9.2, note 1, letter by letter.
    #[test]
    fn prefix_of_sha256_is_that_of_the_standard() {
        assert_eq!(
            hex::encode(Hash::Sha256.digest_info_prefix()),
            "3031300d060960864801650304020105000420"
        );
    }

    #[test]
    fn a_digest_of_another_length_is_refused() {
        assert_eq!(Hash::Sha256.check(&[0; 32]), Ok(()));
        assert_eq!(
            Hash::Sha256.check(&[0; 31]),
            Err(Rejected::DigestLength { found_bytes: 31, expected_bytes: 32 }.into())
        );
    }
}
