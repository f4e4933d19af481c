//! Errors, sorted by who must act. None of them carries a secret value.
//!
//! Every message is one line: the failure, its place, and the remedy. A program that reads the key
//! from a file adds the file's name in front.

use core::fmt;

use crate::hash::Hash;

#[cfg(test)]
mod tests;

/// The reason that an operation gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The check after the private operation failed; nothing was released. Test the machine.
    Fault,
    /// The caller broke the documented contract. Fixed by reading code.
    Misuse(Misuse),
    /// The key, message or signature is not acceptable. Fixed by other input.
    Rejected(Rejected),
    /// Something outside this crate did not answer. Retry, or repair the system.
    Unavailable(Unavailable),
}

/// A broken contract between the caller and this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// A buffer for a signature or an encoded message has another length than the modulus.
    BufferLength {
        /// The length of the caller's buffer, in bytes.
        found_bytes: usize,
        /// The length that the key demands, in bytes.
        expected_bytes: usize,
    },
    /// Keys of this size are not generated.
    NewKeyBits {
        /// The requested size, in bits.
        bits: usize,
        /// The smallest size that is generated, in bits.
        least_bits: usize,
    },
    /// Keys with this public exponent are not generated.
    NewKeyExponent,
    /// An encoder got `Salt::Auto`, which only a verifier can read from a signature.
    SaltAuto,
    /// The environment variable that disables processor features names an unknown feature.
    Veto(String),
}

/// An input that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// The private exponent d is not an inverse of e modulo p-1 and q-1, or is not below n.
    D,
    /// The CRT exponent `d_p` is not the inverse of e modulo p-1, or is not below p.
    DP,
    /// The CRT exponent `d_q` is not the inverse of e modulo q-1, or is not below q.
    DQ,
    /// The bytes are not the expected DER.
    Der {
        /// The field at which reading stopped.
        field: &'static str,
        /// The bytes found there.
        what: String,
    },
    /// The ciphertext does not decrypt. The reason stays secret.
    DecryptionFailed,
    /// The digest does not have the length of its hash function.
    DigestLength {
        /// The length of the digest, in bytes.
        found_bytes: usize,
        /// The length that the hash function gives, in bytes.
        expected_bytes: usize,
    },
    /// The private key is encrypted.
    Encrypted,
    /// The primes p and q are the same number.
    EqualPrimes,
    /// The public exponent is even.
    ExponentEven,
    /// The public exponent is above 2^256.
    ExponentLarge {
        /// The size of the exponent, in bits.
        bits: usize,
    },
    /// The public exponent is below 3.
    ExponentSmall,
    /// Signatures with this hash function can be forged, so signing is refused.
    HashBroken(Hash),
    /// The input is longer than any key.
    InputLength {
        /// The length of the input, in bytes.
        found_bytes: usize,
        /// The longest input that is read, in bytes.
        limit_bytes: usize,
    },
    /// The message to encrypt does not fit beside its padding.
    MessageLong {
        /// The length of the message, in bytes.
        found_bytes: usize,
        /// The longest message for the key and the padding, in bytes.
        limit_bytes: usize,
    },
    /// The message representative is not below the modulus (RFC 8017 §5.1, §5.2).
    MessageRange,
    /// The modulus is even.
    ModulusEven,
    /// The modulus has no room for the padding with this hash function and salt.
    ModulusSmall {
        /// The bytes available for the padding.
        found_bytes: usize,
        /// The bytes that the padding needs.
        needed_bytes: usize,
    },
    /// The key has more than two primes.
    MultiPrime,
    /// The input is neither PEM nor DER.
    NotAKey,
    /// The key is for another algorithm.
    NotRsa {
        /// The algorithm's name and object identifier.
        algorithm: String,
    },
    /// The text within a PEM block is not base64.
    PemBase64 {
        /// The label of the block.
        label: String,
    },
    /// No PEM block in the input has the expected kind.
    PemLabel {
        /// The label of the last block.
        label: String,
        /// The expected kind.
        expected: Expected,
    },
    /// A PEM block has a BEGIN line and no matching END line.
    PemTruncated {
        /// The label of the block.
        label: String,
    },
    /// A prime is composite.
    PrimeComposite(Prime),
    /// A prime is even.
    PrimeEven(Prime),
    /// A prime is one.
    PrimeOne(Prime),
    /// A prime is shorter than a quarter of the modulus.
    PrimeSmall(Prime),
    /// p times q is not n.
    Product,
    /// The CRT coefficient `q_inv` is not the inverse of q modulo p, or is not below p.
    QInv,
    /// The signature does not verify. The reason stays secret.
    SignatureInvalid,
    /// The modulus has a size that is not supported.
    Size {
        /// The size of the modulus, in bits.
        bits: usize,
    },
    /// A well-formed structure of another kind was found.
    Unexpected {
        /// The kind that was found.
        found: Found,
        /// The expected kind.
        expected: Expected,
    },
}

/// Something outside this crate that did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unavailable {
    /// The random number generator that the caller passed failed.
    CallerRandom,
    /// Two primes were not found among the random numbers.
    Primes {
        /// The numbers that were tried.
        tried: usize,
    },
    /// The operating system gave no random bytes.
    Random,
}

/// The half of a key that the caller asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// An RSA private key.
    PrivateKey,
    /// An RSA public key.
    PublicKey,
}

/// A structure that is not the one the caller asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A certificate, or a request for one.
    Certificate,
    /// An elliptic-curve private key (SEC 1).
    EcPrivateKey,
    /// A private key.
    PrivateKey,
    /// A public key.
    PublicKey,
}

/// One of the two primes, by its name in RFC 8017.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prime {
    /// The first prime.
    P,
    /// The second prime.
    Q,
}

impl Misuse {
    /// Checks the length of a buffer.
    pub(crate) fn check_length(found_bytes: usize, expected_bytes: usize) -> Result<(), Error> {
        if found_bytes == expected_bytes {
            Ok(())
        } else {
            Err(Self::BufferLength { found_bytes, expected_bytes }.into())
        }
    }
}

impl core::error::Error for Error {}

impl From<Misuse> for Error {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}

impl From<Rejected> for Error {
    fn from(rejected: Rejected) -> Self {
        Self::Rejected(rejected)
    }
}

impl From<Unavailable> for Error {
    fn from(unavailable: Unavailable) -> Self {
        Self::Unavailable(unavailable)
    }
}

/// For the traits of the crate `signature`: the error becomes the source.
impl From<Error> for signature::Error {
    fn from(error: Error) -> Self {
        Self::from_source(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault => f.write_str(
                "the check after the private operation failed and nothing was released: \
                 test this machine's memory and processor before it signs again",
            ),
            Self::Misuse(misuse) => misuse.fmt(f),
            Self::Rejected(rejected) => rejected.fmt(f),
            Self::Unavailable(unavailable) => unavailable.fmt(f),
        }
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BufferLength { found_bytes, expected_bytes } => write!(
                f,
                "the buffer has {found_bytes} bytes and the modulus {expected_bytes}: \
                 pass a buffer of the key's size()"
            ),
            Self::NewKeyBits { bits, least_bits } => write!(
                f,
                "no key of {bits} bits is made: ask for an even number from {least_bits} to \
                 {MODULUS_BITS_MAX}, of which 3072 is usual"
            ),
            Self::NewKeyExponent => f.write_str(
                "no key with this public exponent is made: ask for an odd one above 2^16 and below \
                 2^256, of which 65537 is usual",
            ),
            Self::SaltAuto => f.write_str(
                "Salt::Auto is for verification only: \
                 sign with Salt::Digest, Salt::Exactly or Salt::Max",
            ),
            Self::Veto(what) => f.write_str(what),
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CallerRandom => f.write_str(
                "the caller's random number generator failed: \
                 repair it, or sign without one to take the system's",
            ),
            Self::Primes { tried } => write!(
                f,
                "no two primes among {tried} random numbers: \
                 suspect the system's random numbers, then retry"
            ),
            Self::Random => f.write_str(
                "the operating system gave no random bytes: \
                 check getrandom(2) and /dev/urandom, then retry",
            ),
        }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::D => write!(f, "d is not below n or e*d is not 1 modulo p-1 and q-1; {DAMAGED}"),
            Self::DP => write!(f, "d_p is not below p or e*d_p is not 1 modulo p-1; {DAMAGED}"),
            Self::DQ => write!(f, "d_q is not below q or e*d_q is not 1 modulo q-1; {DAMAGED}"),
            Self::Der { field, what } => {
                write!(f, "malformed DER at {field}: {what}; {RESTORE}")
            }
            // One text for every reason: an attacker must not learn how far a forgery came.
            Self::DecryptionFailed => f.write_str(
                "the ciphertext does not decrypt: it is damaged, or made with another key, \
                 padding, hash function or label",
            ),
            Self::DigestLength { found_bytes, expected_bytes } => write!(
                f,
                "the digest has {found_bytes} bytes and its hash function gives \
                 {expected_bytes}: name the hash function that made the digest"
            ),
            Self::Encrypted => f.write_str(
                "the private key is encrypted: decrypt it first: \
                 openssl pkey -in FILE -out PLAIN",
            ),
            Self::EqualPrimes => write!(f, "p and q are equal; {DAMAGED}"),
            Self::ExponentEven => write!(f, "the public exponent e is even: {EXPONENT}"),
            Self::ExponentLarge { bits } => {
                write!(f, "the public exponent e has {bits} bits: {EXPONENT}")
            }
            Self::ExponentSmall => write!(f, "the public exponent e is below 3: {EXPONENT}"),
            Self::HashBroken(hash) => write!(
                f,
                "signatures with {hash} can be forged: sign with SHA-256; for a peer that knows \
                 nothing else, pkcs1v15::encode or pss::encode_random, then private()"
            ),
            Self::InputLength { found_bytes, limit_bytes } => write!(
                f,
                "the input has {found_bytes} bytes and a key file at most {limit_bytes}: \
                 is this the right file?"
            ),
            Self::MessageLong { found_bytes, limit_bytes } => write!(
                f,
                "the message has {found_bytes} bytes and the key has room for {limit_bytes}: \
                 encrypt a symmetric key, and the message with that"
            ),
            Self::MessageRange => f.write_str(
                "the message representative is not below the modulus: \
                 pad the message, or use a number below n",
            ),
            Self::ModulusEven => write!(f, "the modulus n is even; {DAMAGED}"),
            Self::ModulusSmall { found_bytes, needed_bytes } => write!(
                f,
                "the modulus gives the padding {found_bytes} bytes and it needs {needed_bytes}: \
                 use a larger key, a shorter hash function or a shorter salt"
            ),
            Self::MultiPrime => f.write_str(
                "the key has more than two primes and keys of two are supported: \
                 generate one with openssl genrsa 2048",
            ),
            Self::NotAKey => f.write_str(
                "neither PEM (no -----BEGIN line) nor DER (no SEQUENCE): \
                 give a key file in PKCS#1, PKCS#8 or SubjectPublicKeyInfo",
            ),
            Self::NotRsa { algorithm } => write!(
                f,
                "not an RSA key but one for {algorithm}: give a key of algorithm rsaEncryption"
            ),
            Self::PemBase64 { label } => {
                write!(f, "wrong base64 in the PEM block {label}; {RESTORE}")
            }
            Self::PemLabel { label, expected } => write!(
                f,
                "found the PEM block {label} where {expected} is needed: {}",
                expected.remedy()
            ),
            Self::PemTruncated { label } => write!(
                f,
                "the PEM block {label} is truncated: its line -----END {label}----- is missing; \
                 {RESTORE}"
            ),
            Self::PrimeComposite(prime) => write!(f, "{prime} is not prime; {DAMAGED}"),
            Self::PrimeEven(prime) => write!(f, "the prime {prime} is even; {DAMAGED}"),
            Self::PrimeOne(prime) => write!(f, "the prime {prime} is one; {DAMAGED}"),
            Self::PrimeSmall(prime) => write!(
                f,
                "the prime {prime} is shorter than a quarter of the modulus: \
                 generate a key with primes of equal length"
            ),
            Self::Product => write!(f, "p*q is not n; {DAMAGED}"),
            Self::QInv => {
                write!(f, "q_inv is not below p or q*q_inv is not 1 modulo p; {DAMAGED}")
            }
            // One text for every reason: a forger must not learn how far a forgery came.
            Self::SignatureInvalid => f.write_str("the signature is not valid"),
            Self::Size { bits } => write!(
                f,
                "the modulus has {bits} bits and {MODULUS_BITS_MIN} to {MODULUS_BITS_MAX} are \
                 supported: use a key of 2048, 3072 or 4096 bits"
            ),
            Self::Unexpected { found, expected } => {
                write!(f, "found {found} where {expected} is needed: {}", expected.remedy())
            }
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PrivateKey => "an RSA private key",
            Self::PublicKey => "an RSA public key",
        })
    }
}

impl Expected {
    fn remedy(self) -> &'static str {
        match self {
            Self::PrivateKey => "give the file with PRIVATE KEY in its BEGIN line",
            Self::PublicKey => {
                "extract it with openssl pkey -in KEY -pubout \
                 or openssl x509 -in CERT -pubkey -noout"
            }
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certificate => "a certificate or a request for one",
            Self::EcPrivateKey => "an elliptic-curve private key",
            Self::PrivateKey => "a private key",
            Self::PublicKey => "a public key",
        })
    }
}

impl fmt::Display for Prime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::P => "p",
            Self::Q => "q",
        })
    }
}

/// The smallest modulus that is accepted, in bits.
pub const MODULUS_BITS_MIN: usize = 512;

/// The largest modulus that is accepted, in bits.
pub const MODULUS_BITS_MAX: usize = 8192;

/// Bytes of the largest modulus, and so of the longest signature, ciphertext and message.
pub const MODULUS_BYTES_MAX: usize = MODULUS_BITS_MAX / 8;

const DAMAGED: &str = "the key is damaged or was made wrongly: \
    see openssl rsa -check -noout -in FILE, then restore it or generate another";

const EXPONENT: &str = "it must be odd and from 3 to 2^256; \
    generate another key (e = 65537 is usual)";

const RESTORE: &str = "the file is damaged: restore it or export the key again";
