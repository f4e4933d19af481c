//! Paddings and salt lengths as parameters name them, and the content of EMSA-PKCS1-v1_5.
#![forbid(unsafe_code)]

use core::ffi::CStr;

use tollgate_rsa::{Hash, Salt};

use crate::params::Param;
use crate::reason::Reason;

/// A padding for signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Padding {
    /// None: the raw operation.
    Raw,
    /// RSASSA-PKCS1-v1_5.
    Pkcs1,
    /// RSASSA-PSS.
    Pss,
    /// X9.31.
    X931,
}

/// The length of a PSS salt (OpenSSL's `RSA_PSS_SALTLEN_`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SaltLength {
    /// -2: to sign, the maximum; to verify, any.
    Auto,
    /// -4: to sign, the maximum up to the digest's length; to verify, any.
    AutoDigestMax,
    /// -1: the digest's length.
    Digest,
    /// This many bytes.
    Exactly(usize),
    /// -3: the maximum.
    Max,
}

impl Padding {
    /// Reads a padding by number (`RSA_PKCS1_PADDING`...) or name.
    ///
    /// # Errors
    ///
    /// [`Reason::PaddingUnsupported`], [`Reason::Parameter`].
    pub(crate) fn from_param(param: Param<'_>) -> Result<Self, Reason> {
        match (param.integer(), param.text()) {
            (Some(1), _) | (_, Some("pkcs1")) => Ok(Self::Pkcs1),
            (Some(3), _) | (_, Some("none")) => Ok(Self::Raw),
            (Some(5), _) | (_, Some("x931")) => Ok(Self::X931),
            (Some(6), _) | (_, Some("pss")) => Ok(Self::Pss),
            (None, None) => Err(Reason::Parameter),
            _ => Err(Reason::PaddingUnsupported),
        }
    }

    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Raw => 3,
            Self::Pkcs1 => 1,
            Self::Pss => 6,
            Self::X931 => 5,
        }
    }

    pub(crate) fn name(self) -> &'static CStr {
        match self {
            Self::Raw => c"none",
            Self::Pkcs1 => c"pkcs1",
            Self::Pss => c"pss",
            Self::X931 => c"x931",
        }
    }
}

impl SaltLength {
    /// Returns the default of a release of OpenSSL: the maximum in 3.0; from 3.1 on, and for an
    /// unknown release, up to the digest's length.
    pub(crate) fn of_release(version: Option<&CStr>) -> Self {
        match version {
            Some(version) if version.to_bytes().starts_with(b"3.0.") => Self::Auto,
            _ => Self::AutoDigestMax,
        }
    }

    /// Reads a length by number or name.
    ///
    /// # Errors
    ///
    /// [`Reason::SaltLength`].
    pub(crate) fn from_param(param: Param<'_>) -> Result<Self, Reason> {
        let number = match param.text() {
            Some("digest") => Some(-1),
            Some("auto") => Some(-2),
            Some("max") => Some(-3),
            Some("auto-digestmax") => Some(-4),
            Some(text) => text.parse().ok(),
            None => param.integer(),
        };
        match number.ok_or(Reason::SaltLength)? {
            -1 => Ok(Self::Digest),
            -2 => Ok(Self::Auto),
            -3 => Ok(Self::Max),
            -4 => Ok(Self::AutoDigestMax),
            number => usize::try_from(number).map(Self::Exactly).map_err(|_| Reason::SaltLength),
        }
    }

    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Auto => -2,
            Self::AutoDigestMax => -4,
            Self::Digest => -1,
            Self::Exactly(len) => i64::try_from(len).unwrap_or(i64::MAX),
            Self::Max => -3,
        }
    }

    /// Returns the name, unless it is a number.
    pub(crate) fn name(self) -> Option<&'static CStr> {
        match self {
            Self::Auto => Some(c"auto"),
            Self::AutoDigestMax => Some(c"auto-digestmax"),
            Self::Digest => Some(c"digest"),
            Self::Exactly(_) => None,
            Self::Max => Some(c"max"),
        }
    }

    /// Returns the length of the salt in bytes for a modulus of `bits` bits.
    ///
    /// # Errors
    ///
    /// [`Reason::SaltLength`] if it does not fit.
    pub(crate) fn to_sign(self, bits: usize, hash: Hash) -> Result<usize, Reason> {
        let salt = match self {
            Self::Auto | Self::AutoDigestMax | Self::Max => Salt::Max,
            Self::Digest => Salt::Digest,
            Self::Exactly(len) => Salt::Exactly(len),
        };
        let len = salt.len_to_sign(bits, hash).map_err(|_| Reason::SaltLength)?;
        let longest = if self == Self::AutoDigestMax { hash.len() } else { len };
        Ok(len.min(longest))
    }

    /// Returns the length that a verifier requires.
    pub(crate) fn to_verify(self) -> Salt {
        match self {
            Self::Auto | Self::AutoDigestMax => Salt::Auto,
            Self::Digest => Salt::Digest,
            Self::Exactly(len) => Salt::Exactly(len),
            Self::Max => Salt::Max,
        }
    }
}

/// Returns the content of `00 01 FF..FF 00 content`. Variable time: a signature is public.
pub(crate) fn decode(em: &[u8]) -> Option<&[u8]> {
    let rest = em.strip_prefix(&[0x00, 0x01])?;
    let ps_len = rest.iter().position(|&byte| byte != 0xff).filter(|&len| len >= 8)?;
    rest[ps_len..].strip_prefix(&[0x00])
}

/// The digest in the content of an EMSA-PKCS1-v1_5 encoding, if `md` made it.
pub(crate) fn digest_in(content: &[u8], md: Hash) -> Option<&[u8]> {
    let digest = content.strip_prefix(md.digest_info_prefix());
    let wrapped = || content.strip_prefix(MDC2_DIGEST_INFO).filter(|_| md == Hash::Mdc2);
    let has_length = |digest: &&[u8]| digest.len() == md.len();
    digest.filter(has_length).or_else(|| wrapped().filter(has_length))
}

/// `DigestInfo` of MDC-2 up to the digest: OpenSSL verifies it, but signs an `OCTET STRING`.
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
        // 64 - 32 - 2 bytes are left for the salt: less than the digest
        assert_eq!(SaltLength::AutoDigestMax.to_sign(512, hash), Ok(30));
        assert_eq!(SaltLength::Digest.to_sign(512, hash), Err(Reason::SaltLength));
    }
}
