//! A request's way through the queue, and its result.

use tollgate_curves::p256::SIGNATURE_BYTES;
use tollgate_keyless::{ErrorCode, Operation, ecdsa_der};
use tollgate_queue::{Answer, Caller, PrivateError, PrivateJob, Ticket, Work};
use tollgate_rsa::{Pss, implicit_rejection};
use zeroize::Zeroizing;

use crate::keys::{Key, Secret};

/// Submits an operation with a key that suits it.
pub(crate) fn submit(
    caller: &Caller<PrivateJob>,
    key: &Key,
    operation: Operation,
    input: &[u8],
) -> Result<Ticket<PrivateJob>, ErrorCode> {
    let work = match operation {
        // `finish` renews the padding: a decryption of the queue shows the length of the message.
        Operation::Decrypt | Operation::Raw => Work::Raw,
        Operation::SignPkcs1v15(hash) => Work::SignPkcs1v15 { hash },
        Operation::SignPss(hash) => Work::SignPss(Pss::new(hash)),
        Operation::SignEcdsa(hash) => {
            let Secret::P256(secret) = &key.secret else { return Err(ErrorCode::Crypto) };
            if input.len() != hash.len() {
                return Err(ErrorCode::Crypto);
            }
            let mut random = Zeroizing::new([0; 32]);
            getrandom::fill(&mut *random).map_err(|_| ErrorCode::Internal)?;
            return caller
                .submit(|job| {
                    job.load_ecdsa(secret, input, &random);
                    Ok(())
                })
                .map_err(code);
        }
        Operation::Ping => return Err(ErrorCode::Internal),
    };
    let Secret::Rsa(secret) = &key.secret else { return Err(ErrorCode::Crypto) };
    caller.submit(|job| job.load(secret, work, input)).map_err(code)
}

/// Returns the result of an operation that has ended, as its client gets it.
pub(crate) fn finish(
    ended: Result<Answer<PrivateJob>, PrivateError>,
    operation: Operation,
    key: &Key,
) -> Result<Zeroizing<Vec<u8>>, ErrorCode> {
    let answer = ended.map_err(code)?;
    let result = answer.output();
    match (operation, &key.secret) {
        (Operation::SignEcdsa(_), _) => {
            let signature = <&[u8; SIGNATURE_BYTES]>::try_from(result);
            let signature = signature.map_err(|_| ErrorCode::Internal)?;
            Ok(Zeroizing::new(ecdsa_der::encode(signature)))
        }
        // In a new padding, which is always valid: the client removes it.
        (Operation::Decrypt, Secret::Rsa(key)) => {
            let (_, _, ciphertext) = answer.asked().ok_or(ErrorCode::Internal)?;
            let mut em = Zeroizing::new(result.to_vec());
            let rejection = key.rejection_key(ciphertext);
            let renewed =
                rejection.and_then(|rejection| implicit_rejection::renew(&mut em, &rejection));
            renewed.map(|()| em).map_err(|_| ErrorCode::Internal)
        }
        _ => Ok(Zeroizing::new(result.to_vec())),
    }
}

/// Returns the error that a client sees.
fn code(why: PrivateError) -> ErrorCode {
    match why {
        PrivateError::Rejected(
            tollgate_rsa::Error::Rejected(_) | tollgate_rsa::Error::Misuse(_),
        ) => ErrorCode::Crypto,
        _ => ErrorCode::Internal,
    }
}
