//! Hash functions by value: names, lengths, and the `DigestInfo` prefixes of RFC 8017 §9.2.

use core::fmt;

use zeroize::Zeroize;

macro_rules! hash_functions {
    ($(
        $(#[$docs:meta])* $hash:ident $([$feature:literal])? =
            $name:literal, $len:literal, $prefix:expr;
    )*) => {
        /// A hash function, for messages and for the masks of PSS and OAEP.
        ///
        /// Signatures with the older functions can be forged: they are verified, but
        /// [`check_to_sign`](Self::check_to_sign) refuses to sign with them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Hash {
            $(
                #[doc = concat!($name, ", ", $len, " bytes.")]
                $(#[$docs])*
                $(#[cfg(feature = $feature)])?
                $hash,
            )*
        }

        #[expect(clippy::len_without_is_empty, reason = "no hash function gives an empty digest")]
        impl Hash {
            /// Every hash function of this crate, in the order of their declaration.
            pub const ALL: &[Self] = &[$($(#[cfg(feature = $feature)])? Self::$hash,)*];

            /// Returns the length of a digest, in bytes: 16 to 64.
            pub const fn len(self) -> usize {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$hash => $len,)*
                }
            }

            /// Returns the name as in its standard, e.g. `SHA-512/256`.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$hash => $name,)*
                }
            }

            /// Returns the bytes that PKCS#1 v1.5 writes before the digest: the DER of `DigestInfo`
            /// (RFC 8017 §9.2, note 1).
            ///
            /// The prefix of MD5-SHA1 is empty. The prefix of MDC-2 is the header of an `OCTET
            /// STRING`. All other prefixes contain NULL parameters, also for SHA-3, as OpenSSL
            /// requires.
            pub const fn digest_info_prefix(self) -> &'static [u8] {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$hash => const { &$prefix },)*
                }
            }
        }
    };
}

hash_functions! {
    // The object identifier of MD4 ends in 4. OpenSSL 3 signs and verifies with one that ends in 3.
    Md4 ["legacy-hashes"] = "MD4", 16, digest_info::<7, 18>(16, &RSA_MD, 3);
    Md5 ["legacy-hashes"] = "MD5", 16, digest_info::<7, 18>(16, &RSA_MD, 5);
    /// The digests of MD5 and SHA-1, concatenated. PKCS#1 v1.5 signs them without `DigestInfo` in
    /// TLS 1.0 and 1.1 (RFC 4346 §7.4.3).
    Md5Sha1 ["legacy-hashes"] = "MD5-SHA1", 36, [];
    /// MDC-2 with DES (ISO/IEC 10118-2). PKCS#1 v1.5 signs an `OCTET STRING` of the digest without
    /// `DigestInfo`, as OpenSSL does. DES reads tables at addresses that depend on the data.
    /// Therefore do not hash secrets with MDC-2, and do not use it in OAEP.
    Mdc2 ["legacy-hashes"] = "MDC-2", 16, [0x04, 0x10];
    Ripemd160 ["legacy-hashes"] =
        "RIPEMD-160", 20, digest_info::<4, 15>(20, &[0x2b, 0x24, 3, 2], 1);
    Sha1 = "SHA-1", 20, digest_info::<4, 15>(20, &[0x2b, 0x0e, 3, 2], 26);
    Sha224 = "SHA-224", 28, digest_info::<8, 19>(28, &NIST, 4);
    Sha256 = "SHA-256", 32, digest_info::<8, 19>(32, &NIST, 1);
    Sha384 = "SHA-384", 48, digest_info::<8, 19>(48, &NIST, 2);
    Sha512 = "SHA-512", 64, digest_info::<8, 19>(64, &NIST, 3);
    Sha512_224 = "SHA-512/224", 28, digest_info::<8, 19>(28, &NIST, 5);
    Sha512_256 = "SHA-512/256", 32, digest_info::<8, 19>(32, &NIST, 6);
    Sha3_224 = "SHA3-224", 28, digest_info::<8, 19>(28, &NIST, 7);
    Sha3_256 = "SHA3-256", 32, digest_info::<8, 19>(32, &NIST, 8);
    Sha3_384 = "SHA3-384", 48, digest_info::<8, 19>(48, &NIST, 9);
    Sha3_512 = "SHA3-512", 64, digest_info::<8, 19>(64, &NIST, 10);
    Sm3 = "SM3", 32, digest_info::<7, 18>(32, &OSCCA, 0x78);
}

impl Hash {
    /// The length of the longest digest, in bytes.
    pub const LEN_MAX: usize = 64;
}

/// A digest of at most 64 bytes, stored inline; `as_ref()` returns its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Zeroize)]
pub struct Digest {
    bytes: [u8; Hash::LEN_MAX],
    len: usize,
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

/// 1.2.840.113549.2, the message digests of RSA Data Security.
#[cfg(feature = "legacy-hashes")]
const RSA_MD: [u8; 7] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 2];
/// 2.16.840.1.101.3.4.2, the hash functions of NIST.
const NIST: [u8; 8] = [0x60, 0x86, 0x48, 0x01, 0x65, 3, 4, 2];
/// The identifier that OpenSSL 3 has for SM3, 1.2.156.10197.1.504, without its last byte.
const OSCCA: [u8; 7] = [0x2a, 0x81, 0x1c, 0xcf, 0x55, 0x01, 0x83];

/// Returns the DER of `DigestInfo` up to the digest. The object identifier consists of `arcs` and
/// `last`.
const fn digest_info<const ARCS: usize, const N: usize>(
    digest_len: u8,
    arcs: &[u8; ARCS],
    last: u8,
) -> [u8; N] {
    const { assert!(N == ARCS + 11) };
    #[expect(clippy::cast_possible_truncation, reason = "at most 8")]
    let oid_len = ARCS as u8 + 1;
    let mut prefix = [0; N];
    // SEQUENCE { SEQUENCE { OBJECT IDENTIFIER, NULL }, OCTET STRING }
    let head = [0x30, oid_len + 8 + digest_len, 0x30, oid_len + 4, 0x06, oid_len];
    prefix.split_at_mut(6).0.copy_from_slice(&head);
    prefix.split_at_mut(6).1.split_at_mut(ARCS).0.copy_from_slice(arcs);
    let tail = [last, 0x05, 0x00, 0x04, digest_len];
    prefix.split_at_mut(6 + ARCS).1.copy_from_slice(&tail);
    prefix
}

#[cfg(test)]
mod tests {

    use der::{Decode, Reader, SliceReader, asn1::AnyRef, asn1::OctetStringRef};
    use spki::AlgorithmIdentifierRef;

    use super::*;

    /// `printf abc | openssl dgst -ALGORITHM` (FIPS 180-4 and FIPS 202 give the same examples).
    const ABC: [(Hash, &str); 17] = [
        (Hash::Md4, "a448017aaf21d8525fc10ae87aa6729d"),
        (Hash::Md5, "900150983cd24fb0d6963f7d28e17f72"),
        (Hash::Md5Sha1, "900150983cd24fb0d6963f7d28e17f72a9993e364706816aba3e25717850c26c9cd0d89d"),
        (Hash::Mdc2, "3ff42120ee863f5d910cf2ee5064f82f"),
        (Hash::Ripemd160, "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"),
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
        (Hash::Sm3, "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0"),
    ];

    #[test]
    fn digests_of_abc() {
        for ((hash, expected), of_all) in ABC.into_iter().zip(Hash::ALL) {
            assert_eq!(hash, *of_all, "the table covers every function");
            assert_eq!(hex::encode(hash.digest(b"abc")), expected, "{hash}");
            assert_eq!(hash.digest(b"abc").as_ref().len(), hash.len(), "{hash}");
            assert_eq!(hash.digest_parts(&[b"a", b"", b"bc"]), hash.digest(b"abc"), "{hash}");
        }
    }

    /// The object identifiers of RFC 8017 appendix B.1, of NIST's register for SHA-3, and of
    /// OpenSSL's `objects.txt` for the others.
    const OIDS: [(Hash, &str); 15] = [
        (Hash::Md4, "1.2.840.113549.2.3"), // of OpenSSL 3; the registered one ends in 4
        (Hash::Ripemd160, "1.3.36.3.2.1"),
        (Hash::Sm3, "1.2.156.10197.1.504"), // of OpenSSL 3; the registered one ends in 401
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
}
