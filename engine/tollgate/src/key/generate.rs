//! `tollgate key gen`: writes a new key to a file or to standard output.

use core::time::Duration;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use tollgate_rsa::pkcs1::EncodeRsaPrivateKey as _;
use tollgate_rsa::pkcs8::{EncodePrivateKey as _, LineEnding};
use tollgate_rsa::{Generation, PrivateKey, Progress as Search, Workspace};

use super::file::fingerprint;
use super::{Format, Gen};
use crate::error::CliError;
use crate::interrupt;
use crate::output;
use crate::progress::{self, Progress};

/// Minimum duration of a search that shows a progress bar.
const SHORT: Duration = Duration::from_secs(2);

pub(crate) fn run(options: &Gen) -> Result<ExitCode, CliError> {
    let file = options.output.as_deref().filter(|path| *path != Path::new("-"));
    if file.is_none() {
        output::check_stdout()?;
    }
    if let Some(path) = file.filter(|path| !options.force && path.exists()) {
        return Err(is_there(path));
    }
    let mut workspace = Workspace::new()?;
    let mut shown = Shown::new(options.bits);
    let mut watch = |search| shown.tell(search);
    let key = wanted(options).watched(&mut watch).run(&mut workspace);
    drop(shown);
    let key = key.map_err(|error| error!("--bits, --e: {error}"))?;
    let text = match options.format {
        Format::Pkcs8 => key.to_pkcs8_pem(LineEnding::LF).expect("a key has a PKCS#8 form"),
        Format::Pkcs1 => key.to_pkcs1_pem(LineEnding::LF).expect("a key has a PKCS#1 form"),
    };
    match file {
        None => {
            io::stdout().write_all(text.as_bytes()).map_err(CliError::of_output)?;
        }
        Some(path) => write(path, text.as_bytes(), options.force)?,
    }
    let place = file.map_or("standard output".into(), |path| path.display().to_string());
    output::say(&said(&key, &place));
    Ok(interrupt::exit_code())
}

fn wanted<'a>(options: &Gen) -> Generation<'a> {
    let bits = usize::try_from(options.bits).expect("32 bits fit");
    let generation =
        if options.insecure { Generation::insecure(bits) } else { Generation::new(bits) };
    generation.exponent(&options.e.to_be_bytes())
}

fn said(key: &PrivateKey, place: &str) -> String {
    let (bits, fingerprint) = (key.bits(), fingerprint(key.public()));
    let warning = if key.is_insecure() { "; insecure: it protects nothing" } else { "" };
    format!("wrote {place}: RSA of {bits} bits, SHA-256 {fingerprint}{warning}")
}

fn is_there(path: &Path) -> CliError {
    let name = path.display();
    error!("{name}: the file exists: name another, or replace it with --force")
}

/// Writes a file that only its owner can read. Replaces an existing file atomically.
fn write(path: &Path, text: &[u8], replace: bool) -> Result<(), CliError> {
    let failed = |path: &Path, error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => is_there(path),
        _ => CliError::at(path)(error),
    };
    let new = if replace { beside(path) } else { path.to_owned() };
    create(&new).map_err(|error| failed(&new, error)).and_then(|mut file| {
        let written = file.write_all(text).and_then(|()| file.sync_all());
        let written = written.and_then(|()| if replace { fs::rename(&new, path) } else { Ok(()) });
        written.map_err(|error| {
            let _ = fs::remove_file(&new); // an incomplete file of this run
            failed(path, error)
        })
    })
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Returns the path of a temporary file in the same folder.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    name.into()
}

/// The progress bar, which appears after [`SHORT`].
struct Shown {
    bits: u32,
    start: Instant,
    bar: Option<Progress>,
}

impl Shown {
    fn new(bits: u32) -> Self {
        Self { bits, start: Instant::now(), bar: None }
    }

    fn tell(&mut self, search: Search) {
        let spent = self.start.elapsed();
        if spent < SHORT {
            return;
        }
        let count = |x: usize| f64::from(u32::try_from(x).unwrap_or(u32::MAX));
        let part = count(search.tested) / count(search.expected.max(1));
        self.bar.get_or_insert_with(|| Progress::new("key"));
        progress::plan(1, spent.as_secs_f64() / part);
        progress::row(0, &format!("RSA-{}, {} of 2 primes, on average", self.bits, search.primes));
        progress::part(part);
    }
}
