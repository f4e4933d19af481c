//! Errors, sorted by who must act. None of them carries a secret value.
//!
//! Every message is one line: the failure, its place, and the remedy. A program that reads the key
//! from a file adds the file's name in front.

use core::fmt;

use crate::hash::Hash;

/// The reason that an operation gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The check after the private operation failed; nothing was released. Test the machine.
    Fault,
    /// The caller violated the documented contract. Correct the calling code.
    Misuse(Misuse),
    /// The key, message or signature is not acceptable. Use other input.
    Rejected(Rejected),
    /// Something outside this crate did not answer. Retry, or repair the system.
    Unavailable(Unavailable),
}

/// Declares an enumeration by rows: a variant, its data and its text. Variants have more
/// documentation if the text does not say everything.
macro_rules! texts {
    ($(#[$doc:meta])* $name:ident {
        $(
            $(#[$note:meta])*
            $kind:ident $({ $($field:ident: $type:ty),+ })? $(($value:ident: $of:ty))? =
                $text:literal;
        )*
    }) => {
        $(#[$doc])*
        #[allow(missing_docs, reason = "the text names the fields")]
        pub enum $name {
            $(
                #[doc = concat!("`", $text, "`")]
                $(#[$note])*
                $kind $({ $($field: $type),+ })? $(($of))?,
            )*
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$kind $({ $($field),+ })? $(($value))? => write!(f, $text),)*
                }
            }
        }
    };
}

texts! {
    /// A broken contract between the caller and this crate.
    #[derive(Clone, Debug, PartialEq, Eq)]
    Misuse {
        BufferLength { found_bytes: usize, expected_bytes: usize } =
            "the buffer has {found_bytes} bytes and the modulus {expected_bytes}: \
             pass a buffer of the key's size()";
        NewKeyBits { bits: usize, least_bits: usize } =
            "no key of {bits} bits is made: ask for an even number from {least_bits} to \
             {MODULUS_BITS_MAX}, of which 3072 is usual";
        NewKeyExponent =
            "no key with this public exponent is made: ask for an odd one above 2^16 and below \
             2^256, of which 65537 is usual";
        SaltAuto =
            "Salt::Auto is for verification only: sign with Salt::Digest, Salt::Exactly or \
             Salt::Max";
        /// The environment variable that disables processor features names an unknown feature.
        Veto(message: String) = "{message}";
    }
}

texts! {
    /// An input that is refused.
    #[derive(Clone, Debug, PartialEq, Eq)]
    Rejected {
        D = "d is not below n or e*d is not 1 modulo p-1 and q-1; {DAMAGED}";
        DP = "d_p is not below p or e*d_p is not 1 modulo p-1; {DAMAGED}";
        DQ = "d_q is not below q or e*d_q is not 1 modulo q-1; {DAMAGED}";
        /// The bytes at the field are in `what`.
        Der { field: &'static str, what: String } =
            "malformed ASN.1 (DER) at {field}: {what}; {RESTORE}";
        // One text for every reason: an attacker must not learn how far a forgery came.
        DecryptionFailed =
            "the ciphertext does not decrypt: it is damaged, or made with another key, padding, \
             hash function or label";
        DigestLength { found_bytes: usize, expected_bytes: usize } =
            "the digest has {found_bytes} bytes and its hash function gives {expected_bytes}: \
             name the hash function that made the digest";
        Encrypted =
            "the private key is encrypted: decrypt it first: openssl pkey -in FILE -out PLAIN";
        EqualPrimes = "p and q are equal; {DAMAGED}";
        ExponentEven = "the public exponent e is even: {EXPONENT}";
        /// The exponent is above 2^256.
        ExponentLarge { bits: usize } = "the public exponent e has {bits} bits: {EXPONENT}";
        ExponentSmall = "the public exponent e is below 3: {EXPONENT}";
        HashBroken(hash: Hash) =
            "signatures with {hash} can be forged: sign with SHA-256; for a peer that knows \
             nothing else, pkcs1v15::encode or pss::encode_random, then private()";
        InputLength { found_bytes: usize, limit_bytes: usize } =
            "the input has {found_bytes} bytes and a key file at most {limit_bytes}: \
             is this the right file?";
        MessageLong { found_bytes: usize, limit_bytes: usize } =
            "the message has {found_bytes} bytes and the key has room for {limit_bytes}: \
             encrypt a symmetric key, and the message with that";
        /// RFC 8017 §5.1, §5.2.
        MessageRange =
            "the message representative is not below the modulus: \
             pad the message, or use a number below n";
        ModulusEven = "the modulus n is even; {DAMAGED}";
        ModulusSmall { found_bytes: usize, needed_bytes: usize } =
            "the modulus gives the padding {found_bytes} bytes and it needs {needed_bytes}: \
             use a larger key, a shorter hash function or a shorter salt";
        MultiPrime =
            "the key has more than two primes and keys of two are supported: \
             generate one with openssl genrsa 2048";
        NotDer =
            "not DER (no SEQUENCE): give the bytes of PKCS#1, PKCS#8 or SubjectPublicKeyInfo, or \
             read PEM text with from_pem";
        NotAKey =
            "neither PEM (no -----BEGIN line) nor DER (no SEQUENCE): \
             give a key file in PKCS#1, PKCS#8 or SubjectPublicKeyInfo";
        /// The file has this algorithm name and object identifier.
        NotRsa { algorithm: String } =
            "not an RSA key but one for {algorithm}: give a key of algorithm rsaEncryption";
        PemBase64 { label: String } = "wrong base64 in the PEM block {label}; {RESTORE}";
        /// A header that is not that of an encrypted key, or a blank line.
        PemHeader { label: String } =
            "the PEM block {label} has a header or a blank line, which OpenSSL does not read \
             either: remove it, so that only base64 is between the BEGIN and END lines";
        /// The last block of the file has this label.
        PemLabel { label: String, expected: Expected } =
            "found the PEM block {label} where {expected}";
        PemLine =
            "-----BEGIN is not alone in its line, so no PEM block begins: remove what is before \
             -----BEGIN LABEL----- and after it, and end lines with LF or CRLF";
        PemTruncated { label: String } =
            "the PEM block {label} is truncated: its line -----END {label}----- is missing, or \
             has other text in it; {RESTORE}";
        PemUtf16 = "the file is text in UTF-16: save it as ASCII or UTF-8";
        PrimeComposite(prime: Prime) = "{prime} is not prime; {DAMAGED}";
        PrimeEven(prime: Prime) = "the prime {prime} is even; {DAMAGED}";
        PrimeOne(prime: Prime) = "the prime {prime} is one; {DAMAGED}";
        PrimeSmall(prime: Prime) =
            "the prime {prime} is shorter than a quarter of the modulus: \
             generate a key with primes of equal length";
        PrimeZero(prime: Prime) = "the prime {prime} is zero; {DAMAGED}";
        Product = "p*q is not n; {DAMAGED}";
        QInv = "q_inv is not below p or q*q_inv is not 1 modulo p; {DAMAGED}";
        // One text for every reason: a forger must not learn how far a forgery came.
        SignatureInvalid = "the signature is not valid";
        Size { bits: usize } =
            "the modulus has {bits} bits and {MODULUS_BITS_MIN} to {MODULUS_BITS_MAX} are \
             supported: use a key of 2048, 3072 or 4096 bits";
        /// The structure is well-formed, but of another kind.
        Unexpected { found: Found, expected: Expected } = "found {found} where {expected}";
    }
}

texts! {
    /// Something outside this crate that did not answer.
    #[derive(Clone, Debug, PartialEq, Eq)]
    Unavailable {
        Primes { tried: usize } =
            "no two primes among {tried} random numbers: \
             suspect the system's random numbers, then retry";
        Random =
            "the operating system gave no random bytes: \
             check getrandom(2) and /dev/urandom, then retry";
    }
}

texts! {
    /// The half of a key that the caller asked for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Expected {
        PrivateKey =
            "an RSA private key is needed: give the file with PRIVATE KEY in its BEGIN line";
        PublicKey =
            "an RSA public key is needed: extract it with openssl pkey -in KEY -pubout \
             or openssl x509 -in CERT -pubkey -noout";
    }
}

texts! {
    /// A structure that is not the one the caller asked for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Found {
        Certificate = "a certificate or a request for one";
        /// SEC 1.
        EcPrivateKey = "an elliptic-curve private key";
        PrivateKey = "a private key";
        PublicKey = "a public key";
    }
}

texts! {
    /// One of the two primes, by its name in RFC 8017.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Prime {
        P = "p";
        Q = "q";
    }
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

impl Rejected {
    /// Returns the verdict on a signature.
    pub(crate) fn unless_valid(is_valid: bool) -> Result<(), Error> {
        if is_valid { Ok(()) } else { Err(Self::SignatureInvalid.into()) }
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

/// The smallest modulus that is accepted, in bits.
pub const MODULUS_BITS_MIN: usize = 512;

/// The largest modulus that is accepted, in bits.
pub const MODULUS_BITS_MAX: usize = 8192;

/// The length in bytes of the largest modulus, and so of the longest signature, ciphertext and
/// message.
pub const MODULUS_BYTES_MAX: usize = MODULUS_BITS_MAX / 8;

const DAMAGED: &str = "the key is damaged or was made wrongly: \
    see openssl rsa -check -noout -in FILE, then restore it or generate another";

const EXPONENT: &str = "it must be odd and from 3 to 2^256; \
    generate another key (e = 65537 is usual)";

const RESTORE: &str = "the file is damaged: restore it or export the key again";

#[cfg(test)]
mod tests {
    use super::*;

    /// Every message is one line of printable characters.
    #[test]
    fn messages_are_one_line_that_says_what_to_do() {
        let label = || String::from("PRIVATE KEY");
        let expected = Expected::PrivateKey;
        let all = [
            Error::Fault,
            Misuse::BufferLength { found_bytes: 1, expected_bytes: 2 }.into(),
            Misuse::NewKeyBits { bits: 1024, least_bits: 2048 }.into(),
            Misuse::NewKeyExponent.into(),
            Misuse::SaltAuto.into(),
            Unavailable::Primes { tried: 9 }.into(),
            Unavailable::Random.into(),
            Rejected::D.into(),
            Rejected::DP.into(),
            Rejected::DQ.into(),
            Rejected::Der { field: "modulus n", what: "negative".into() }.into(),
            Rejected::DecryptionFailed.into(),
            Rejected::DigestLength { found_bytes: 1, expected_bytes: 2 }.into(),
            Rejected::Encrypted.into(),
            Rejected::EqualPrimes.into(),
            Rejected::ExponentEven.into(),
            Rejected::ExponentLarge { bits: 257 }.into(),
            Rejected::ExponentSmall.into(),
            Rejected::HashBroken(Hash::Sha1).into(),
            Rejected::InputLength { found_bytes: 2, limit_bytes: 1 }.into(),
            Rejected::MessageLong { found_bytes: 2, limit_bytes: 1 }.into(),
            Rejected::MessageRange.into(),
            Rejected::ModulusEven.into(),
            Rejected::ModulusSmall { found_bytes: 1, needed_bytes: 2 }.into(),
            Rejected::MultiPrime.into(),
            Rejected::NotAKey.into(),
            Rejected::NotRsa { algorithm: "DSA".into() }.into(),
            Rejected::PemBase64 { label: label() }.into(),
            Rejected::PemHeader { label: label() }.into(),
            Rejected::PemLabel { label: label(), expected }.into(),
            Rejected::PemLine.into(),
            Rejected::PemTruncated { label: label() }.into(),
            Rejected::PemUtf16.into(),
            Rejected::PrimeComposite(Prime::P).into(),
            Rejected::PrimeEven(Prime::P).into(),
            Rejected::PrimeOne(Prime::Q).into(),
            Rejected::PrimeSmall(Prime::Q).into(),
            Rejected::PrimeZero(Prime::P).into(),
            Rejected::Product.into(),
            Rejected::QInv.into(),
            Rejected::Size { bits: 9000 }.into(),
            Rejected::Unexpected { found: Found::Certificate, expected }.into(),
        ];
        for error in &all {
            let text = error.to_string();
            assert!(text.chars().all(|c| matches!(c, ' '..='~')), "{text}");
            assert!(!text.contains("  "), "a line break of the source is one space: {text}");
            // the failure, then the remedy
            assert!(text.contains(": "), "{text}");
            assert!(!text.ends_with('.'), "{text}");
        }
        let texts: std::collections::BTreeSet<_> = all.iter().map(Error::to_string).collect();
        assert_eq!(texts.len(), all.len(), "each has its own text");
    }

    #[test]
    fn an_invalid_signature_is_not_explained() {
        let error = Error::from(Rejected::SignatureInvalid);
        assert_eq!(error.to_string(), "the signature is not valid");
    }
}
