//! The provider of a server: its module, and the `OPENSSL_CONF` that loads it.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::settings::Settings;

/// The file name that cargo uses.
const NAME: &str = "libtollgate_provider.so";

/// Replaces the system's file. It allows keys of every size, because HAProxy reads keys before
/// it reads its own list of suites.
const WITHOUT: &str = "openssl_conf = start\n\
     [tls]\nsystem_default = keys\n[keys]\nCipherString = DEFAULT:@SECLEVEL=0\n";

/// Returns the path of the module that was built with this program. Cargo puts the module into its
/// folder `deps`, which is beside the program or contains it. An installed module is beside the
/// program.
///
/// # Errors
///
/// [`Error::NoModule`] with the path beside this program.
pub fn module() -> Result<PathBuf, Error> {
    let program = env::current_exe().map_err(Error::io("find", "this program".as_ref()))?;
    let places = [program.with_file_name("deps").join(NAME), program.with_file_name(NAME)];
    let found = places.iter().find(|place| place.is_file()).cloned();
    found.ok_or_else(|| Error::NoModule(places[1].clone()))
}

/// Returns the text of the server's `OPENSSL_CONF`. It prefers the provider's operations, as the
/// file of `tollgate provider install` does. Each process writes its counts to a file in the folder
/// `metrics`.
pub(crate) fn openssl_conf(settings: &Settings, metrics: &Path) -> String {
    let line = |(key, value): (&str, &String)| format!("{key} = {value}\n");
    let named = settings.directives.iter();
    let defaults: String = named
        .filter_map(|(key, value)| Some(line((key.strip_prefix("openssl.")?, value))))
        .collect();
    let without = format!("{WITHOUT}{defaults}[start]\nssl_conf = tls\n");
    let Some(module) = &settings.module else {
        return without;
    };
    let lines = settings.provider.iter().map(|(key, value)| line((key, value)));
    format!(
        "{without}providers = providers\nalg_section = algorithms\n\
         [providers]\ndefault = default_section\ntollgate = tollgate_section\n\
         [default_section]\nactivate = 1\n\
         [tollgate_section]\nmodule = {}\nactivate = 1\nmetrics = {}\n{}\
         [algorithms]\ndefault_properties = ?tollgate.operations=yes\n",
        module.display(),
        metrics.display(),
        lines.collect::<String>()
    )
}
