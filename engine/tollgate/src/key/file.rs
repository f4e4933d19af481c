//! `tollgate key check`: prints a line with a verdict for each test of a key file.

use core::fmt;
use std::path::Path;
use std::process::ExitCode;

use tollgate_rsa::pkcs1::{DecodeRsaPrivateKey as _, DecodeRsaPublicKey as _};
use tollgate_rsa::pkcs8::EncodePublicKey as _;
use tollgate_rsa::{Error, Found, Hash, PrivateKey, PublicKey, Rejected, Workspace, pem};

use super::Check;
use crate::error::CliError;
use crate::output::{check_stdout, print};
use crate::read;

/// The smallest secure modulus, in bits.
const SECURE_BITS: usize = 2048;

enum Verdict {
    Good,
    /// The key works but should not be used.
    Weak,
    /// There is nothing to test.
    Skipped,
}

/// Tests a key; the first failure ends the run.
pub(super) fn check(options: &Check) -> Result<ExitCode, CliError> {
    check_stdout()?;
    let line = |verdict, what: &str, why: &str| {
        let verdict = match verdict {
            Verdict::Good => "good",
            Verdict::Weak => "weak",
            Verdict::Skipped => "none",
        };
        print(&format!("{verdict:6}{what:10}{why}\n"))
    };
    let name = options.file.display();
    let file = KeyFile::read(&options.file)?;
    line(Verdict::Good, "file", &file.to_string())?;
    let key = file.public();
    let (size, why) = size(key);
    line(size, "size", &why)?;
    let (e, why) = public_exponent(key);
    line(e, "exponent", &why)?;
    let Either::Private(key) = &file.key else {
        line(Verdict::Good, "numbers", "n and e are odd and in range")?;
        line(Verdict::Skipped, "private", "a public key: pairing requires both halves")?;
        return Ok(ExitCode::SUCCESS);
    };
    line(Verdict::Good, "numbers", "n = p q; d, d_p, d_q and q_inv are the correct inverses")?;
    let mut workspace = Workspace::new()?;
    let bad = |what: &str, error: &Error| {
        print(&format!("bad   {what}\n"))?;
        Err(error!("{name}: {error}"))
    };
    if let Err(error) = key.check_primes() {
        return bad("primes", &error);
    }
    line(Verdict::Good, "primes", "p and q pass 64 rounds of Miller-Rabin each")?;
    if let Err(error) = key.check_pairwise(&mut workspace).and_then(|()| sign(key, &mut workspace))
    {
        return bad("pair", &error);
    }
    line(Verdict::Good, "pair", "one half inverts the other, and a signature verifies")?;
    Ok(ExitCode::SUCCESS)
}

fn size(key: &PublicKey) -> (Verdict, String) {
    match key.bits() {
        bits if bits < SECURE_BITS => {
            (Verdict::Weak, format!("{bits} bits: below 2048, for tests only"))
        }
        bits => (Verdict::Good, format!("{bits} bits")),
    }
}

fn public_exponent(key: &PublicKey) -> (Verdict, String) {
    let e = exponent(key);
    // the minimum of FIPS 186-5, 65537, has three bytes
    match key.exponent().len() {
        ..3 => (Verdict::Weak, format!("{e}: below the minimum of FIPS 186-5, 65537")),
        _ => (Verdict::Good, e),
    }
}

fn sign(key: &PrivateKey, workspace: &mut Workspace) -> Result<(), Error> {
    let digest = Hash::Sha256.digest(b"tollgate key check");
    let mut signature = vec![0; key.size()];
    key.sign_pkcs1v15_with(workspace, Hash::Sha256, digest.as_ref(), &mut signature)?;
    key.public().verify_pkcs1v15_with(workspace, Hash::Sha256, digest.as_ref(), &signature)
}

struct KeyFile {
    key: Either,
    /// `PEM` or `DER`.
    encoding: &'static str,
    /// `PKCS#8`, `PKCS#1` or `SubjectPublicKeyInfo`.
    format: &'static str,
}

enum Either {
    Private(Box<PrivateKey>),
    Public(Box<PublicKey>),
}

impl KeyFile {
    /// Reads a file. An error begins with the name of the file.
    fn read(path: &Path) -> Result<Self, CliError> {
        let name = path.display();
        let bytes = read::key(path)?;
        let key = match PrivateKey::from_bytes(&bytes) {
            Ok(key) => Either::Private(Box::new(key)),
            Err(Error::Rejected(Rejected::Unexpected { found: Found::PublicKey, .. })) => {
                let key = PublicKey::from_bytes(&bytes);
                Either::Public(Box::new(key.map_err(CliError::about(name))?))
            }
            Err(error) => return Err(error!("{name}: {error}")),
        };
        // the block that was read is the first one that is such a key
        let is_key = |der: &[u8]| match &key {
            Either::Private(_) => PrivateKey::from_der(der).is_ok(),
            Either::Public(_) => PublicKey::from_der(der).is_ok(),
        };
        let mut blocks = pem::blocks(&bytes).filter_map(|block| block.der().ok());
        let block = blocks.find(|der| is_key(der));
        let der = block.as_ref().map_or(&bytes[..], |block| block);
        let pkcs1 = match &key {
            Either::Private(_) => PrivateKey::from_pkcs1_der(der).is_ok(),
            Either::Public(_) => PublicKey::from_pkcs1_der(der).is_ok(),
        };
        let format = match (&key, pkcs1) {
            (_, true) => "PKCS#1",
            (Either::Private(_), false) => "PKCS#8",
            (Either::Public(_), false) => "SubjectPublicKeyInfo",
        };
        Ok(Self { key, encoding: if block.is_some() { "PEM" } else { "DER" }, format })
    }

    fn public(&self) -> &PublicKey {
        match &self.key {
            Either::Private(key) => key.public(),
            Either::Public(key) => key,
        }
    }
}

impl fmt::Display for KeyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.key {
            Either::Private(_) => "private",
            Either::Public(_) => "public",
        };
        write!(f, "RSA {kind} key, {} in {}", self.format, self.encoding)
    }
}

/// Returns the SHA-256 of the key's `SubjectPublicKeyInfo`, in hexadecimal.
pub(super) fn fingerprint(key: &PublicKey) -> String {
    let spki = key.to_public_key_der().expect("a key that was checked has a DER");
    hexadecimal(Hash::Sha256.digest(spki.as_bytes()).as_ref())
}

/// Formats the public exponent: in decimal if it fits 64 bits, else in hexadecimal.
fn exponent(key: &PublicKey) -> String {
    let e = key.exponent();
    if e.len() > 8 {
        return format!("0x{}", hexadecimal(&e));
    }
    e.iter().fold(0, |e, byte| e << 8 | u64::from(*byte)).to_string()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
