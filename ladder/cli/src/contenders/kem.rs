//! Key encapsulation with ML-KEM-768, and with X25519MLKEM768. Secrets are random, so each
//! contender is checked against another implementation, the judge.

use core::ffi::CStr;

use aws_lc_rs::agreement::{self, UnparsedPublicKey, X25519};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::kem::{DecapsulationKey, EncapsulationKey, ML_KEM_768};
use openssl::pkey::{PKey, Private};
use tollgate_kem::hybrid::{self, X25519MlKem768};
use tollgate_kem::{CIPHERTEXT_BYTES, MlKem768, PUBLIC_BYTES, RANDOM_BYTES, SECRET_BYTES};
use tollgate_record::{Key as KeyName, Operation};
use tollgate_server::in_memory::Worker;

use super::aws_lc::unspecified;
use super::{Contender, OURS, Run, aws_lc, compare, openssl as system, selected_to_verify};
use crate::error::CliError;

/// An implementation of a key encapsulation mechanism. Public keys and ciphertexts are encoded as
/// in the messages of TLS.
trait Kem: 'static {
    type Pair;

    fn generate(&self) -> Result<(Self::Pair, Vec<u8>), CliError>;

    /// Reads a public key, and returns a ciphertext and its secret.
    fn encapsulate(&self, public: &[u8]) -> Result<(Vec<u8>, Vec<u8>), CliError>;

    /// Returns the secret of a ciphertext.
    fn decapsulate(&self, pair: &Self::Pair, ciphertext: &[u8]) -> Result<Vec<u8>, CliError>;
}

/// Creates the contender Tollgate. AWS-LC is its judge.
pub(crate) fn tollgate(key: &KeyName, operation: &Operation) -> Result<Contender, CliError> {
    let run = match key {
        KeyName::MlKem768 => run(MlKem768::best(), AwsLc, operation)?,
        _ => run(X25519MlKem768::best(), AwsLcHybrid, operation)?,
    };
    Ok(Contender { by: OURS, batch: None, kernel: None, run })
}

/// Creates the contender AWS-LC.
pub(crate) fn aws_lc(key: &KeyName, operation: &Operation) -> Result<Contender, CliError> {
    let run = match key {
        KeyName::MlKem768 => run(AwsLc, MlKem768::best(), operation)?,
        _ => run(AwsLcHybrid, X25519MlKem768::best(), operation)?,
    };
    Ok(Contender::library(aws_lc::BY, run))
}

/// Creates the contender OpenSSL; `None` before version 3.5, which has no ML-KEM.
pub(crate) fn openssl(key: &KeyName, operation: &Operation) -> Result<Option<Contender>, CliError> {
    if ::openssl::version::number() < 0x3050_0000 {
        return Ok(None);
    }
    let algorithm = match key {
        KeyName::MlKem768 => c"ML-KEM-768",
        _ => c"X25519MLKEM768",
    };
    let libcrypto = OpenSsl { algorithm, worker: system::worker()? };
    let run = match key {
        KeyName::MlKem768 => run(libcrypto, MlKem768::best(), operation)?,
        _ => run(libcrypto, X25519MlKem768::best(), operation)?,
    };
    Ok(Some(Contender::library(system::BY, run)))
}

/// Returns a run of an operation. Each secret that comes out of the same ciphertext is checked; of
/// the others, some.
fn run<K: Kem, J: Kem>(kem: K, judge: J, operation: &Operation) -> Result<Run, CliError> {
    let mut is_selected = selected_to_verify();
    Ok(match operation {
        Operation::Generate => Box::new(move || {
            let (pair, public) = kem.generate()?;
            if is_selected() {
                let (ciphertext, secret) = judge.encapsulate(&public)?;
                compare(&kem.decapsulate(&pair, &ciphertext)?, &secret)?;
            }
            Ok(())
        }),
        Operation::Encaps => {
            let (pair, public) = judge.generate()?;
            Box::new(move || {
                let (ciphertext, secret) = kem.encapsulate(&public)?;
                if is_selected() {
                    compare(&secret, &judge.decapsulate(&pair, &ciphertext)?)?;
                }
                Ok(())
            })
        }
        _ => {
            let (pair, public) = kem.generate()?;
            let (ciphertext, secret) = judge.encapsulate(&public)?;
            Box::new(move || compare(&kem.decapsulate(&pair, &ciphertext)?, &secret))
        }
    })
}

fn random<const N: usize>() -> Result<[u8; N], CliError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(CliError::about("the system gives no random bytes"))?;
    Ok(bytes)
}

/// Returns the bytes as an array.
fn sized<const N: usize>(ciphertext: &[u8]) -> Result<&[u8; N], CliError> {
    ciphertext.try_into().map_err(CliError::about("the length of a ciphertext"))
}

impl Kem for MlKem768 {
    type Pair = tollgate_kem::DecapsulationKey;

    fn generate(&self) -> Result<(Self::Pair, Vec<u8>), CliError> {
        let pair = self.decapsulation_key(&random()?);
        let public = pair.encapsulation_key().to_bytes().to_vec();
        Ok((pair, public))
    }

    fn encapsulate(&self, public: &[u8]) -> Result<(Vec<u8>, Vec<u8>), CliError> {
        let key = self.encapsulation_key(public).map_err(CliError::about("a public key"))?;
        let random: [u8; RANDOM_BYTES] = random()?;
        let (mut ciphertext, mut secret) = ([0; CIPHERTEXT_BYTES], [0; SECRET_BYTES]);
        key.encapsulate(&random, &mut ciphertext, &mut secret);
        Ok((ciphertext.to_vec(), secret.to_vec()))
    }

    fn decapsulate(&self, pair: &Self::Pair, ciphertext: &[u8]) -> Result<Vec<u8>, CliError> {
        let mut secret = [0; SECRET_BYTES];
        pair.decapsulate(sized(ciphertext)?, &mut secret);
        Ok(secret.to_vec())
    }
}

impl Kem for X25519MlKem768 {
    type Pair = hybrid::DecapsulationKey;

    fn generate(&self) -> Result<(Self::Pair, Vec<u8>), CliError> {
        let pair = self.decapsulation_key(&random()?);
        let public = pair.public_bytes().to_vec();
        Ok((pair, public))
    }

    fn encapsulate(&self, public: &[u8]) -> Result<(Vec<u8>, Vec<u8>), CliError> {
        let key = self.encapsulation_key(public).map_err(CliError::about("a public key"))?;
        let (mut ciphertext, mut secret) =
            ([0; hybrid::CIPHERTEXT_BYTES], [0; hybrid::SECRET_BYTES]);
        key.encapsulate(&random()?, &mut ciphertext, &mut secret)
            .map_err(CliError::about("a public key"))?;
        Ok((ciphertext.to_vec(), secret.to_vec()))
    }

    fn decapsulate(&self, pair: &Self::Pair, ciphertext: &[u8]) -> Result<Vec<u8>, CliError> {
        let mut secret = [0; hybrid::SECRET_BYTES];
        pair.decapsulate(sized(ciphertext)?, &mut secret)
            .map_err(CliError::about("a ciphertext"))?;
        Ok(secret.to_vec())
    }
}

struct AwsLc;

impl Kem for AwsLc {
    type Pair = DecapsulationKey;

    fn generate(&self) -> Result<(Self::Pair, Vec<u8>), CliError> {
        let pair = DecapsulationKey::generate(&ML_KEM_768).map_err(unspecified)?;
        let public = pair.encapsulation_key().and_then(|key| key.key_bytes());
        Ok((pair, public.map_err(unspecified)?.as_ref().to_vec()))
    }

    fn encapsulate(&self, public: &[u8]) -> Result<(Vec<u8>, Vec<u8>), CliError> {
        let key = EncapsulationKey::new(&ML_KEM_768, public).map_err(aws_lc::refused)?;
        let (ciphertext, secret) = key.encapsulate().map_err(unspecified)?;
        Ok((ciphertext.as_ref().to_vec(), secret.as_ref().to_vec()))
    }

    fn decapsulate(&self, pair: &Self::Pair, ciphertext: &[u8]) -> Result<Vec<u8>, CliError> {
        Ok(pair.decapsulate(ciphertext.into()).map_err(unspecified)?.as_ref().to_vec())
    }
}

/// ML-KEM-768, then X25519, as rustls composes them.
struct AwsLcHybrid;

impl AwsLcHybrid {
    fn x25519() -> Result<(agreement::PrivateKey, agreement::PublicKey), CliError> {
        let pair = agreement::PrivateKey::generate(&X25519).map_err(unspecified)?;
        let public = pair.compute_public_key().map_err(unspecified)?;
        Ok((pair, public))
    }

    /// Returns the secret of ML-KEM, and the one that X25519 agrees on.
    fn joined(
        ml_kem: &[u8],
        pair: &agreement::PrivateKey,
        peer: &[u8],
    ) -> Result<Vec<u8>, CliError> {
        let peer = UnparsedPublicKey::new(&X25519, peer);
        agreement::agree(pair, peer, unspecified(Unspecified), |shared| {
            Ok([ml_kem, shared].concat())
        })
    }
}

/// Splits bytes into the part of ML-KEM, which has this length, and that of X25519.
fn halves(bytes: &[u8], length: usize) -> Result<(&[u8], &[u8]), CliError> {
    bytes.split_at_checked(length).ok_or_else(|| error!("a share is too short"))
}

impl Kem for AwsLcHybrid {
    type Pair = (DecapsulationKey, agreement::PrivateKey);

    fn generate(&self) -> Result<(Self::Pair, Vec<u8>), CliError> {
        let (ml_kem, first) = AwsLc.generate()?;
        let (x25519, second) = Self::x25519()?;
        Ok(((ml_kem, x25519), [&first, second.as_ref()].concat()))
    }

    fn encapsulate(&self, public: &[u8]) -> Result<(Vec<u8>, Vec<u8>), CliError> {
        let (first, second) = halves(public, PUBLIC_BYTES)?;
        let (ciphertext, secret) = AwsLc.encapsulate(first)?;
        let (x25519, sent) = Self::x25519()?;
        let secret = Self::joined(&secret, &x25519, second)?;
        Ok(([&ciphertext, sent.as_ref()].concat(), secret))
    }

    fn decapsulate(
        &self,
        (ml_kem, x25519): &Self::Pair,
        ciphertext: &[u8],
    ) -> Result<Vec<u8>, CliError> {
        let (first, second) = halves(ciphertext, CIPHERTEXT_BYTES)?;
        Self::joined(&AwsLc.decapsulate(ml_kem, first)?, x25519, second)
    }
}

/// libcrypto's default provider, called as libssl does.
struct OpenSsl {
    algorithm: &'static CStr,
    worker: Worker,
}

impl Kem for OpenSsl {
    type Pair = PKey<Private>;

    fn generate(&self) -> Result<(Self::Pair, Vec<u8>), CliError> {
        let pair = tollgate_session::generate(self.worker.source(), self.algorithm, None)?;
        let public = tollgate_session::encoded_public(&pair)?;
        Ok((pair, public))
    }

    fn encapsulate(&self, public: &[u8]) -> Result<(Vec<u8>, Vec<u8>), CliError> {
        let source = self.worker.source();
        let key = tollgate_session::read_public(source, self.algorithm, public)?;
        Ok(tollgate_session::encapsulate(source, &key)?)
    }

    fn decapsulate(&self, pair: &Self::Pair, ciphertext: &[u8]) -> Result<Vec<u8>, CliError> {
        Ok(tollgate_session::decapsulate(self.worker.source(), pair, ciphertext)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [KeyName; 2] = [KeyName::MlKem768, KeyName::X25519MlKem768];
    const OPERATIONS: [Operation; 3] = [Operation::Generate, Operation::Encaps, Operation::Decaps];

    #[test]
    fn every_contender_agrees_with_its_judge() {
        for key in KEYS {
            for operation in &OPERATIONS {
                let mut all = vec![tollgate(&key, operation).unwrap()];
                all.push(aws_lc(&key, operation).unwrap());
                let system = openssl(&key, operation).unwrap();
                assert_eq!(system.is_some(), ::openssl::version::number() >= 0x3050_0000);
                all.extend(system);
                for contender in &mut all {
                    for _ in 0..3 {
                        (contender.run)().unwrap();
                    }
                }
            }
        }
    }

    /// A wrong implementation: its secrets differ from those of the right ones.
    struct Wrong(MlKem768);

    impl Kem for Wrong {
        type Pair = tollgate_kem::DecapsulationKey;

        fn generate(&self) -> Result<(Self::Pair, Vec<u8>), CliError> {
            self.0.generate()
        }

        fn encapsulate(&self, public: &[u8]) -> Result<(Vec<u8>, Vec<u8>), CliError> {
            let (ciphertext, secret) = self.0.encapsulate(public)?;
            Ok((ciphertext, flipped(&secret)))
        }

        fn decapsulate(&self, pair: &Self::Pair, ciphertext: &[u8]) -> Result<Vec<u8>, CliError> {
            Ok(flipped(&self.0.decapsulate(pair, ciphertext)?))
        }
    }

    fn flipped(secret: &[u8]) -> Vec<u8> {
        secret.iter().map(|byte| !byte).collect()
    }

    #[test]
    fn wrong_secrets_are_found() {
        for operation in &OPERATIONS {
            let mut wrong = run(Wrong(MlKem768::best()), AwsLc, operation).unwrap();
            assert!(wrong().is_err(), "{operation}");
        }
    }
}
