//! The configuration that uses the provider: the one that was there, and a few lines on top of it.

use std::path::Path;

use super::configuration::Configuration;
use crate::error::CliError;

/// The first line of what we write; a file without it is somebody else's.
pub(super) const MARK: &str = "# Written by `tollgate provider install`.";

/// Keys of the provider's section that are its own, and keep their values when it is written again.
pub(super) const SETTINGS: [&str; 5] =
    ["engine", "linger_us_max", "async", "implicit_rejection", "metrics"];

/// What prefers the provider's operations, and leaves keys to the default provider.
pub(super) const QUERY: &str = "?tollgate.operations=yes";

/// The section of the provider in what we write.
const SECTION: &str = "tollgate_module";

/// The text of a configuration with the provider, on top of the `base`.
///
/// # Errors
///
/// The base wants FIPS.
pub(super) fn snippet(
    base: Option<(&Path, &Configuration)>,
    module: &Path,
    settings: &[(String, String)],
) -> Result<String, CliError> {
    let nothing = Configuration::default();
    let below = base.map_or(&nothing, |(_, below)| below);
    let start = below.start().unwrap_or("openssl_init");
    let properties = below.default_properties().unwrap_or_default();
    if properties.replace(' ', "").contains("fips=yes") {
        return Err(CliError::new(format!(
            "this system's OpenSSL is set to `{properties}`: Tollgate is no FIPS module and is \
             not for it"
        )));
    }
    let include = base.map(|(path, _)| format!(".include {}\n", path.display()));
    let other = |name: &str| name != "default" && name != "tollgate";
    let others = below.providers().iter().filter(|(name, _)| other(name));
    let others: String = others.map(|(name, section)| format!("{name} = {section}\n")).collect();
    let properties = match properties {
        "" => QUERY.to_owned(),
        more if more.contains(QUERY) => more.to_owned(),
        more => format!("{more},{QUERY}"),
    };
    let settings: String =
        settings.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    Ok(format!(
        "{MARK}\n\
         # Programs that start with OPENSSL_CONF=THIS_FILE sign with Tollgate. You may set in\n\
         # [{SECTION}]: engine, linger_us_max, async, implicit_rejection, metrics.\n\
         {}\n\
         [default]\nopenssl_conf = {start}\n\n\
         [{start}]\nproviders = tollgate_providers\nalg_section = tollgate_algorithms\n\n\
         # The default provider reads and generates keys: list it, and list it first.\n\
         [tollgate_providers]\ndefault = tollgate_default\n{others}tollgate = {SECTION}\n\n\
         [tollgate_default]\nactivate = 1\n\n\
         [{SECTION}]\nmodule = {}\nactivate = 1\n{settings}\n\
         [tollgate_algorithms]\ndefault_properties = {properties}\n",
        include.unwrap_or_default(),
        module.display(),
    ))
}

/// The settings in a file that we wrote before.
pub(super) fn settings(before: &Configuration) -> Vec<(String, String)> {
    let lines = before.section(SECTION).iter();
    lines.filter(|(key, _)| SETTINGS.contains(&key.as_str())).cloned().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// The package installs what `install` would write on a system as Debian ships it.
    #[test]
    fn the_package_has_the_same_text() {
        let base = (Path::new("/etc/ssl/openssl.cnf"), &Configuration::default());
        let module = Path::new("/usr/lib/x86_64-linux-gnu/ossl-modules/tollgate.so");
        let text = snippet(Some(base), module, &[]).unwrap();
        assert_eq!(text, include_str!("../../../debian/tollgate.cnf"));
    }
}
