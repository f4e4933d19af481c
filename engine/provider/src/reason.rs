//! Reasons of failed calls: their numbers in OpenSSL's error queue, and their texts.
#![forbid(unsafe_code)]

use tollgate_curves::LowOrder;
use tollgate_curves::p256::{Fault, InvalidSecret};
use tollgate_rsa::{Error, Rejected};

use crate::abi::OSSL_ITEM;
use crate::table::Table;

macro_rules! reasons {
    ($($reason:ident = $id:literal, $text:literal;)*) => {
        /// A reason, with its number within this provider.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Reason {
            $(#[doc = stringify!($text)] $reason = $id,)*
        }

        /// The result of `OSSL_FUNC_PROVIDER_GET_REASON_STRINGS`.
        pub(crate) static REASONS: Table<[OSSL_ITEM; reasons!(@count $($id)*)]> =
            Table::of_items([$(($id, $text),)* (0, c"")]);
    };
    (@count $($id:literal)*) => { [$($id,)* 0].len() };
}

reasons! {
    BufferSmall = 1, c"the output buffer is too small: ask for the length with no buffer first";
    CiphertextLength = 2, c"the ciphertext is empty, or longer than the modulus: \
        is it for another key?";
    DigestLength = 3, c"the length of the digest does not match its hash function";
    DigestLocked = 4, c"a running digest operation keeps its digest: set it at init";
    DigestMissing = 5, c"no digest was set: name one at init";
    DigestUnsupported = 6, c"unsupported digest for this operation: use another one, \
        or fetch with -provider=tollgate to use another provider";
    EcGroup = 39, c"key refused: its curve is not the named curve P-256";
    Fault = 7, c"the check after the private operation failed and nothing was released: \
        test this machine's memory and processor";
    KemCiphertext = 49, c"the ciphertext has another length than the mechanism states";
    KemKey = 50, c"key refused: not a valid key of ML-KEM-768 or X25519MLKEM768";
    KemLocked = 51, c"the key has a value already: set the public key in a new one";
    KemSeed = 52, c"the random input has another length than the mechanism states";
    KeyExponent = 27, c"key refused: its public exponent is even, below 3 or above 2^256";
    KeyIncomplete = 8, c"key refused: a private key needs n, e, d, both primes and the CRT numbers";
    KeyInconsistent = 9, c"key refused: its numbers are inconsistent";
    KeyMissing = 10, c"no key was set: initialize with a key first";
    KeyMultiPrime = 11, c"key refused: more than two primes";
    KeyNotPrivate = 12, c"the key has no private half";
    KeySize = 13, c"key refused: the size of an RSA key must be 1024 to 8192 bits";
    MessageLong = 14, c"the message is too long for the key and its padding";
    MessageRange = 15, c"the number is not below the modulus, or has another length";
    NewKeyPrimes = 31, c"a new key must have two primes: fetch with -provider=tollgate for others";
    NewKeySize = 32, c"a new key must have an even number of bits from 1024 to 8192: \
        fetch with -provider=tollgate to make another";
    NonceType = 41, c"nonce-type must be 0, or 1 (RFC 6979) with a digest";
    NotRunning = 16, c"no digest operation is running: initialize one first";
    PaddingCheck = 17, c"the decrypted padding is not valid";
    PaddingUnsupported = 18, c"unsupported padding for this operation";
    Panic = 19, c"a bug in the provider: please report it";
    Parameter = 20, c"a parameter has the wrong type, size or value";
    PeerLowOrder = 34, c"the peer's public key has a low order: end the handshake";
    PeerMissing = 35, c"no peer was set: set the peer's public key first";
    Random = 21, c"the operating system returned no random bytes: check getrandom(2)";
    Remote = 45, c"the signer did not complete the operation";
    RemoteUnsupported = 46, c"the signer has no such operation: use PKCS#1 v1.5, PSS with a salt \
        of the digest's length, or ECDSA, with SHA-2, or decrypt PKCS#1 v1.5";
    Said = 47, c"the error before this one names the cause";
    SaltLength = 22, c"the salt length is not supported, or does not fit the key";
    SelfTest = 23, c"the self test failed: this provider refuses all keys";
    SelfTestMlKem = 53, c"the known-answer test of ML-KEM-768 failed: \
        test this machine's memory and processor";
    SelfTestP256 = 42, c"the known-answer test of ECDSA with P-256 failed: \
        test this machine's memory and processor";
    SelfTestRsa = 43, c"the known-answer test of RSA failed: \
        test this machine's memory and processor";
    SelfTestX25519 = 44, c"the known-answer test of X25519 failed: \
        test this machine's memory and processor";
    Setting = 28, c"a setting has a value that is not allowed";
    SignatureEncoding = 48, c"the signature is not DER of two positive numbers";
    SignatureInvalid = 24, c"the signature is not valid";
    TlsVersion = 25, c"TLS padding requires the client's version: set tls-client-version";
    X25519Group = 36, c"the group of an X25519 key must be x25519";
    X25519Key = 37, c"key refused: an X25519 key needs pub or priv, of 32 bytes each";
    X25519Seed = 38, c"the input of a DHKEM key must have 32 bytes or more";
    Veto = 26, c"TOLLGATE_CPU_DISABLE names an unknown processor feature";
}

impl From<Fault> for Reason {
    fn from(_: Fault) -> Self {
        Self::Fault
    }
}

impl From<LowOrder> for Reason {
    fn from(_: LowOrder) -> Self {
        Self::PeerLowOrder
    }
}

impl From<InvalidSecret> for Reason {
    fn from(_: InvalidSecret) -> Self {
        Self::KeyInconsistent
    }
}

impl From<Error> for Reason {
    fn from(error: Error) -> Self {
        match error {
            Error::Fault => Self::Fault,
            Error::Unavailable(_) => Self::Random,
            Error::Rejected(rejected) => match rejected {
                Rejected::DecryptionFailed => Self::PaddingCheck,
                Rejected::DigestLength { .. } => Self::DigestLength,
                Rejected::ExponentEven
                | Rejected::ExponentLarge { .. }
                | Rejected::ExponentSmall => Self::KeyExponent,
                Rejected::MessageRange => Self::MessageRange,
                Rejected::MessageLong { .. } | Rejected::ModulusSmall { .. } => Self::MessageLong,
                Rejected::MultiPrime => Self::KeyMultiPrime,
                Rejected::SignatureInvalid => Self::SignatureInvalid,
                Rejected::Size { .. } => Self::KeySize,
                _ => Self::KeyInconsistent,
            },
            // The provider checks buffers and salts before the operation.
            Error::Misuse(_) => Self::Panic,
        }
    }
}
