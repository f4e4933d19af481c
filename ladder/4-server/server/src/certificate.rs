//! The certificate and its key: from files, or generated for tests and measurements.

use core::fmt;

use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509NameBuilder};
use zeroize::Zeroizing;

use crate::error::{Error, one_line};
use crate::kinds::KeyKind;

/// The source of a server's certificate and key.
#[derive(Clone)]
pub enum Certificate {
    /// PEM texts.
    Pem {
        /// The chain, the server's certificate first.
        chain: Vec<u8>,
        /// The private key, unencrypted.
        key: Zeroizing<Vec<u8>>,
    },
    /// Generated at start: a new key, and a self-signed certificate for localhost, 127.0.0.1 and
    /// `::1`. For tests and measurements.
    SelfSigned(KeyKind),
}

impl Default for Certificate {
    fn default() -> Self {
        Self::SelfSigned(KeyKind::Rsa { bits: 2048 })
    }
}

impl Certificate {
    /// Reads or generates the certificate, checks it, and returns it as texts, so that several
    /// servers can share it.
    ///
    /// # Errors
    ///
    /// As [`Server::start`](crate::Server::start).
    pub fn to_pem(&self) -> Result<Self, Error> {
        let credentials = Credentials::load(self)?;
        let key = PKey::private_key_from_der(&credentials.key)
            .and_then(|key| key.private_key_to_pem_pkcs8())
            .map_err(Error::openssl("writing the key"))?;
        Ok(Self::Pem { chain: credentials.chain_pem()?, key: Zeroizing::new(key) })
    }
}

/// Omits the key.
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pem { .. } => f.write_str("Pem"),
            Self::SelfSigned(kind) => write!(f, "SelfSigned({kind})"),
        }
    }
}

/// A chain and a matching key.
pub(crate) struct Credentials {
    /// The server's certificate first.
    pub(crate) chain: Vec<X509>,
    /// The private key in DER. Each worker decodes it into its own library context.
    pub(crate) key: Zeroizing<Vec<u8>>,
    pub(crate) kind: KeyKind,
}

impl Credentials {
    /// Reads or generates the credentials. A key of 4096 bits may take seconds to generate.
    pub(crate) fn load(certificate: &Certificate) -> Result<Self, Error> {
        match certificate {
            Certificate::Pem { chain, key } => Self::parse(chain, key),
            Certificate::SelfSigned(kind) => self_signed(*kind),
        }
    }

    fn parse(chain: &[u8], key: &[u8]) -> Result<Self, Error> {
        let unusable_certificate = |why: &str| {
            Error::new(format!(
                "no usable certificate: {why}: give PEM, the server's certificate first"
            ))
        };
        let broken = |stack: ErrorStack| unusable_certificate(&one_line(&stack));
        let chain = X509::stack_from_pem(chain).map_err(broken)?;
        let none = || unusable_certificate("no PEM block of a certificate in it");
        let public = chain.first().ok_or_else(none)?.public_key().map_err(broken)?;
        let mut encrypted = false;
        // Without a callback, OpenSSL prompts for a passphrase on the terminal.
        let key = PKey::private_key_from_pem_callback(key, |_| {
            encrypted = true;
            Err(ErrorStack::get())
        });
        if encrypted {
            return Err(unusable_key("it is encrypted"));
        }
        let key = key.map_err(|stack| unusable_key(&one_line(&stack)))?;
        if !public.public_eq(&key) {
            return Err(Error::new(
                "the private key does not match the certificate: give a matching pair",
            ));
        }
        let kind =
            KeyKind::new(&key).ok_or_else(|| unusable_key("its type or curve is not supported"))?;
        Self::new(chain, &key, kind).map_err(Error::openssl("writing the key"))
    }

    fn new(chain: Vec<X509>, key: &PKey<Private>, kind: KeyKind) -> Result<Self, ErrorStack> {
        let key = Zeroizing::new(key.private_key_to_der()?);
        Ok(Self { chain, key, kind })
    }

    /// Returns the chain in PEM, for clients that should trust it.
    pub(crate) fn chain_pem(&self) -> Result<Vec<u8>, Error> {
        let mut pem = Vec::new();
        for certificate in &self.chain {
            let block = certificate.to_pem();
            pem.extend(block.map_err(Error::openssl("writing the certificate"))?);
        }
        Ok(pem)
    }
}

pub(crate) fn unusable_key(why: &str) -> Error {
    Error::new(format!(
        "no usable private key: {why}: give an unencrypted PEM key: RSA, ECDSA on P-256 or P-384, \
         or Ed25519"
    ))
}

fn self_signed(kind: KeyKind) -> Result<Credentials, Error> {
    if !KeyKind::SELF_SIGNED.contains(&kind) && kind != KeyKind::OF_2001 {
        let kinds = KeyKind::SELF_SIGNED.map(|kind| kind.to_string());
        return Err(unusable_key(&format!("self-signed keys are of {kinds:?} only")));
    }
    let make = || {
        let key = match kind {
            KeyKind::EcdsaP256 => make_ec_key(Nid::X9_62_PRIME256V1)?,
            KeyKind::EcdsaP384 => make_ec_key(Nid::SECP384R1)?,
            KeyKind::Ed25519 => PKey::generate_ed25519()?,
            KeyKind::Rsa { bits } => PKey::from_rsa(Rsa::generate(bits)?)?,
        };
        Credentials::new(vec![make_certificate(&key, kind)?], &key, kind)
    };
    make().map_err(Error::openssl("making a certificate"))
}

fn make_ec_key(curve: Nid) -> Result<PKey<Private>, ErrorStack> {
    let group = EcGroup::from_curve_name(curve)?;
    PKey::from_ec_key(EcKey::generate(&group)?)
}

fn make_certificate(key: &PKey<Private>, kind: KeyKind) -> Result<X509, ErrorStack> {
    let mut name = X509NameBuilder::new()?;
    name.append_entry_by_nid(Nid::COMMONNAME, "localhost")?;
    let name = name.build();
    let mut serial = BigNum::new()?;
    // Positive and of at most 20 bytes: RFC 5280 §4.1.2.2.
    serial.rand(127, MsbOption::MAYBE_ZERO, false)?;

    let mut builder = X509::builder()?;
    builder.set_version(2)?; // X.509 v3 counts from zero
    builder.set_serial_number(serial.to_asn1_integer()?.as_ref())?;
    builder.set_subject_name(&name)?;
    builder.set_issuer_name(&name)?;
    builder.set_not_before(Asn1Time::days_from_now(0)?.as_ref())?;
    builder.set_not_after(Asn1Time::days_from_now(30)?.as_ref())?;
    builder.set_pubkey(key)?;
    builder.append_extension(BasicConstraints::new().critical().ca().build()?)?;
    let names = SubjectAlternativeName::new()
        .dns("localhost")
        .ip("127.0.0.1")
        .ip("::1")
        .build(&builder.x509v3_context(None, None))?;
    builder.append_extension(names)?;
    let digest = match kind {
        KeyKind::EcdsaP256 | KeyKind::Rsa { .. } => MessageDigest::sha256(),
        KeyKind::EcdsaP384 => MessageDigest::sha384(),
        KeyKind::Ed25519 => MessageDigest::null(),
    };
    builder.sign(key, digest)?;
    Ok(builder.build())
}
