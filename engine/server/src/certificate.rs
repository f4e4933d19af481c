//! The certificate and its key: from files, or generated for tests and measurements.

use core::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::sha::sha256;
use openssl::ssl::{SslContextBuilder, SslVerifyMode};
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509NameBuilder, X509Ref};
use zeroize::Zeroizing;

use crate::error::{Error, Rejected, Unavailable, one_line};
use crate::key::{Key, KeyId};
use crate::kinds::KeyKind;
use crate::notice::Notice;
use crate::staple::Staple;

/// The longest PEM file that is read, in bytes.
const PEM_BYTES_MAX: usize = 1024 * 1024;

/// The source of a server's certificate and key.
#[derive(Clone)]
pub enum Certificate {
    /// Two files in PEM: the chain with the server's certificate first, and the private key.
    Files {
        /// The chain. If a file with the same name and `.ocsp` at its end exists, it is an OCSP
        /// response in DER, for clients that ask for one.
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
        let key = PKey::private_key_from_der(&credentials.key.der)
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
    /// Certificates can have one key.
    pub(crate) key: Arc<Key>,
    /// The OCSP response beside the chain, or why it is not sent.
    staple: Option<Result<Staple, String>>,
    /// A digest of the bytes that the chain and the OCSP response were read from.
    chain_id: [u8; 32],
    /// The files, for messages.
    files: Option<Files>,
}

#[derive(Clone)]
struct Files {
    chain: PathBuf,
    key: PathBuf,
}

impl Credentials {
    /// Reads or generates the credentials. A key of 4096 bits may take seconds to generate.
    pub(crate) fn load(certificate: &Certificate) -> Result<Arc<Self>, Error> {
        Self::load_again(certificate, None, |_| None)
    }

    /// As [`Self::load`]; returns `before` if it was read from the same bytes, or generated. `known`
    /// returns keys that were read before.
    pub(crate) fn load_again(
        certificate: &Certificate,
        before: Option<&Arc<Self>>,
        known: impl FnOnce(&KeyId) -> Option<Arc<Key>>,
    ) -> Result<Arc<Self>, Error> {
        match (certificate, before) {
            (Certificate::Files { chain, key }, _) => {
                let files = Files { chain: chain.clone(), key: key.clone() };
                let (chain, key) = (read("the certificate", chain)?, read("the private key", key)?);
                let staple = read_staple(&files.chain)?;
                Self::parse((&chain, staple), &key, Some(&files), before, known)
                    .map_err(|why| files.name(why))
            }
            (Certificate::Pem { chain, key }, _) => {
                Self::parse((chain, None), key, None, before, known)
            }
            (Certificate::SelfSigned(_), Some(before)) => Ok(Arc::clone(before)),
            (Certificate::SelfSigned(kind), None) => self_signed(*kind).map(Arc::new),
        }
    }

    fn parse(
        (chain, staple): (&[u8], Option<Zeroizing<Vec<u8>>>),
        key: &[u8],
        files: Option<&Files>,
        before: Option<&Arc<Self>>,
        known: impl FnOnce(&KeyId) -> Option<Arc<Key>>,
    ) -> Result<Arc<Self>, Error> {
        let ids = [Some(sha256(chain)), staple.as_ref().map(|der| sha256(der))];
        let (chain_id, key_id) =
            (sha256(&ids.into_iter().flatten().collect::<Vec<_>>().concat()), sha256(key));
        let is_same = |it: &Self| (it.chain_id, it.key.id) == (chain_id, key_id);
        if let Some(before) = before.filter(|before| is_same(before)) {
            return Ok(Arc::clone(before));
        }
        let broken = |stack: ErrorStack| Rejected::Certificate(one_line(&stack));
        let chain = X509::stack_from_pem(chain).map_err(broken)?;
        let none = || Rejected::Certificate("no PEM block of a certificate in it".to_owned());
        let public = chain.first().ok_or_else(none)?.public_key().map_err(broken)?;
        let key = match known(&key_id) {
            Some(key) => key.check(&public).map(|()| key)?,
            None => Arc::new(Key::from_pem(key, public)?),
        };
        // without a response clients still come; with a wrong one they do not
        let staple = staple.map(|der| Staple::parse(&der, &chain));
        Ok(Arc::new(Self { chain, key, staple, chain_id, files: files.cloned() }))
    }

    /// Returns a notice if there is an OCSP response that is not sent.
    pub(crate) fn notice(&self) -> Option<Notice> {
        let (chain, why) =
            (self.files.clone()?.chain, self.staple.as_ref()?.as_ref().err()?.clone());
        Some(Notice::NotStapled { chain, why })
    }

    /// Returns the OCSP response to send.
    pub(crate) fn staple(&self) -> Option<&Staple> {
        self.staple.as_ref()?.as_ref().ok()
    }

    /// Adds the file to an error about this certificate or its key.
    pub(crate) fn name(&self, why: Error) -> Error {
        match &self.files {
            Some(files) => files.name(why),
            None => why,
        }
    }

    /// Returns the server's own certificate.
    pub(crate) fn first(&self) -> &X509 {
        self.chain.first().expect("a chain has a first certificate")
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

/// Reads the OCSP response beside a chain, if there is one.
fn read_staple(chain: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    let mut file = chain.as_os_str().to_owned();
    file.push(".ocsp");
    let file = Path::new(&file);
    match file.symlink_metadata() {
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
        _ => read("the OCSP response", file).map(Some),
    }
}

/// Reads a file of at most [`PEM_BYTES_MAX`].
pub(crate) fn read(what: &'static str, path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let refuse = |why| Rejected::unreadable(what, path, why);
    let file = File::open(path).map_err(refuse)?;
    let about = file.metadata().map_err(refuse)?;
    // pipes have no length, and neither do files of some file systems for secrets
    let is_sized = about.is_file() && about.len() > 0;
    let length = if is_sized { about.len() } else { PEM_BYTES_MAX as u64 };
    let max = usize::try_from(length).unwrap_or(PEM_BYTES_MAX).min(PEM_BYTES_MAX);
    // Allocated at once: a buffer that grows leaves copies of the key behind. Not longer than
    // necessary, because all of it is overwritten in the end.
    let mut bytes = Zeroizing::new(Vec::with_capacity(max + 1));
    file.take(max as u64 + 1).read_to_end(&mut bytes).map_err(refuse)?;
    if bytes.len() > max {
        let why = if max == PEM_BYTES_MAX {
            format!("more than {PEM_BYTES_MAX} bytes: not a key or certificate")
        } else {
            "it became longer while it was read: try again".to_owned()
        };
        return Err(refuse(io::Error::new(ErrorKind::InvalidData, why)).into());
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
        Ok((Key::new(&key, certificate.public_key()?, kind)?, certificate))
    });
    let (key, certificate) = made.map_err(Unavailable::openssl("making a certificate"))?;
    let (chain, key) = (vec![certificate], Arc::new(key));
    Ok(Credentials { chain, key, staple: None, chain_id: [0; 32], files: None })
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
