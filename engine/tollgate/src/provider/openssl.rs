//! The installed OpenSSL: its folders, and its command.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{getegid, geteuid};

use crate::error::CliError;

/// Version and folders of the command `openssl`.
pub(super) struct Openssl {
    /// `OpenSSL 3.0.19 27 Jan 2026 (Library: ...)`.
    pub(super) version: String,
    /// The folder of modules: `OPENSSL_MODULES`, else the folder that was set when libcrypto was
    /// built.
    pub(super) modules: PathBuf,
    /// The folder of `openssl.cnf`.
    folder: PathBuf,
}

impl Openssl {
    pub(super) fn find() -> Result<Self, CliError> {
        let version = said(&["version"])?;
        let number = version.split_whitespace().nth(1).unwrap_or_default();
        let major: u32 = number.split('.').next().and_then(|n| n.parse().ok()).unwrap_or_default();
        if major < 3 || !version.starts_with("OpenSSL ") {
            bail!("`openssl version` says {version}: providers need OpenSSL 3.0 or later");
        }
        let modules = match std::env::var_os("OPENSSL_MODULES") {
            Some(folder) if !folder.is_empty() => folder.into(),
            _ => quoted(&said(&["version", "-m"])?)?,
        };
        Ok(Self { version, modules, folder: quoted(&said(&["version", "-d"])?)? })
    }

    pub(super) fn module(&self) -> PathBuf {
        self.modules.join("tollgate.so")
    }

    /// Returns the configuration to include: `OPENSSL_CONF` unless it is `ours`, else the system's.
    pub(super) fn base(&self, ours: &Path) -> Result<Option<PathBuf>, CliError> {
        let Some(named) = named_configuration().filter(|path| path != ours) else {
            return Ok(Some(self.system()).filter(|path| path.is_file()));
        };
        if !named.is_file() {
            return Ok(None);
        }
        match stranger(&named) {
            None => Ok(Some(named)),
            Some(open) => Err(error!(
                "{}: other users can change {}, and so every program that uses Tollgate; remove \
                 that right, or unset OPENSSL_CONF",
                named.display(),
                open.display()
            )),
        }
    }

    /// Returns the default path of the configuration that `install` writes.
    pub(super) fn configuration(&self) -> PathBuf {
        self.system().with_file_name("tollgate.cnf")
    }

    /// Returns the system's configuration, with links resolved.
    fn system(&self) -> PathBuf {
        let system = self.folder.join("openssl.cnf");
        system.canonicalize().unwrap_or(system)
    }

    /// Returns the configuration to check: the named file, else `OPENSSL_CONF`, else the file that
    /// `install` writes.
    pub(super) fn chosen(&self, named: Option<&Path>) -> PathBuf {
        let named = named.map(Path::to_owned).or_else(named_configuration);
        named.unwrap_or_else(|| self.configuration())
    }
}

fn named_configuration() -> Option<PathBuf> {
    std::env::var_os("OPENSSL_CONF").filter(|name| !name.is_empty()).map(PathBuf::from)
}

/// Runs the command without a configuration, and returns its output.
fn said(arguments: &[&str]) -> Result<String, CliError> {
    let output = run(Path::new("/dev/null"), arguments)?;
    if !output.status.success() {
        bail!("openssl {}: {}", arguments.join(" "), error_of(&output));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// `MODULESDIR: "/usr/lib/..."`.
fn quoted(line: &str) -> Result<PathBuf, CliError> {
    let path = line.split('"').nth(1).filter(|path| path.starts_with('/'));
    path.map(PathBuf::from).ok_or_else(|| {
        error!("`openssl version` says {line}: a folder was expected; set OPENSSL_MODULES")
    })
}

/// Runs the command with a configuration to its end.
pub(super) fn run(configuration: &Path, arguments: &[&str]) -> Result<Output, CliError> {
    command(configuration, arguments).output().map_err(missing)
}

/// Starts the command with a configuration. Its standard output is a pipe.
pub(super) fn spawn(configuration: &Path, arguments: &[&str]) -> Result<Child, CliError> {
    let mut command = command(configuration, arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(missing)
}

fn command(configuration: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("openssl");
    command.args(arguments).env("OPENSSL_CONF", configuration).stdin(Stdio::null());
    command
}

fn missing(error: std::io::Error) -> CliError {
    error!("openssl: {error}; install the command (Debian: apt install openssl)")
}

/// Returns the reason of a failure: the message of the provider, else the first error.
pub(super) fn error_of(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    // NUMBER:error:CODE:LIBRARY:FUNCTION:REASON:FILE:LINE:DATA; the provider sets no function.
    let ours = said.lines().find_map(|line| line.split_once(":tollgate:0:")).map(|(_, data)| data);
    let first = || said.lines().find(|line| line.contains(":error:"));
    let why = ours.filter(|data| !data.is_empty()).or_else(first).or(said.lines().next());
    why.unwrap_or("it printed no error").trim().to_owned()
}

/// Returns whether the provider is active with a configuration.
pub(super) fn lists_tollgate(configuration: &Path) -> Result<bool, CliError> {
    let output = run(configuration, &["list", "-providers"])?;
    Ok(String::from_utf8_lossy(&output.stdout).contains("Tollgate provider"))
}

/// The bit of a folder, such as `/tmp`, in which users cannot move each other's files.
const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// Returns the file, or the first folder above it, that a user other than the current user and root
/// can write, or that cannot be inspected. `None` if there is none.
fn stranger(file: &Path) -> Option<PathBuf> {
    let Ok(file) = file.canonicalize() else { return Some(file.to_owned()) };
    file.ancestors().find(|path| is_open(path)).map(Path::to_owned)
}

fn is_open(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else { return true };
    let (mode, user, group) = (metadata.mode(), geteuid().as_raw(), getegid().as_raw());
    if ![0, user].contains(&metadata.uid()) {
        return true;
    }
    let others = mode & OTHERS_WRITE != 0
        || mode & GROUP_WRITES != 0 && ![0, group].contains(&metadata.gid());
    others && !(metadata.is_dir() && mode & STICKY != 0)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_as_closed_as_all_above_it() {
        let folder = crate::temporary_folder().unwrap();
        let inner = folder.path().join("inner");
        let file = inner.join("file");
        fs::create_dir(&inner).unwrap();
        fs::write(&file, "").unwrap();
        let open = |file_mode, inner_mode| {
            fs::set_permissions(&file, Permissions::from_mode(file_mode)).unwrap();
            fs::set_permissions(&inner, Permissions::from_mode(inner_mode)).unwrap();
            stranger(&file)
        };
        assert_eq!(open(0o600, 0o755), None);
        assert_eq!(open(0o646, 0o755).as_ref(), Some(&file));
        assert_eq!(open(0o600, 0o777).as_ref(), Some(&inner));
        assert_eq!(open(0o600, 0o1777), None, "a sticky folder");
        let missing = inner.join("missing");
        assert_eq!(stranger(&missing), Some(missing));
    }
}
