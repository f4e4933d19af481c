//! The server's leaf certificate. Only its key is used. Chain, names and dates are not checked.

use std::sync::OnceLock;

use aws_lc_rs::signature::ParsedPublicKey;
use der::asn1::AnyRef;
use der::{Decode, Reader as _, SliceReader, Tag, TagNumber, Tagged};
use zeroize::Zeroizing;

use crate::decode::Reader;
use crate::encrypting::EncryptingKey;
use crate::error::Violation;
pub(crate) use crate::public_key::PublicKey;
use crate::registry::SignatureScheme;
use crate::wire::Message;

/// A leaf certificate and its key, prepared for repeated handshakes.
#[derive(Debug)]
pub(crate) struct Leaf {
    pub(crate) der: Box<[u8]>,
    /// The DER of the `SubjectPublicKeyInfo`.
    pub(crate) spki: Box<[u8]>,
    pub(crate) key: PublicKey,
    /// The key for encryption; `None` if the key is not RSA or has an unsupported size.
    encrypting: Option<EncryptingKey>,
    /// The key for verification with each scheme, in the order of [`SignatureScheme::ALL`].
    verifying: [OnceLock<ParsedPublicKey>; SignatureScheme::ALL.len()],
    reused: OnceLock<Premaster>,
}

impl Leaf {
    pub(crate) fn read(certificate: &[u8]) -> Result<Self, Violation> {
        let spki = spki(certificate).map_err(|_| Violation::Certificate)?;
        Ok(Self {
            der: certificate.into(),
            spki: spki.into(),
            key: PublicKey::read(spki)?,
            encrypting: EncryptingKey::read(spki),
            verifying: [const { OnceLock::new() }; SignatureScheme::ALL.len()],
            reused: OnceLock::new(),
        })
    }

    /// Verifies a signature over `message`, which this function hashes.
    pub(crate) fn verify(
        &self,
        scheme: SignatureScheme,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Violation> {
        let algorithm = self.key.algorithm(scheme)?;
        let slot = &self.verifying[scheme as usize];
        let key = match slot.get() {
            Some(key) => key,
            None => {
                let key = ParsedPublicKey::new(algorithm, &self.spki)
                    .map_err(|_| Violation::Certificate)?;
                slot.get_or_init(|| key)
            }
        };
        key.verify_sig(message, signature).map_err(|_| Violation::BadSignature)
    }

    /// Appends a premaster secret, encrypted to this key, to `out`.
    pub(crate) fn encrypt(&self, premaster: &[u8; 48], out: &mut Vec<u8>) -> Result<(), Violation> {
        let unfit = self.key.unfit();
        let key = self.encrypting.as_ref().ok_or(unfit)?;
        key.encrypt(premaster, out).ok_or(unfit)
    }

    /// Returns the reused premaster secret for this key: the `premaster` of the first call.
    pub(crate) fn reused(&self, premaster: &[u8; 48]) -> Result<&Premaster, Violation> {
        match self.reused.get() {
            Some(premaster) => Ok(premaster),
            None => {
                let mut ciphertext = Vec::new();
                self.encrypt(premaster, &mut ciphertext)?;
                let secret = Zeroizing::new(*premaster);
                Ok(self.reused.get_or_init(|| Premaster { secret, ciphertext }))
            }
        }
    }
}

/// A premaster secret and its encryption to the server's key.
#[derive(Debug)]
pub(crate) struct Premaster {
    pub(crate) secret: Zeroizing<[u8; 48]>,
    pub(crate) ciphertext: Vec<u8>,
}

/// Returns the `SubjectPublicKeyInfo` of a certificate (RFC 5280 §4.1). It is the seventh field of
/// the signed part, or the sixth in a certificate of version 1.
pub(crate) fn spki(certificate: &[u8]) -> Result<&[u8], der::Error> {
    let certificate = AnyRef::from_der(certificate)?;
    certificate.tag().assert_eq(Tag::Sequence)?;
    let mut fields = SliceReader::new(certificate.value())?;
    let signed = AnyRef::decode(&mut fields)?;
    signed.tag().assert_eq(Tag::Sequence)?;
    let mut fields = SliceReader::new(signed.value())?;
    let version = Tag::ContextSpecific { constructed: true, number: TagNumber(0) };
    if Tag::peek(&fields)? == version {
        AnyRef::decode(&mut fields)?;
    }
    // serial number, signature algorithm, issuer, validity, subject
    for tag in [Tag::Integer, Tag::Sequence, Tag::Sequence, Tag::Sequence, Tag::Sequence] {
        AnyRef::decode(&mut fields)?.tag().assert_eq(tag)?;
    }
    fields.tlv_bytes()
}

/// Returns the leaf of a Certificate message of TLS 1.2 (RFC 5246 §7.4.2).
pub(crate) fn leaf_tls12(body: &[u8]) -> Result<&[u8], Violation> {
    let mut r = Reader::new(Message::CERTIFICATE, body);
    let mut list = r.vector(3, "certificate_list")?;
    r.end("trailing bytes")?;
    leaf(&mut list, |_| Ok(()))
}

/// Returns the leaf of a Certificate message of TLS 1.3 (RFC 8446 §4.4.2).
pub(crate) fn leaf_tls13(body: &[u8]) -> Result<&[u8], Violation> {
    let mut r = Reader::new(Message::CERTIFICATE, body);
    r.vector(1, "certificate_request_context")?.end("certificate_request_context")?;
    let mut list = r.vector(3, "certificate_list")?;
    r.end("trailing bytes")?;
    // the client does not offer status_request or SCT, but some servers send them anyway
    leaf(&mut list, |entry| entry.vector(2, "extensions").map(drop))
}

fn leaf<'a>(
    list: &mut Reader<'a>,
    after: impl Fn(&mut Reader<'a>) -> Result<(), Violation>,
) -> Result<&'a [u8], Violation> {
    let mut first = None;
    while !list.is_empty() {
        let certificate = list.vector(3, "certificate")?.rest();
        after(list)?;
        first.get_or_insert(certificate);
    }
    first.ok_or(Violation::NoCertificate)
}
