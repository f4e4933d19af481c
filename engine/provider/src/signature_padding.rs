//! Paddings and salt lengths as parameters name them, and the content of EMSA-PKCS1-v1_5.
#![forbid(unsafe_code)]

use core::ffi::CStr;

use tollgate_rsa::{Hash, Pss, Salt};

use crate::params::{Answers, Choices, Param};
use crate::reason::Reason;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Padding {
    /// No padding: the raw operation.
    Raw,
    /// RSASSA-PKCS1-v1_5.
    Pkcs1,
    /// RSASSA-PSS.
    Pss,
    /// X9.31.
    X931,
}

/// The length of a PSS salt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SaltLength {
    /// A signer uses the longest salt that fits; a verifier accepts any salt.
    Auto,
    /// A signer uses the longest salt that fits, up to the digest's length; a verifier accepts any
    /// salt.
    AutoDigestMax,
    /// The salt is as long as the digest.
    Digest,
    /// The salt has this many bytes.
    Exactly(usize),
    /// The salt is the longest that fits.
    Max,
}

/// The paddings with their numbers (`RSA_PKCS1_PADDING`...) and names.
pub(crate) const PADDINGS: &Choices<Padding> = &[
    (Padding::Pkcs1, 1, c"pkcs1"),
    (Padding::Raw, 3, c"none"),
    (Padding::X931, 5, c"x931"),
    (Padding::Pss, 6, c"pss"),
];

/// The rules for salt lengths with their numbers (`RSA_PSS_SALTLEN_DIGEST`...) and names.
const SALT_RULES: &Choices<SaltLength> = &[
    (SaltLength::Digest, -1, c"digest"),
    (SaltLength::Auto, -2, c"auto"),
    (SaltLength::Max, -3, c"max"),
    (SaltLength::AutoDigestMax, -4, c"auto-digestmax"),
];

impl SaltLength {
    /// Returns the default salt length of a release of OpenSSL. In 3.0 it is the longest salt that
    /// fits. From 3.1 on, and for an unknown release, it is the longest salt up to the digest's
    /// length.
    pub(crate) fn of_release(version: Option<&CStr>) -> Self {
        match version {
            Some(version) if version.to_bytes().starts_with(b"3.0.") => Self::Auto,
            _ => Self::AutoDigestMax,
        }
    }

    /// Reads a salt length: the number or name of a rule, or a number of bytes. The number may also
    /// be given as text; OpenSSL reads its leading digits, so another text is 0.
    pub(crate) fn from_param(param: Param<'_>) -> Result<Self, Reason> {
        if let Ok(Some(rule)) = param.choice(SALT_RULES) {
            return Ok(rule);
        }
        let number = param.text().map(leading_number).or(param.integer());
        let number = number.ok_or(Reason::SaltLength)?;
        let rule = SALT_RULES.iter().find(|(_, known, _)| *known == number);
        let length = || usize::try_from(number).map(Self::Exactly).map_err(|_| Reason::SaltLength);
        rule.map_or_else(length, |(rule, ..)| Ok(*rule))
    }

    /// Writes the length as [`Self::from_param`] reads it.
    pub(crate) fn answer(self, key: &CStr, answers: &mut Answers<'_>) -> Result<(), Reason> {
        match self {
            Self::Exactly(len) => {
                answers.integer_or_text(key, i64::try_from(len).unwrap_or(i64::MAX))
            }
            rule => answers.choice(key, &rule, SALT_RULES),
        }
    }

    /// Returns the length of the salt in bytes for a modulus of `bits` bits. Refuses a salt that
    /// does not fit into the encoding.
    pub(crate) fn to_sign(self, bits: usize, hash: Hash) -> Result<usize, Reason> {
        let salt = match self {
            Self::Auto | Self::AutoDigestMax | Self::Max => Salt::Max,
            Self::Digest => Salt::Digest,
            Self::Exactly(len) => Salt::Exactly(len),
        };
        let pss = Pss::new(hash).with_salt(salt);
        let len = pss.salt_len_to_sign(bits).map_err(|_| Reason::SaltLength)?;
        let longest = if self == Self::AutoDigestMax { hash.len() } else { len };
        Ok(len.min(longest))
    }

    pub(crate) fn to_verify(self) -> Salt {
        match self {
            Self::Auto | Self::AutoDigestMax => Salt::Auto,
            Self::Digest => Salt::Digest,
            Self::Exactly(len) => Salt::Exactly(len),
            Self::Max => Salt::Max,
        }
    }
}

/// Returns the number at the beginning of a text, and 0 if there is none, as `atoi` does.
fn leading_number(text: &str) -> i64 {
    let text = text.trim_start_matches([' ', '\t']);
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    text[..text.len() - digits.len() + end].parse().unwrap_or(0)
}

/// Returns the content of `00 01 FF..FF 00 content`. Variable time: a signature is public.
pub(crate) fn decode(em: &[u8]) -> Option<&[u8]> {
    let rest = em.strip_prefix(&[0x00, 0x01])?;
    let ps_len = rest.iter().position(|&byte| byte != 0xff).filter(|&len| len >= 8)?;
    rest[ps_len..].strip_prefix(&[0x00])
}

/// Returns the digest in the content of an EMSA-PKCS1-v1_5 encoding, if the content is for `md`.
pub(crate) fn digest_in(content: &[u8], md: Hash) -> Option<&[u8]> {
    let digest = content.strip_prefix(md.digest_info_prefix());
    let wrapped = || content.strip_prefix(MDC2_DIGEST_INFO).filter(|_| md == Hash::Mdc2);
    let has_length = |digest: &&[u8]| digest.len() == md.len();
    digest.filter(has_length).or_else(|| wrapped().filter(has_length))
}

/// The `DigestInfo` of MDC-2 up to the digest. OpenSSL verifies it, but signs an `OCTET STRING`.
pub(crate) const MDC2_DIGEST_INFO: &[u8] =
    &[0x30, 0x1c, 0x30, 0x08, 0x06, 0x04, 0x55, 0x08, 0x03, 0x65, 0x05, 0x00, 0x04, 0x10];

#[cfg(test)]
mod tests {
    use tollgate_rsa::pkcs1v15;

    use super::*;

    #[test]
    fn decode_inverts_encode_and_requires_eight_bytes_of_padding() {
        let mut em = [0; 128];
        for len in [0, 1, 36, 117] {
            assert_eq!(pkcs1v15::encode_raw(&mut em, &vec![7; len]), Ok(()));
            assert_eq!(decode(&em), Some(&vec![7; len][..]));
        }
        assert_eq!(pkcs1v15::encode_raw(&mut em, b"content!"), Ok(()));
        for at in [0, 1, 2, 9, 119] {
            let mut bad = em;
            bad[at] ^= 1;
            assert_eq!(decode(&bad), None, "byte {at}");
        }
        assert_eq!(decode(&[0, 1, 255, 255, 255, 255, 255, 255, 255, 0, 7]), None, "seven bytes");
        assert_eq!(decode(&[0, 1]), None);
        assert_eq!(decode(&[]), None);
    }

    #[test]
    fn default_salt_lengths_of_releases() {
        for (version, expected) in [
            (Some(c"3.0.19"), SaltLength::Auto),
            (Some(c"3.1.0"), SaltLength::AutoDigestMax),
            (Some(c"3.5.7"), SaltLength::AutoDigestMax),
            (Some(c"4.0.0"), SaltLength::AutoDigestMax),
            (None, SaltLength::AutoDigestMax),
        ] {
            assert_eq!(SaltLength::of_release(version), expected, "{version:?}");
        }
    }

    #[test]
    fn texts_are_read_as_atoi_does() {
        for (text, expected) in [
            ("32", 32),
            (" +32", 32),
            ("-1", -1),
            ("32 bytes", 32),
            ("", 0),
            ("-", 0),
            ("long", 0),
            ("99999999999999999999", 0),
        ] {
            assert_eq!(leading_number(text), expected, "{text}");
        }
    }

    #[test]
    fn salt_lengths_to_sign() {
        let hash = Hash::Sha256;
        for (salt, expected) in [
            (SaltLength::Auto, Ok(222)), // 256 - 32 - 2
            (SaltLength::Max, Ok(222)),
            (SaltLength::AutoDigestMax, Ok(32)),
            (SaltLength::Digest, Ok(32)),
            (SaltLength::Exactly(222), Ok(222)),
            (SaltLength::Exactly(223), Err(Reason::SaltLength)),
        ] {
            assert_eq!(salt.to_sign(2048, hash), expected, "{salt:?}");
        }
        // 64 - 32 - 2 bytes are left for the salt, fewer than the digest has.
        assert_eq!(SaltLength::AutoDigestMax.to_sign(512, hash), Ok(30));
        assert_eq!(SaltLength::Digest.to_sign(512, hash), Err(Reason::SaltLength));
    }
}
