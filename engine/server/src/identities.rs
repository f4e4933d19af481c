//! The certificates of a server, by the names in them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use openssl::error::ErrorStack;
use openssl::pkey::{PKeyRef, Private};
use openssl::ssl::SslRef;

use crate::certificate::{Certificate, Credentials};
use crate::error::{Error, Rejected};
use crate::key::{Key, KeyId};
use crate::kinds::KeyKind;

/// The certificates of a server. The first one serves clients that name no server, or one that is
/// in none of the certificates.
pub(crate) struct Identities {
    all: Vec<Arc<Credentials>>,
    keys: HashMap<KeyId, Arc<Key>>,
    /// The certificates with a name, at most one of each algorithm. Names are in lower case. The
    /// first label of a name may be `*`.
    by_name: HashMap<String, Vec<usize>>,
}

impl Identities {
    /// Reads the certificates, the default first. Those of `old`, which was read from the same files,
    /// stay as they are if their files have not changed.
    pub(crate) fn load<'a>(
        certificates: impl IntoIterator<Item = &'a Certificate>,
        old: Option<&Self>,
    ) -> Result<Self, Error> {
        let mut this = Self { all: Vec::new(), keys: HashMap::new(), by_name: HashMap::new() };
        for (at, certificate) in certificates.into_iter().enumerate() {
            let before = old.and_then(|old| old.all.get(at));
            let known = |id: &KeyId| {
                this.keys.get(id).or_else(|| old.and_then(|old| old.keys.get(id))).cloned()
            };
            let credentials = Credentials::load_again(certificate, before, known)?;
            for name in credentials.names() {
                let has_name = this.by_name.entry(name.clone()).or_default();
                if has_name.iter().any(|at| this.all[*at].is_like(&credentials)) {
                    return Err(Rejected::SameName { name, kind: credentials.key.kind }.into());
                }
                has_name.push(this.all.len());
            }
            this.keys.entry(credentials.key.id).or_insert_with(|| Arc::clone(&credentials.key));
            this.all.push(credentials);
        }
        Ok(this)
    }

    pub(crate) fn default(&self) -> &Credentials {
        self.all.first().expect("a server has a certificate")
    }

    pub(crate) fn all(&self) -> &[Arc<Credentials>] {
        &self.all
    }

    /// Returns the certificates that are not in `old`, which was read from the same files.
    pub(crate) fn new_since<'a>(
        &'a self,
        old: Option<&'a Self>,
    ) -> impl Iterator<Item = &'a Credentials> {
        let before = move |at| old.and_then(|old| old.all.get(at));
        self.all.iter().enumerate().filter_map(move |(at, credentials)| {
            let stays = before(at).is_some_and(|before| Arc::ptr_eq(before, credentials));
            (!stays).then_some(&**credentials)
        })
    }

    pub(crate) fn has_key(&self, id: &KeyId) -> bool {
        self.keys.contains_key(id)
    }

    /// Returns the kinds of the keys.
    pub(crate) fn kinds(&self) -> Vec<KeyKind> {
        let mut kinds: Vec<_> = Vec::new();
        for credentials in &self.all {
            if !kinds.contains(&credentials.key.kind) {
                kinds.push(credentials.key.kind);
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
        place(self.key.kind) == place(other.key.kind)
    }

    /// Gives a connection this certificate and key, beside those of other kinds.
    pub(crate) fn give(&self, ssl: &mut SslRef, key: &PKeyRef<Private>) -> Result<(), ErrorStack> {
        self.give_chain(ssl)?;
        ssl.set_private_key(key)
    }

    /// Gives a connection this certificate without its key.
    pub(crate) fn give_chain(&self, ssl: &mut SslRef) -> Result<(), ErrorStack> {
        ssl.set_certificate(self.first())?;
        self.chain[1..].iter().try_for_each(|certificate| ssl.add_chain_cert(certificate.clone()))
    }
}

#[cfg(test)]
mod tests {
    use openssl::ec::{EcGroup, EcKey};
    use openssl::nid::Nid;
    use openssl::pkey::PKey;
    use zeroize::Zeroizing;

    use super::*;
    use crate::certificate::make_certificate;

    fn make_key() -> PKey<Private> {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
    }

    fn certify(key: &PKey<Private>) -> Certificate {
        let chain = make_certificate("a", key, KeyKind::EcdsaP256, None).unwrap();
        let key = Zeroizing::new(key.private_key_to_pem_pkcs8().unwrap());
        Certificate::Pem { chain: chain.to_pem().unwrap(), key }
    }

    /// All have the same names, so at most one of each algorithm loads.
    fn load(one: &Certificate, old: Option<&Identities>) -> Identities {
        let other = Certificate::SelfSigned(KeyKind::Ed25519);
        Identities::load([one, &other], old).unwrap()
    }

    #[test]
    fn certificates_and_keys_that_have_not_changed_stay() {
        let (key, next_key) = (make_key(), make_key());
        let certificate = certify(&key);
        let old = load(&certificate, None);
        assert_eq!(old.new_since(None).count(), 2);

        let same = load(&certificate, Some(&old));
        assert_eq!(same.new_since(Some(&old)).count(), 0);

        let renewed = load(&certify(&key), Some(&old));
        let [new] = renewed.new_since(Some(&old)).collect::<Vec<_>>()[..] else { panic!() };
        assert!(Arc::ptr_eq(&new.key, &old.all[0].key), "the key stays");
        assert!(old.has_key(&new.key.id));

        let replaced = load(&certify(&next_key), Some(&renewed));
        assert_eq!(replaced.new_since(Some(&renewed)).count(), 1);
        assert!(!replaced.has_key(&new.key.id));

        let (Certificate::Pem { chain, .. }, Certificate::Pem { key, .. }) =
            (certify(&key), certify(&next_key))
        else {
            unreachable!()
        };
        let mixed = Certificate::Pem { chain, key };
        for known in [&old, &replaced] {
            let refused = Identities::load([&mixed], Some(known)).err().unwrap();
            assert!(refused.to_string().contains("does not match the certificate"), "{refused}");
        }
    }
}
