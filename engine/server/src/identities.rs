//! The certificates of a server, by the names in them.

use std::collections::{BTreeSet, HashMap};

use openssl::error::ErrorStack;
use openssl::pkey::{PKeyRef, Private};
use openssl::ssl::SslRef;

use crate::certificate::{Certificate, Credentials};
use crate::error::{Error, Rejected};
use crate::kinds::KeyKind;

/// The certificates of a server. The first one serves clients that name no server, or one that is
/// in none of the certificates.
pub(crate) struct Identities {
    all: Vec<Credentials>,
    /// The certificates with a name, at most one of each algorithm. Names are in lower case. The
    /// first label of a name may be `*`.
    by_name: HashMap<String, Vec<usize>>,
}

impl Identities {
    /// Reads the certificates, the default first.
    pub(crate) fn load<'a>(
        certificates: impl IntoIterator<Item = &'a Certificate>,
    ) -> Result<Self, Error> {
        let mut this = Self { all: Vec::new(), by_name: HashMap::new() };
        for certificate in certificates {
            let credentials = Credentials::load(certificate)?;
            for name in credentials.names() {
                let has_name = this.by_name.entry(name.clone()).or_default();
                if has_name.iter().any(|at| this.all[*at].is_like(&credentials)) {
                    return Err(Rejected::SameName { name, kind: credentials.kind }.into());
                }
                has_name.push(this.all.len());
            }
            this.all.push(credentials);
        }
        Ok(this)
    }

    pub(crate) fn default(&self) -> &Credentials {
        self.all.first().expect("a server has a certificate")
    }

    pub(crate) fn all(&self) -> &[Credentials] {
        &self.all
    }

    /// Returns the kinds of the keys.
    pub(crate) fn kinds(&self) -> Vec<KeyKind> {
        let mut kinds: Vec<_> = Vec::new();
        for credentials in &self.all {
            if !kinds.contains(&credentials.kind) {
                kinds.push(credentials.kind);
            }
        }
        kinds
    }

    /// Returns the certificates for a server's name, or the default one.
    pub(crate) fn of_name(&self, name: &str) -> &[usize] {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let found = self.by_name.get(&name).or_else(|| {
            let (_, parent) = name.split_once('.')?;
            self.by_name.get(&format!("*.{parent}"))
        });
        found.map_or(&[0], Vec::as_slice)
    }
}

impl Credentials {
    /// Returns the names of the server in the certificate, in lower case, each once.
    fn names(&self) -> BTreeSet<String> {
        let names = self.first().subject_alt_names();
        names
            .iter()
            .flatten()
            .filter_map(|name| name.dnsname())
            .map(str::to_ascii_lowercase)
            .collect()
    }

    /// Returns whether a connection can have only one of the two: OpenSSL has a place for RSA, for
    /// ECDSA, and for Ed25519.
    fn is_like(&self, other: &Self) -> bool {
        let place = |kind| match kind {
            KeyKind::Rsa { .. } => 0,
            KeyKind::EcdsaP256 | KeyKind::EcdsaP384 => 1,
            KeyKind::Ed25519 => 2,
        };
        place(self.kind) == place(other.kind)
    }

    /// Gives a connection this certificate and key, beside those of other kinds.
    pub(crate) fn give(&self, ssl: &mut SslRef, key: &PKeyRef<Private>) -> Result<(), ErrorStack> {
        ssl.set_certificate(self.first())?;
        ssl.set_private_key(key)?;
        self.chain[1..].iter().try_for_each(|certificate| ssl.add_chain_cert(certificate.clone()))
    }
}
