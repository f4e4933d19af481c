//! The certificate and its key: from files, or generated for tests and measurements.

use core::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::ssl::{SslContextBuilder, SslVerifyMode};
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509NameBuilder, X509Ref};
use zeroize::Zeroizing;

use crate::error::{Error, Rejected, Unavailable, one_line};
use crate::kinds::KeyKind;

/// The longest PEM file that is read, in bytes.
const PEM_BYTES_MAX: usize = 1024 * 1024;

/// The source of a server's certificate and key.
#[derive(Clone)]
pub enum Certificate {
    /// Two files in PEM: the chain with the server's certificate first, and the private key.
    Files {
        /// The chain.
        chain: PathBuf,
        /// The private key, unencrypted.
        key: PathBuf,
    },
    /// The contents of these files.
    Pem {
        /// The chain.
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
            .map_err(Unavailable::openssl("writing the key"))?;
        Ok(Self::Pem { chain: credentials.chain_pem()?, key: Zeroizing::new(key) })
    }
}

/// Omits the key.
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files { chain, key } => {
                write!(f, "Files({}, {})", chain.display(), key.display())
            }
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
    /// The files, for messages.
    files: Option<Files>,
}

struct Files {
    chain: PathBuf,
    key: PathBuf,
}

impl Credentials {
    /// Reads or generates the credentials. A key of 4096 bits may take seconds to generate.
    pub(crate) fn load(certificate: &Certificate) -> Result<Self, Error> {
        match certificate {
            Certificate::Files { chain, key } => {
                let files = Files { chain: chain.clone(), key: key.clone() };
                let (chain, key) = (read("the certificate", chain)?, read("the private key", key)?);
                let parsed = Self::parse(&chain, &key).map_err(|why| files.name(why))?;
                Ok(Self { files: Some(files), ..parsed })
            }
            Certificate::Pem { chain, key } => Self::parse(chain, key),
            Certificate::SelfSigned(kind) => self_signed(*kind),
        }
    }

    fn parse(chain: &[u8], key: &[u8]) -> Result<Self, Error> {
        let broken = |stack: ErrorStack| Rejected::Certificate(one_line(&stack));
        let chain = X509::stack_from_pem(chain).map_err(broken)?;
        let none = || Rejected::Certificate("no PEM block of a certificate in it".to_owned());
        let public = chain.first().ok_or_else(none)?.public_key().map_err(broken)?;
        let mut encrypted = false;
        // Without a callback, OpenSSL prompts for a passphrase on the terminal.
        let key = PKey::private_key_from_pem_callback(key, |_| {
            encrypted = true;
            Err(ErrorStack::get())
        });
        if encrypted {
            return Err(Rejected::Key("it is encrypted".to_owned()).into());
        }
        let key = key.map_err(|stack| Rejected::Key(one_line(&stack)))?;
        if !public.public_eq(&key) {
            return Err(Rejected::KeyMismatch.into());
        }
        let kind = KeyKind::of(&key)
            .ok_or_else(|| Rejected::Key("its type or curve is not supported".to_owned()))?;
        Self::new(chain, &key, kind).map_err(Unavailable::openssl("writing the key"))
    }

    fn new(chain: Vec<X509>, key: &PKey<Private>, kind: KeyKind) -> Result<Self, ErrorStack> {
        let key = Zeroizing::new(key.private_key_to_der()?);
        Ok(Self { chain, key, kind, files: None })
    }

    /// Adds the file to an error about this certificate or its key.
    pub(crate) fn name(&self, why: Error) -> Error {
        match &self.files {
            Some(files) => files.name(why),
            None => why,
        }
    }

    /// Returns the chain in PEM, for clients that should trust it.
    pub(crate) fn chain_pem(&self) -> Result<Vec<u8>, Error> {
        let mut pem = Vec::new();
        for certificate in &self.chain {
            let block = certificate.to_pem();
            pem.extend(block.map_err(Unavailable::openssl("writing the certificate"))?);
        }
        Ok(pem)
    }
}

impl Files {
    /// Adds the file at fault to an error.
    fn name(&self, why: Error) -> Error {
        let Error::Rejected(why) = why else { return why };
        let file = match why {
            Rejected::Key(_) | Rejected::KeyMismatch => &self.key,
            _ => &self.chain,
        };
        Rejected::File { file: file.clone(), why: Box::new(why) }.into()
    }
}

/// Reads trust anchors in PEM.
pub(crate) fn read_roots(pem: &[u8]) -> Result<Vec<X509>, Error> {
    let broken = |why: String| Rejected::Certificate(format!("trust anchors of clients: {why}"));
    let roots = X509::stack_from_pem(pem).map_err(|stack| broken(one_line(&stack)))?;
    if roots.is_empty() {
        return Err(broken("no PEM block of a certificate in them".to_owned()).into());
    }
    Ok(roots)
}

/// Lets connections request a certificate, and end if the client has none that these roots issued.
pub(crate) fn require(context: &mut SslContextBuilder, roots: &[X509]) -> Result<(), ErrorStack> {
    for root in roots {
        context.cert_store_mut().add_cert(root.clone())?;
        context.add_client_ca(root)?;
    }
    context.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
    Ok(())
}

/// Reads a file of at most [`PEM_BYTES_MAX`].
fn read(what: &'static str, path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let refuse = |why| Rejected::unreadable(what, path, why);
    let file = File::open(path).map_err(refuse)?;
    // Allocated at once: a buffer that grows leaves copies of the key behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(PEM_BYTES_MAX + 1));
    file.take(PEM_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(refuse)?;
    if bytes.len() > PEM_BYTES_MAX {
        let why = format!("more than {PEM_BYTES_MAX} bytes: not a key or certificate");
        return Err(refuse(io::Error::other(why)).into());
    }
    Ok(bytes)
}

fn self_signed(kind: KeyKind) -> Result<Credentials, Error> {
    if !KeyKind::SELF_SIGNED.contains(&kind) && kind != KeyKind::OF_2001 {
        let why = format!(
            "self-signed keys are of {:?} only",
            KeyKind::SELF_SIGNED.map(|k| k.to_string())
        );
        return Err(Rejected::Key(why).into());
    }
    let made = make_key(kind).and_then(|key| {
        let certificate = make_certificate("localhost", &key, kind, None)?;
        Credentials::new(vec![certificate], &key, kind)
    });
    made.map_err(Unavailable::openssl("making a certificate"))
}

pub(crate) fn make_key(kind: KeyKind) -> Result<PKey<Private>, ErrorStack> {
    match kind {
        KeyKind::EcdsaP256 => make_ec_key(Nid::X9_62_PRIME256V1),
        KeyKind::EcdsaP384 => make_ec_key(Nid::SECP384R1),
        KeyKind::Ed25519 => PKey::generate_ed25519(),
        KeyKind::Rsa { bits } => PKey::from_rsa(Rsa::generate(bits)?),
    }
}

fn make_ec_key(curve: Nid) -> Result<PKey<Private>, ErrorStack> {
    let group = EcGroup::from_curve_name(curve)?;
    PKey::from_ec_key(EcKey::generate(&group)?)
}

/// The issuer of a certificate.
pub(crate) struct Issuer<'a> {
    pub(crate) certificate: &'a X509Ref,
    pub(crate) key: &'a PKey<Private>,
    /// True if the new certificate cannot issue others.
    pub(crate) of_leaf: bool,
}

/// Makes a certificate with this common name; without an issuer it is self-signed. The issuer's key
/// has the same kind.
pub(crate) fn make_certificate(
    common_name: &str,
    key: &PKey<Private>,
    kind: KeyKind,
    issuer: Option<&Issuer<'_>>,
) -> Result<X509, ErrorStack> {
    let mut name = X509NameBuilder::new()?;
    name.append_entry_by_nid(Nid::COMMONNAME, common_name)?;
    let name = name.build();
    let mut serial = BigNum::new()?;
    // Positive and of at most 20 bytes: RFC 5280 §4.1.2.2.
    serial.rand(127, MsbOption::MAYBE_ZERO, false)?;

    let mut builder = X509::builder()?;
    builder.set_version(2)?; // X.509 v3 counts from zero
    builder.set_serial_number(serial.to_asn1_integer()?.as_ref())?;
    builder.set_subject_name(&name)?;
    builder.set_issuer_name(issuer.map_or(&*name, |issuer| issuer.certificate.subject_name()))?;
    builder.set_not_before(Asn1Time::days_from_now(0)?.as_ref())?;
    builder.set_not_after(Asn1Time::days_from_now(30)?.as_ref())?;
    builder.set_pubkey(key)?;
    let mut constraints = BasicConstraints::new();
    constraints.critical();
    if issuer.is_none_or(|issuer| !issuer.of_leaf) {
        constraints.ca();
    }
    builder.append_extension(constraints.build()?)?;
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
    builder.sign(issuer.map_or(key, |issuer| issuer.key), digest)?;
    Ok(builder.build())
}
