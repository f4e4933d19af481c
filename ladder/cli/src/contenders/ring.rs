//! ring, for the operation that it does in one call: read a public key and verify a signature.

use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

use super::{Contender, Job, KeyOperation, in_turn, public_der};
use crate::error::CliError;

/// Returns ring as a contender; `None` for other operations and keys.
pub(crate) fn contender(job: &Job) -> Result<Option<Contender>, CliError> {
    if job.what != KeyOperation::VerifyOnce || job.key.bits() < 2048 {
        return Ok(None);
    }
    let der = public_der(&job.key).map_err(CliError::about("OpenSSL does not write the key"))?;
    let run = in_turn(job, move |_, case| {
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &der)
            .verify(&case.input, &case.output)
            .map_err(|_| error!("ring gave an error, and by design does not say which"))
    });
    Ok(Some(Contender::library("ring", run)))
}
