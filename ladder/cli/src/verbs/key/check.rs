//! `tollgate key check`: prints one line with a verdict for each test of a key.

use std::process::ExitCode;

use tollgate_rsa::{Error, Hash, PrivateKey, PublicKey, Workspace};

use super::file::{Either, KeyFile, exponent};
use super::show::SECURE_BITS;
use crate::error::CliError;
use crate::output::Output;
use crate::verbs::key::options::Check;

/// The result of a test.
enum Verdict {
    Good,
    /// The key works but should not be used.
    Weak,
    /// There is nothing to test.
    Skipped,
}

/// Tests a key; the first failure ends the run.
pub(crate) fn run(options: &Check) -> Result<ExitCode, CliError> {
    let output = Output::new(None)?;
    let line = |verdict, what: &str, why: &str| {
        let verdict = match verdict {
            Verdict::Good => "good",
            Verdict::Weak => "weak",
            Verdict::Skipped => "none",
        };
        output.text(&format!("{verdict:6}{what:10}{why}\n"))
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
        output.text(&format!("bad   {what}\n"))?;
        Err(error!("{name}: {error}"))
    };
    if let Err(error) = key.check_primes(&mut workspace) {
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

/// Signs a digest and verifies the signature.
fn sign(key: &PrivateKey, workspace: &mut Workspace) -> Result<(), Error> {
    let digest = Hash::Sha256.digest(b"tollgate key check");
    let mut signature = vec![0; key.size()];
    key.sign_pkcs1v15(workspace, Hash::Sha256, digest.as_ref(), &mut signature)?;
    key.public().verify_pkcs1v15(workspace, Hash::Sha256, digest.as_ref(), &signature)
}
