//! Checks with OpenSSL's own command that a configuration signs and decrypts with the module, and
//! that OpenSSL alone has the same results or accepts them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;

use tempfile::TempDir;

use super::configuration::{Configuration, QUERY};
use super::{metrics, openssl};
use crate::error::CliError;

/// Algorithms that the module served, beside RSA.
pub(super) struct Served {
    pub(super) ecdsa: bool,
    pub(super) x25519: bool,
    pub(super) hybrid: bool,
}

/// The group with ML-KEM-768 and X25519.
pub(super) const HYBRID: &str = "X25519MLKEM768";

/// Signs twice and decrypts once with RSA, signs with ECDSA, derives with X25519 and completes a
/// handshake with the hybrid group, with the configuration. Checks counters and results. The module
/// need not serve anything but RSA.
pub(super) fn prove(configuration: &Path) -> Result<Served, CliError> {
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
        None => Ok(Served {
            ecdsa: sum("ecdsa_signatures") == 1,
            x25519: sum("x25519_derivations") == 1,
            hybrid: sum("encapsulations") == 1,
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
    if run(ours, derive)? != run(stock, derive)? {
        return Ok(Some("its X25519 secrets"));
    }
    if !has_hybrid(ours, |provider| provider != "default")? {
        return Ok(None);
    }
    run(stock, "genpkey -algorithm ED25519 -out @key")?;
    run(stock, "req -new -x509 -key @key -subj /CN=tollgate -days 1 -out @chain")?;
    // Before version 3.5, OpenSSL's client has the group from the module too.
    let client = if has_hybrid(stock, |_| true)? { stock } else { ours };
    let agrees = completes_a_handshake(folder.path(), ours, client)?;
    Ok((!agrees).then_some("its key exchange with X25519MLKEM768"))
}

/// Returns whether a provider with such a name has the hybrid group.
fn has_hybrid(configuration: &Path, is: impl Fn(&str) -> bool) -> Result<bool, CliError> {
    let output = openssl::run(configuration, &["list", "-kem-algorithms"])?;
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut rows = list.lines().filter_map(|line| line.trim().split_once(" @ "));
    Ok(rows.any(|(name, provider)| name == HYBRID && is(provider)))
}

/// Returns whether `openssl s_client` completes a handshake with `openssl s_server`, which has this
/// key and chain, with the hybrid group. The server has written its counters then.
fn completes_a_handshake(folder: &Path, ours: &Path, client: &Path) -> Result<bool, CliError> {
    let [socket, key, chain] =
        ["socket", "key", "chain"].map(|name| folder.join(name).display().to_string());
    let files = ["-unix", &socket, "-key", &key, "-cert", &chain];
    let words = [&["s_server", "-naccept", "1", "-www", "-groups", HYBRID], &files[..]].concat();
    let mut server = Server(openssl::spawn(ours, &words)?);
    let output = server.0.stdout.take().map(BufReader::new);
    let mut lines = output.into_iter().flat_map(BufRead::lines).map_while(Result::ok);
    if !lines.any(|line| line.starts_with("ACCEPT")) {
        bail!("openssl s_server -groups {HYBRID} has not started; run it with OPENSSL_CONF");
    }
    let words = ["s_client", "-brief", "-tls1_3", "-unix", &socket, "-groups", HYBRID];
    let completed = openssl::run(client, &words)?.status.success();
    if completed {
        server.0.wait().map_err(CliError::about("openssl s_server"))?;
    }
    Ok(completed)
}

/// A process that is killed when the value is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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
