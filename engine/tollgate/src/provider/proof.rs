//! Checks with OpenSSL's own command that a configuration signs and decrypts with the module, and
//! that OpenSSL alone has the same results or accepts them.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::configuration::{Configuration, QUERY};
use super::{metrics, openssl};
use crate::error::CliError;

/// Uses of keys on curves that the module served.
pub(super) struct OnCurves {
    pub(super) ecdsa: bool,
    pub(super) x25519: bool,
}

/// Signs twice and decrypts once with RSA, signs with ECDSA and derives with X25519, with the
/// configuration. Checks counters and results. The module need not serve the curves.
pub(super) fn prove(configuration: &Path) -> Result<OnCurves, CliError> {
    let name = configuration.display();
    let read = Configuration::read(configuration)?;
    let section = read.tollgate().ok_or_else(|| {
        error!("{name} lists no provider tollgate; run: tollgate provider install")
    })?;
    if !openssl::lists_tollgate(configuration)? {
        bail!("{name}: OpenSSL did not load it: {}", why_not(&read, section)?);
    }
    let folder = crate::temporary_folder()?;
    let text = format!(
        ".include {}\n[{section}]\nmetrics = {}\n",
        std::path::absolute(configuration).unwrap_or_else(|_| configuration.to_owned()).display(),
        folder.as_ref().display()
    );
    let ours = folder.path().join("ours.cnf");
    put(&ours, text.as_bytes())?;
    let differ = compare(&folder, &ours)?;
    let counted = metrics::sum(&metrics::read(folder.as_ref())?);
    let sum = |name: &str| counted.get(name).copied().unwrap_or_default();
    if (sum("signatures"), sum("decryptions")) != (2, 1) {
        bail!(
            "{name}: OpenSSL loads the module but signs without it; set default_properties = \
             {QUERY} in the section that alg_section names"
        );
    }
    match differ {
        None => Ok(OnCurves {
            ecdsa: sum("ecdsa_signatures") == 1,
            x25519: sum("x25519_derivations") == 1,
        }),
        Some(what) => Err(error!(
            "{name}: OpenSSL does not accept {what}; do not use this module, and report it"
        )),
    }
}

/// Returns the name of a result that OpenSSL without the module does not accept, if any.
fn compare(folder: &TempDir, ours: &Path) -> Result<Option<&'static str>, CliError> {
    let stock = Path::new("/dev/null");
    let run = |configuration: &Path, words: &str| -> Result<Vec<u8>, CliError> {
        let in_folder = |word: &str| match word.strip_prefix('@') {
            Some(name) => folder.path().join(name).display().to_string(),
            None => word.to_owned(),
        };
        let words: Vec<String> = words.split(' ').map(in_folder).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = openssl::run(configuration, &words)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let why = openssl::error_of(&output);
        Err(error!("openssl {}: {why}", words.first().unwrap_or(&"")))
    };
    put(&folder.path().join("message"), b"tollgate provider check")?;
    run(stock, "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out @key")?;
    run(stock, "pkey -in @key -pubout -out @public")?;
    let sign = "dgst -sha256 -sign @key @message";
    if run(ours, sign)? != run(stock, sign)? {
        return Ok(Some("its signatures"));
    }
    let pss = "-sha256 -sigopt rsa_padding_mode:pss";
    run(ours, &format!("dgst {pss} -sign @key -out @signature @message"))?;
    if run(stock, &format!("dgst {pss} -verify @public -signature @signature @message")).is_err() {
        return Ok(Some("its PSS signatures"));
    }
    let oaep = "-pkeyopt rsa_padding_mode:oaep";
    run(
        stock,
        &format!("pkeyutl -encrypt -pubin -inkey @public {oaep} -in @message -out @secret"),
    )?;
    let found = run(ours, &format!("pkeyutl -decrypt -inkey @key {oaep} -in @secret"))?;
    if found != b"tollgate provider check" {
        return Ok(Some("what it decrypts"));
    }
    run(stock, "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out @key")?;
    run(stock, "pkey -in @key -pubout -out @public")?;
    run(ours, "dgst -sha256 -sign @key -out @signature @message")?;
    if run(stock, "dgst -sha256 -verify @public -signature @signature @message").is_err() {
        return Ok(Some("its ECDSA signatures"));
    }
    run(stock, "genpkey -algorithm X25519 -out @key")?;
    run(stock, "pkey -in @key -pubout -out @public")?;
    let derive = "pkeyutl -derive -inkey @key -peerkey @public";
    Ok((run(ours, derive)? != run(stock, derive)?).then_some("its X25519 secrets"))
}

/// Returns the reason why a module does not load. libcrypto ignores the error if a configuration
/// activates the module, and reports it if a program loads the module by name.
fn why_not(read: &Configuration, section: &str) -> Result<String, CliError> {
    let folder = crate::temporary_folder()?;
    let lines = read.section(section).iter().filter(|(key, _)| key != "activate");
    let lines: String = lines.map(|(key, value)| format!("{key} = {value}\n")).collect();
    let text = format!(
        "openssl_conf = a\n[a]\nproviders = b\n[b]\ndefault = c\ntollgate = d\n[c]\nactivate = 1\n\
         [d]\n{lines}"
    );
    let asked = folder.path().join("asked.cnf");
    put(&asked, text.as_bytes())?;
    let list = ["list", "-providers", "-provider", "default", "-provider", "tollgate"];
    let output = openssl::run(&asked, &list)?;
    if output.status.success() {
        return Ok(format!("[{section}] lacks activate = 1"));
    }
    Ok(openssl::error_of(&output))
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    fs::write(path, bytes).map_err(CliError::about(path.display()))
}
