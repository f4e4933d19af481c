//! `tollgate provider install`: copies the module to OpenSSL's folder and writes a configuration.
//!
//! No file of OpenSSL's package changes: the configuration is a separate file that includes the
//! system's configuration, and programs select it with `OPENSSL_CONF`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::Install;
use super::configuration::{Configuration, MARK, settings, snippet};
use super::openssl::Openssl;
use super::proof;
use crate::error::CliError;
use crate::output::{check_stdout, print};
use crate::read;
use crate::write;

struct Installation {
    /// The source of the module and its bytes; `None` if it is already installed.
    copy: Option<(PathBuf, Vec<u8>)>,
    module: PathBuf,
    configuration: PathBuf,
    text: String,
    /// The text of the configuration that is there.
    before: Option<String>,
}

/// Installs the provider. Nothing changes before OpenSSL has signed with the module; after the
/// changes, it signs with the module in its place.
pub(crate) fn run(options: &Install) -> Result<ExitCode, CliError> {
    let openssl = Openssl::find()?;
    let plan = Installation::new(&openssl, options)?;
    check_stdout()?;
    plan.try_out()?;
    plan.carry_out()?;
    proof::prove(&plan.configuration).map_err(|error| {
        let remedy = "run 'tollgate provider install --remove'";
        error!("{error}; in place it does not work, unlike in a temporary folder: {remedy}")
    })?;
    print(&format!("{}{}", plan.done(), next(&plan.configuration)))?;
    Ok(ExitCode::SUCCESS)
}

impl Installation {
    fn new(openssl: &Openssl, options: &Install) -> Result<Self, CliError> {
        let configuration = chosen(openssl, options)?;
        let before = read_ours(&configuration)?;
        let module = openssl.module();
        let source = source(options.module.as_deref(), &module)?;
        let bytes = read_module(&source)?;
        let is_there = fs::read(&module).is_ok_and(|there| there == bytes);
        let base = openssl.base(&configuration)?;
        let below = base.as_deref().map(Configuration::read).transpose()?;
        let old = before.as_ref().map(|_| Configuration::read(&configuration)).transpose()?;
        let kept = old.as_ref().map(settings).unwrap_or_default();
        let text = snippet(base.as_deref().zip(below.as_ref()), &module, &kept)?;
        let copy = (!is_there).then_some((source, bytes));
        Ok(Self { copy, module, configuration, text, before })
    }

    fn is_written(&self) -> bool {
        self.before.as_ref() == Some(&self.text)
    }

    fn done(&self) -> String {
        let line = |what: bool, file: &Path| {
            let how = if what { "written" } else { "there already" };
            format!("{how:15}{}\n", file.display())
        };
        line(self.copy.is_some(), &self.module)
            + &line(!self.is_written(), &self.configuration)
            + "signs          as OpenSSL does, by its own command under this configuration\n"
    }

    /// Tests the module with the new configuration in a temporary folder, before the system
    /// changes.
    fn try_out(&self) -> Result<(), CliError> {
        let source = self.copy.as_ref().map_or(&self.module, |(source, _)| source);
        let source = fs::canonicalize(source).unwrap_or_else(|_| source.clone());
        let line = |module: &Path| format!("\nmodule = {}\n", module.display());
        let text = self.text.replace(&line(&self.module), &line(&source));
        let folder = crate::temporary_folder()?;
        let trial = folder.path().join("trial.cnf");
        fs::write(&trial, text).map_err(CliError::about(trial.display()))?;
        proof::prove(&trial).map(drop)
    }

    fn carry_out(&self) -> Result<(), CliError> {
        if let Some((_, bytes)) = &self.copy {
            let folder = self.module.parent().unwrap_or(Path::new("/"));
            fs::create_dir_all(folder).map_err(refused(folder))?;
            write::whole(&self.module, bytes, 0o644, true).map_err(refused(&self.module))?;
        }
        if self.is_written() {
            return Ok(());
        }
        let configuration = &self.configuration;
        if let Some(before) = &self.before {
            let backup = backup(configuration);
            write::whole(&backup, before.as_bytes(), 0o644, true).map_err(refused(&backup))?;
        }
        write::whole(configuration, self.text.as_bytes(), 0o644, true)
            .map_err(refused(configuration))
    }
}

/// The name of the configuration that was there before.
fn backup(configuration: &Path) -> PathBuf {
    configuration.with_extension("cnf.bak")
}

fn refused(path: &Path) -> impl Fn(io::Error) -> CliError {
    move |error| {
        let advice = match error.kind() {
            io::ErrorKind::PermissionDenied => "; run it as root",
            io::ErrorKind::NotFound => "; make the folder first",
            _ => "",
        };
        error!("{}: {error}{advice}", path.display())
    }
}

/// Removes both files.
pub(crate) fn remove(options: &Install) -> Result<ExitCode, CliError> {
    let openssl = Openssl::find()?;
    let configuration = chosen(&openssl, options)?;
    let module = openssl.module();
    let ours = read_ours(&configuration)?;
    check_stdout()?;
    if ours.is_none() && !module.exists() {
        print("nothing is installed\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    if ours.is_some() {
        let has_settings = !settings(&Configuration::read(&configuration)?).is_empty();
        let (removed, kept) = if has_settings {
            let backup = backup(&configuration);
            let kept = format!("; its settings are kept in {}", backup.display());
            (fs::rename(&configuration, backup), kept)
        } else {
            (fs::remove_file(&configuration), String::new())
        };
        removed.map_err(refused(&configuration))?;
        print(&format!("removed {}{kept}\n", configuration.display()))?;
    }
    if module.exists() {
        fs::remove_file(&module).map_err(refused(&module))?;
        print(&format!("removed {}\n", module.display()))?;
    }
    print(&format!(
        "next: remove OPENSSL_CONF={} from your services (systemctl revert NAME) and restart them; \
         until then they keep the module that they have loaded\n",
        configuration.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the path of the configuration to write. The path is absolute, because servers change
/// their working directory.
fn chosen(openssl: &Openssl, options: &Install) -> Result<PathBuf, CliError> {
    let chosen = options.openssl_conf.clone().unwrap_or_else(|| openssl.configuration());
    std::path::absolute(&chosen).map_err(CliError::about(chosen.display()))
}

/// Reads a configuration that `install` wrote; `None` if there is no file.
fn read_ours(configuration: &Path) -> Result<Option<String>, CliError> {
    match fs::read_to_string(configuration) {
        Ok(text) if text.starts_with(MARK) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Ok(_) => Err(error!(
            "{}: tollgate did not write this file and does not change it; name another with \
             --openssl-conf",
            configuration.display()
        )),
        Err(error) => Err(CliError::at(configuration)(error)),
    }
}

/// Returns the path of the module to install.
fn source(named: Option<&Path>, installed: &Path) -> Result<PathBuf, CliError> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let program = std::env::current_exe().unwrap_or_default();
    let beside =
        ["tollgate.so", "libtollgate_provider.so"].map(|name| program.with_file_name(name));
    let mut places = beside.into_iter().chain([installed.to_owned()]);
    places.find(|place| place.is_file()).ok_or_else(|| {
        CliError::new(
            "there is no module beside this program or in OpenSSL's folder: build one with \
             ./x provider, or name one with --module",
        )
    })
}

/// Reads a module, which must be a shared library.
fn read_module(module: &Path) -> Result<Vec<u8>, CliError> {
    let name = module.display();
    let bytes = read::bytes(module)?;
    if !bytes.starts_with(b"\x7fELF") {
        bail!("{name}: not a shared library; build one with ./x provider");
    }
    Ok(bytes)
}

fn next(configuration: &Path) -> String {
    let conf = configuration.display();
    // as the user called it: a program in a clone is not in PATH
    let program = std::env::args_os().next().unwrap_or_else(|| "tollgate".into());
    let program = program.display();
    format!(
        "\nnext, for a service such as nginx:\n\
         \x20 systemctl edit nginx        and write there:\n\
         \x20   [Service]\n\
         \x20   Environment=OPENSSL_CONF={conf}\n\
         \x20 systemctl restart nginx\n\
         \x20 {program} provider stats --pid $(pgrep -n nginx)\n\
         for a command: OPENSSL_CONF={conf} openssl speed rsa2048\n\
         other programs that can use it: {program} provider check\n"
    )
}
