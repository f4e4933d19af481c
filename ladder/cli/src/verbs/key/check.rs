//! `tollgate key check`: a line and a verdict for each test of a key.

use std::process::ExitCode;

use tollgate_rsa::{Error, Hash, PrivateKey, PublicKey, Workspace};

use super::file::{Either, KeyFile, exponent};
use super::show::SECURE_BITS;
use crate::error::CliError;
use crate::output::Output;
use crate::verbs::key::options::Check;

/// How a test ended.
enum Verdict {
    Good,
    /// A key that works and that nobody should use.
    Weak,
    /// There is nothing to test.
    Skipped,
}

/// Tests a key; the first test that it fails ends the run.
///
/// # Errors
///
/// The file cannot be read, or its key fails a test; the message says what to do.
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
        line(
            Verdict::Skipped,
            "private",
            "a public key: only who holds both halves can pair them",
        )?;
        return Ok(ExitCode::SUCCESS);
    };
    line(
        Verdict::Good,
        "numbers",
        "n = p q; d, d_p, d_q and q_inv are the inverses they should be",
    )?;
    let mut workspace = Workspace::new().map_err(CliError::from_error)?;
    let bad = |what: &str, error: &Error| {
        output.text(&format!("bad   {what}\n"))?;
        Err(CliError::new(format!("{name}: {error}")))
    };
    if let Err(error) = key.check_primes(&mut workspace) {
        return bad("primes", &error);
    }
    line(Verdict::Good, "primes", "p and q pass 64 rounds of Miller-Rabin each")?;
    if let Err(error) = key.check_pairwise(&mut workspace).and_then(|()| sign(key, &mut workspace))
    {
        return bad("pair", &error);
    }
    line(Verdict::Good, "pair", "what one half hides and signs, the other finds and verifies")?;
    Ok(ExitCode::SUCCESS)
}

fn size(key: &PublicKey) -> (Verdict, String) {
    match key.bits() {
        bits if bits < SECURE_BITS => {
            (Verdict::Weak, format!("{bits} bits: below 2048, generate another for real use"))
        }
        bits => (Verdict::Good, format!("{bits} bits")),
    }
}

fn public_exponent(key: &PublicKey) -> (Verdict, String) {
    let e = exponent(key);
    // 65537 is the least that FIPS 186-5 takes: below it are numbers of one or two bytes
    match key.exponent().len() {
        ..3 => (Verdict::Weak, format!("{e}: below 65537, as FIPS 186-5 wants it")),
        _ => (Verdict::Good, e),
    }
}

/// Signs a digest, and verifies it.
fn sign(key: &PrivateKey, workspace: &mut Workspace) -> Result<(), Error> {
    let digest = Hash::Sha256.digest(b"tollgate key check");
    let mut signature = vec![0; key.size()];
    key.sign_pkcs1v15(workspace, Hash::Sha256, digest.as_ref(), &mut signature)?;
    key.public().verify_pkcs1v15(workspace, Hash::Sha256, digest.as_ref(), &signature)
}
