//! The operations and the errors, with their numbers.

use core::fmt;

use tollgate_rsa::Hash;

/// The opcode of [`Operation::Ping`].
pub const PING: u8 = 0xf1;
/// The opcode of the answer to a ping.
pub const PONG: u8 = 0xf2;
/// The opcode of an answer with a result.
pub const RESPONSE: u8 = 0xf0;
/// The opcode of an answer with an [`ErrorCode`].
pub const REFUSAL: u8 = 0xff;

/// An operation of a signer. The payload of a signature is the digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// RSA decryption. The result has the size of the key: the message in a valid padding of PKCS#1
    /// v1.5. If the padding of the ciphertext was not valid, the message is random (implicit
    /// rejection), so that no client learns anything of the padding.
    Decrypt,
    /// Returns the payload.
    Ping,
    /// c^d mod n: no padding, so that a client can do everything with the key.
    Raw,
    /// ECDSA. The result is in DER.
    SignEcdsa(Hash),
    /// RSASSA-PKCS1-v1_5.
    SignPkcs1v15(Hash),
    /// RSASSA-PSS with MGF1 of the same hash function and a salt of its length.
    SignPss(Hash),
}

/// The operations with their opcodes and their names. Signatures with MD5 and SHA-1, and the
/// operations of a gokeyless server that need no private key, are not among them.
const ALL: [(Operation, u8, &str); 14] = [
    (Operation::Decrypt, 0x01, "decrypt"),
    (Operation::SignPkcs1v15(Hash::Sha224), 0x04, "sign-pkcs1v15-sha224"),
    (Operation::SignPkcs1v15(Hash::Sha256), 0x05, "sign-pkcs1v15-sha256"),
    (Operation::SignPkcs1v15(Hash::Sha384), 0x06, "sign-pkcs1v15-sha384"),
    (Operation::SignPkcs1v15(Hash::Sha512), 0x07, "sign-pkcs1v15-sha512"),
    (Operation::Raw, 0x08, "raw"),
    (Operation::SignEcdsa(Hash::Sha224), 0x14, "sign-ecdsa-sha224"),
    (Operation::SignEcdsa(Hash::Sha256), 0x15, "sign-ecdsa-sha256"),
    (Operation::SignEcdsa(Hash::Sha384), 0x16, "sign-ecdsa-sha384"),
    (Operation::SignEcdsa(Hash::Sha512), 0x17, "sign-ecdsa-sha512"),
    (Operation::SignPss(Hash::Sha256), 0x35, "sign-pss-sha256"),
    (Operation::SignPss(Hash::Sha384), 0x36, "sign-pss-sha384"),
    (Operation::SignPss(Hash::Sha512), 0x37, "sign-pss-sha512"),
    (Operation::Ping, PING, "ping"),
];

impl Operation {
    /// Returns the operation with this opcode.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::UnexpectedOpcode`] for the opcode of an answer, [`ErrorCode::BadOpcode`] for
    /// another one.
    pub fn from_code(code: u8) -> Result<Self, ErrorCode> {
        if let Some((operation, ..)) = ALL.iter().find(|(_, its, _)| *its == code) {
            return Ok(*operation);
        }
        Err(match code {
            PONG | RESPONSE | REFUSAL => ErrorCode::UnexpectedOpcode,
            _ => ErrorCode::BadOpcode,
        })
    }

    /// Returns the operation if it has an opcode: there is none for a signature with any other hash
    /// function than those of SHA-2.
    #[must_use]
    pub fn if_known(self) -> Option<Self> {
        ALL.iter().any(|(operation, ..)| *operation == self).then_some(self)
    }

    /// Returns the opcode.
    ///
    /// # Panics
    ///
    /// If [`if_known`](Self::if_known) returns `None`.
    #[must_use]
    pub fn code(self) -> u8 {
        self.row().1
    }

    /// Returns the name in logs, such as `sign-pss-sha256`.
    ///
    /// # Panics
    ///
    /// As [`code`](Self::code).
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> &'static (Self, u8, &'static str) {
        let row = ALL.iter().find(|(operation, ..)| *operation == self);
        row.expect("the operation has an opcode")
    }
}

/// The reason of a refusal, with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ErrorCode {
    /// The payload does not suit the key and the operation.
    Crypto = 1,
    /// No key of this name, or none that this client may use.
    KeyNotFound = 2,
    /// More operations than this client may do in the time. gokeyless has no such error, and calls
    /// this one a request that could not be read; it never sends it.
    OverRate = 3,
    /// Another version of the protocol.
    VersionMismatch = 4,
    /// An operation that the signer does not have, or that this client may not do with this key.
    BadOpcode = 5,
    /// The opcode of an answer.
    UnexpectedOpcode = 6,
    /// The frame or its items cannot be read.
    Format = 7,
    /// A failure of the signer.
    Internal = 8,
}

impl ErrorCode {
    /// All reasons with their names in logs, and what to do.
    const ALL: [(Self, &'static str, &'static str); 8] = [
        (Self::Crypto, "crypto", "the payload does not suit the key and the operation"),
        (
            Self::KeyNotFound,
            "key-not-found",
            "it has no such key for this client: check [[key]] and [[client]] of its settings",
        ),
        (
            Self::OverRate,
            "over-rate",
            "this client asks for more operations than `rate` of [[client]] in its settings allows",
        ),
        (Self::VersionMismatch, "version-mismatch", "it has another version of the protocol"),
        (
            Self::BadOpcode,
            "bad-opcode",
            "it does not allow this operation: check `allow` of [[client]] in its settings",
        ),
        (Self::UnexpectedOpcode, "unexpected-opcode", "it took the request for an answer"),
        (Self::Format, "format", "it cannot read the request"),
        (Self::Internal, "internal", "it failed: look at its messages"),
    ];

    /// Returns the reason with this number, if there is one.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.iter().map(|(code, ..)| *code).find(|code| *code as u8 == number)
    }

    /// Returns all reasons.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().map(|(code, ..)| code)
    }

    /// Returns the name in logs, such as `key-not-found`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }

    fn row(self) -> &'static (Self, &'static str, &'static str) {
        Self::ALL.iter().find(|(code, ..)| *code == self).expect("every code has a row")
    }
}

impl fmt::Display for ErrorCode {
    /// Says what the signer answered.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_operations_and_errors() {
        for code in 0..=u8::MAX {
            match Operation::from_code(code) {
                Ok(operation) => assert_eq!(operation.code(), code),
                Err(ErrorCode::UnexpectedOpcode) => assert!([0xf0, 0xf2, 0xff].contains(&code)),
                Err(why) => assert_eq!(why, ErrorCode::BadOpcode),
            }
            if let Some(why) = ErrorCode::from_number(code) {
                assert_eq!(why as u8, code);
            }
        }
        // MD5-SHA1 and SHA-1 of RSA and ECDSA; a certificate, seal, unseal and RPC of gokeyless
        for code in [0x02, 0x03, 0x12, 0x13, 0x20, 0x21, 0x22, 0x23] {
            assert_eq!(Operation::from_code(code), Err(ErrorCode::BadOpcode));
        }
        assert_eq!(Operation::SignPss(Hash::Sha1).if_known(), None);
        assert_eq!(ErrorCode::all().count(), 8);
    }
}
