//! Test cases of private-key operations, checked by public-key and by single operations.

use std::sync::{Arc, Mutex, PoisonError};

use tollgate_rsa::{Error, Hash, Oaep, PrivateKey, TlsVersions, Workspace, premaster};

use super::Cases;
use crate::private_job::PrivateJob;
use crate::work::Work;

/// PKCS#1 v1.5 signatures and all kinds of decryptions with one key.
#[derive(Debug)]
pub struct PrivateCases {
    key: Arc<PrivateKey>,
    workspace: Mutex<Workspace>,
}

impl PrivateCases {
    /// Cases with this key, of at least 512 bits.
    ///
    /// # Errors
    ///
    /// `TOLLGATE_CPU_DISABLE` contains an unknown word.
    pub fn new(key: Arc<PrivateKey>) -> Result<Self, Error> {
        Ok(Self { key, workspace: Mutex::new(Workspace::new()?) })
    }

    fn with_workspace<T>(&self, work: impl FnOnce(&mut Workspace) -> T) -> T {
        work(&mut self.workspace.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Encrypts `message` as the ciphertext of case `i`.
    fn encrypt(&self, i: usize, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut c = vec![0; self.key.size()];
        let public = self.key.public();
        self.with_workspace(|ws| match kind(i) {
            Kind::Oaep => {
                let oaep = Oaep::new(HASH).with_mgf_hash(MGF_HASH).with_label(LABEL);
                public.encrypt_oaep_with(ws, oaep, message, &mut c)
            }
            _ => public.encrypt_pkcs1v15_with(ws, message, &mut c),
        })?;
        Ok(c)
    }
}

/// SHA-1, because OAEP with a longer hash does not fit a key of 512 bits.
const HASH: Hash = Hash::Sha1;
const MGF_HASH: Hash = Hash::Sha1;
const LABEL: &[u8] = b"a label";
const VERSIONS: TlsVersions = TlsVersions { client: 0x0303, negotiated: None };
const SIGN: Work = Work::SignPkcs1v15 { hash: Hash::Sha256 };

/// The kind of case `i`; adjacent cases of a batch differ.
#[derive(Clone, Copy)]
enum Kind {
    Signature,
    Pkcs1v15,
    /// A ciphertext without valid padding, which decrypts to a synthetic message.
    BadPkcs1v15,
    Oaep,
    Premaster,
}

fn kind(i: usize) -> Kind {
    [Kind::Signature, Kind::Pkcs1v15, Kind::BadPkcs1v15, Kind::Oaep, Kind::Premaster][i % 5]
}

/// Returns a message that is unique to the case.
fn message(i: usize) -> [u8; premaster::PREMASTER_LEN] {
    let mut message = [0; premaster::PREMASTER_LEN];
    message[..2].copy_from_slice(&VERSIONS.client.to_be_bytes());
    message[2..34].copy_from_slice(Hash::Sha256.digest(&i.to_be_bytes()).as_ref());
    message
}

/// Returns a message short enough for every padding with a key of 512 bits.
fn short_message(i: usize) -> [u8; 16] {
    *message(i)[2..].first_chunk().expect("46 bytes")
}

impl Cases<PrivateJob> for PrivateCases {
    fn load(&self, i: usize, job: &mut PrivateJob) -> Result<(), Error> {
        let key = &self.key;
        let digest = Hash::Sha256.digest(&message(i));
        match kind(i) {
            Kind::Signature => job.load(key, SIGN, digest.as_ref()),
            Kind::Pkcs1v15 => {
                job.load(key, Work::DecryptPkcs1v15, &self.encrypt(i, &short_message(i))?)
            }
            Kind::BadPkcs1v15 => {
                let mut ciphertext = digest.as_ref().repeat(key.size().div_ceil(32));
                ciphertext.truncate(key.size());
                ciphertext[0] = 0; // less than n
                job.load(key, Work::DecryptPkcs1v15, &ciphertext)
            }
            Kind::Oaep => {
                let label_digest = HASH.digest(LABEL);
                let work = Work::DecryptOaep { label_digest, mgf_hash: MGF_HASH };
                job.load(key, work, &self.encrypt(i, &short_message(i))?)
            }
            Kind::Premaster => {
                let work = Work::DecryptTlsPremaster { versions: VERSIONS };
                job.load(key, work, &self.encrypt(i, &message(i))?)
            }
        }
    }

    fn is_right(&self, i: usize, job: &PrivateJob) -> bool {
        let (found, key) = (job.output(), &self.key);
        match kind(i) {
            Kind::Signature => {
                let (digest, hash) = (Hash::Sha256.digest(&message(i)), Hash::Sha256);
                let public = key.public();
                self.with_workspace(|ws| {
                    public.verify_pkcs1v15_with(ws, hash, digest.as_ref(), found).is_ok()
                })
            }
            Kind::Pkcs1v15 | Kind::Oaep => found == short_message(i),
            Kind::Premaster => found == message(i),
            Kind::BadPkcs1v15 => job.asked().is_some_and(|(_, _, ciphertext)| {
                let mut buffer = vec![0; key.size()];
                self.with_workspace(|ws| {
                    key.decrypt_pkcs1v15_with(ws, ciphertext, &mut buffer) == Ok(found)
                })
            }),
        }
    }

    /// Loads a number that is at least the modulus.
    fn load_refused(&self, job: &mut PrivateJob) -> Result<(), Error> {
        job.load(&self.key, Work::Raw, &vec![0xff; self.key.size()])
    }
}
