//! ML-KEM-768: Tollgate and the libraries, one operation at a time.
//!
//! `encaps` is what a server does: it reads the client's public key and encapsulates a secret to
//! it.

use core::ffi::CStr;
use std::rc::Rc;

use aws_lc_rs::error::Unspecified;
use aws_lc_rs::kem::{DecapsulationKey, EncapsulationKey, ML_KEM_768};
use openssl::error::ErrorStack;
use openssl::pkey::PKey;
use tollgate_kem::{
    CIPHERTEXT_BYTES, MlKem768, PUBLIC_BYTES, RANDOM_BYTES, SECRET_BYTES, SEED_BYTES,
};
use tollgate_record::Operation;
use tollgate_session::{decapsulate, encapsulate, encoded_public, generate, read_public};

use super::{Contender, OURS, Run, aws_lc, compare, openssl as libcrypto, selected_to_verify};
use crate::error::CliError;

/// OpenSSL's name.
const ALGORITHM: &CStr = c"ML-KEM-768";

/// Encapsulates to an encoded public key; the first result is the ciphertext, the second one the
/// secret.
type Sent = (Vec<u8>, Vec<u8>);

/// Returns Tollgate's contender.
pub(crate) fn ours(operation: &Operation) -> Result<Contender, CliError> {
    let code = MlKem768::best();
    let send = move |public: &[u8]| -> Result<Sent, CliError> {
        let key = code.encapsulation_key(public)?;
        let (mut ciphertext, mut secret) = (vec![0; CIPHERTEXT_BYTES], vec![0; SECRET_BYTES]);
        let random: [u8; RANDOM_BYTES] = random()?;
        let [to, of] = [ciphertext.as_mut_slice(), secret.as_mut_slice()];
        key.encapsulate(
            &random,
            to.try_into().map_err(CliError::about("a ciphertext"))?,
            of.try_into().map_err(CliError::about("a secret"))?,
        );
        Ok((ciphertext, secret))
    };
    let pair = move || -> Result<_, CliError> {
        let seed: [u8; SEED_BYTES] = random()?;
        let pair = code.decapsulation_key(&seed);
        let public = pair.encapsulation_key().to_bytes().to_vec();
        Ok((pair, public))
    };
    let receive = |pair: &tollgate_kem::DecapsulationKey, ciphertext: &[u8]| {
        let mut secret = [0; SECRET_BYTES];
        let ciphertext = ciphertext.try_into().map_err(CliError::about("a ciphertext"))?;
        pair.decapsulate(ciphertext, &mut secret);
        Ok(secret.to_vec())
    };
    let run = run(operation, pair, send, receive)?;
    Ok(Contender { by: OURS, batch: None, kernel: None, run })
}

/// Returns OpenSSL's contender; `None` before version 3.5, which has no ML-KEM.
pub(crate) fn openssl(operation: &Operation) -> Result<Option<Contender>, CliError> {
    let worker = Rc::new(libcrypto::worker()?);
    if generate(worker.source(), ALGORITHM, None).is_err() {
        return Ok(None);
    }
    let [of_pair, of_sender, of_receiver] = [(); 3].map(|()| Rc::clone(&worker));
    let pair = move || -> Result<_, ErrorStack> {
        let pair = generate(of_pair.source(), ALGORITHM, None)?;
        let public = encoded_public(&pair)?;
        Ok((pair, public))
    };
    let send = move |public: &[u8]| {
        let source = of_sender.source();
        encapsulate(source, &*read_public(source, ALGORITHM, public)?)
    };
    let receive = move |pair: &PKey<_>, ciphertext: &[u8]| {
        decapsulate(of_receiver.source(), pair, ciphertext)
    };
    Ok(Some(Contender::library(libcrypto::BY, run(operation, pair, send, receive)?)))
}

/// Returns AWS-LC's contender.
pub(crate) fn aws_lc(operation: &Operation) -> Result<Contender, CliError> {
    let pair = || -> Result<_, Unspecified> {
        let pair = DecapsulationKey::generate(&ML_KEM_768)?;
        let public = pair.encapsulation_key()?.key_bytes()?.as_ref().to_vec();
        Ok((pair, public))
    };
    let send = |public: &[u8]| -> Result<Sent, Unspecified> {
        let key = EncapsulationKey::new(&ML_KEM_768, public).map_err(|_| Unspecified)?;
        let (ciphertext, secret) = key.encapsulate()?;
        Ok((ciphertext.as_ref().to_vec(), secret.as_ref().to_vec()))
    };
    let receive = |pair: &DecapsulationKey, ciphertext: &[u8]| {
        pair.decapsulate(ciphertext.into()).map(|secret| secret.as_ref().to_vec())
    };
    Ok(Contender::library(aws_lc::BY, run(operation, pair, send, receive)?))
}

fn random<const N: usize>() -> Result<[u8; N], CliError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(CliError::about("the system gives no random bytes"))?;
    Ok(bytes)
}

/// Returns a run of an operation, from functions that generate a key pair with its encoded public
/// key, encapsulate, and decapsulate.
fn run<K: 'static, E: core::fmt::Display>(
    operation: &Operation,
    pair: impl Fn() -> Result<(K, Vec<u8>), E> + 'static,
    send: impl Fn(&[u8]) -> Result<Sent, E> + 'static,
    receive: impl Fn(&K, &[u8]) -> Result<Vec<u8>, E> + 'static,
) -> Result<Run, CliError> {
    let failed = |what: &'static str| move |why: E| error!("{what} with ML-KEM-768 failed: {why}");
    let (key, public) = pair().map_err(failed("a key pair"))?;
    let mut is_selected = selected_to_verify();
    Ok(match operation {
        Operation::Generate => Box::new(move || {
            let (key, public) = pair().map_err(failed("a key pair"))?;
            CliError::unless(public.len() == PUBLIC_BYTES, "the public key has a wrong length")?;
            if is_selected() {
                let (ciphertext, secret) = send(&public).map_err(failed("an encapsulation"))?;
                let received = receive(&key, &ciphertext).map_err(failed("a decapsulation"))?;
                compare(&received, &secret)?;
            }
            Ok(())
        }),
        Operation::Encaps => Box::new(move || {
            let (ciphertext, secret) = send(&public).map_err(failed("an encapsulation"))?;
            if is_selected() {
                let received = receive(&key, &ciphertext).map_err(failed("a decapsulation"))?;
                compare(&received, &secret)?;
            }
            Ok(())
        }),
        _ => {
            let (ciphertext, secret) = send(&public).map_err(failed("an encapsulation"))?;
            Box::new(move || {
                let received = receive(&key, &ciphertext).map_err(failed("a decapsulation"))?;
                compare(&received, &secret)
            })
        }
    })
}
