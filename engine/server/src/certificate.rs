//! The certificate and its key: given, or made at start for tests and measurements.

use core::fmt;
use core::str::FromStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509NameBuilder};
use zeroize::Zeroizing;

use crate::error::{Error, Rejected, Unavailable, one_line};
use crate::suite::UnknownName;

/// The longest PEM file that is read, in bytes.
const PEM_BYTES_MAX: usize = 1024 * 1024;

/// Where a server's certificate and key come from.
#[derive(Clone)]
pub enum Certificate {
    /// Two files in PEM: the chain with the server's certificate first, and the private key.
    Files {
        /// The chain.
        chain: PathBuf,
        /// The private key, unencrypted.
        key: PathBuf,
    },
    /// The same two as texts.
    Pem {
        /// The chain.
        chain: Vec<u8>,
        /// The private key, unencrypted.
        key: Zeroizing<Vec<u8>>,
    },
    /// Made at start: a new key, and a certificate for localhost, 127.0.0.1 and `::1` that it signs
    /// itself. For tests and measurements; no client has reason to trust it.
    SelfSigned(KeyKind),
}

impl Default for Certificate {
    fn default() -> Self {
        Self::SelfSigned(KeyKind::Rsa { bits: 2048 })
    }
}

impl Certificate {
    /// As texts, checked, read or made once: for servers that shall have the same, and for other
    /// servers.
    ///
    /// # Errors
    ///
    /// As [`Server::start`](crate::Server::start).
    pub fn to_pem(&self) -> Result<Self, Error> {
        let credentials = Credentials::load(self)?;
        let key = PKey::private_key_from_der(&credentials.key_der)
            .and_then(|key| key.private_key_to_pem_pkcs8())
            .map_err(Unavailable::openssl("writing the key"))?;
        Ok(Self::Pem { chain: credentials.chain_pem()?, key: Zeroizing::new(key) })
    }
}

/// The key is left out.
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

/// The kind of a server's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// ECDSA on P-256, "ecdsa-p256".
    EcdsaP256,
    /// RSA, "rsa-2048".
    Rsa {
        /// The size of the modulus; self-signed certificates are made for 2048, 3072 and 4096, and
        /// for 1024.
        bits: u32,
    },
}

impl KeyKind {
    /// The kinds that [`Certificate::SelfSigned`] makes.
    pub const SELF_SIGNED: [Self; 4] = [
        Self::Rsa { bits: 2048 },
        Self::Rsa { bits: 3072 },
        Self::Rsa { bits: 4096 },
        Self::EcdsaP256,
    ];

    /// RSA-1024, as servers had in 2001: insecure, and for comparisons with papers only. A server
    /// takes it where its configuration says so aloud.
    pub const OF_2001: Self = Self::Rsa { bits: 1024 };

    fn of(key: &PKey<Private>) -> Option<Self> {
        match key.id() {
            Id::RSA => Some(Self::Rsa { bits: key.bits() }),
            Id::EC => {
                let curve = key.ec_key().ok()?.group().curve_name();
                (curve == Some(Nid::X9_62_PRIME256V1)).then_some(Self::EcdsaP256)
            }
            _ => None,
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EcdsaP256 => f.write_str("ecdsa-p256"),
            Self::Rsa { bits } => write!(f, "rsa-{bits}"),
        }
    }
}

/// One of the kinds that [`Certificate::SelfSigned`] makes.
impl FromStr for KeyKind {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let found = Self::SELF_SIGNED.into_iter().find(|kind| kind.to_string() == name);
        found.ok_or_else(|| UnknownName {
            what: "key",
            name: name.to_owned(),
            known: vec!["rsa-2048", "rsa-3072", "rsa-4096", "ecdsa-p256"],
        })
    }
}

/// A chain and a key that have been read and belong together.
pub(crate) struct Credentials {
    /// The server's certificate first.
    pub(crate) chain: Vec<X509>,
    /// In DER; each worker reads its own copy into its own library context.
    pub(crate) key_der: Zeroizing<Vec<u8>>,
    pub(crate) kind: KeyKind,
}

impl Credentials {
    /// Reads or makes what `certificate` asks for. A key of 4096 bits may take seconds to make.
    pub(crate) fn load(certificate: &Certificate) -> Result<Self, Error> {
        match certificate {
            Certificate::Files { chain, key } => {
                let chain = read("the certificate", chain)?;
                Self::from_pem(&chain, &read("the private key", key)?)
            }
            Certificate::Pem { chain, key } => Self::from_pem(chain, key),
            Certificate::SelfSigned(kind) => self_signed(*kind),
        }
    }

    fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, Error> {
        let chain = X509::stack_from_pem(chain)
            .map_err(|stack| Rejected::Certificate(one_line(&stack.to_string())))?;
        let first = chain.first().ok_or_else(|| {
            Rejected::Certificate("no PEM block of a certificate in it".to_owned())
        })?;
        let mut encrypted = false;
        // Without a callback OpenSSL would ask for a passphrase on the terminal.
        let key = PKey::private_key_from_pem_callback(key, |_| {
            encrypted = true;
            Err(ErrorStack::get())
        });
        if encrypted {
            return Err(Rejected::Key("it is encrypted".to_owned()).into());
        }
        let key = key.map_err(|stack| Rejected::Key(one_line(&stack.to_string())))?;
        let certified = first
            .public_key()
            .map_err(|stack| Rejected::Certificate(one_line(&stack.to_string())))?;
        if !certified.public_eq(&key) {
            return Err(Rejected::KeyMismatch.into());
        }
        let kind = KeyKind::of(&key)
            .ok_or_else(|| Rejected::Key("it is neither RSA nor ECDSA P-256".to_owned()))?;
        Self::new(chain, &key, kind)
    }

    fn new(chain: Vec<X509>, key: &PKey<Private>, kind: KeyKind) -> Result<Self, Error> {
        let key_der = key.private_key_to_der().map_err(Unavailable::openssl("writing the key"))?;
        Ok(Self { chain, key_der: Zeroizing::new(key_der), kind })
    }

    /// The chain in PEM, for clients that should trust it.
    pub(crate) fn chain_pem(&self) -> Result<Vec<u8>, Error> {
        let mut pem = Vec::new();
        for certificate in &self.chain {
            let block = certificate.to_pem();
            pem.extend(block.map_err(Unavailable::openssl("writing the certificate"))?);
        }
        Ok(pem)
    }
}

/// A whole file that is not absurdly long.
fn read(what: &'static str, path: &PathBuf) -> Result<Zeroizing<Vec<u8>>, Error> {
    let refuse = |why| Rejected::unreadable(what, path, why);
    let file = File::open(path).map_err(refuse)?;
    // In one piece: a key that moves leaves a copy behind. Devices have no length to ask for.
    let mut bytes = Zeroizing::new(Vec::with_capacity(PEM_BYTES_MAX + 1));
    file.take(PEM_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(refuse)?;
    if bytes.len() > PEM_BYTES_MAX {
        let why = format!("more than {PEM_BYTES_MAX} bytes: not a key or certificate");
        return Err(refuse(io::Error::new(io::ErrorKind::InvalidData, why)).into());
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
    let made = make_key(kind).and_then(|key| Ok((make_certificate(&key)?, key)));
    let (certificate, key) = made.map_err(Unavailable::openssl("making a certificate"))?;
    Credentials::new(vec![certificate], &key, kind)
}

fn make_key(kind: KeyKind) -> Result<PKey<Private>, ErrorStack> {
    match kind {
        KeyKind::EcdsaP256 => {
            let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
            PKey::from_ec_key(EcKey::generate(&group)?)
        }
        KeyKind::Rsa { bits } => PKey::from_rsa(Rsa::generate(bits)?),
    }
}

fn make_certificate(key: &PKey<Private>) -> Result<X509, ErrorStack> {
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
    builder.sign(key, MessageDigest::sha256())?;
    Ok(builder.build())
}
