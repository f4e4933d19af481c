//! The configuration that uses the provider: it includes the existing one and adds a few lines.

use std::path::Path;

use super::configuration::Configuration;
use crate::error::CliError;

/// The first line of the file; other files are not changed.
pub(super) const MARK: &str = "# Written by `tollgate provider install`.";

/// The settings of the provider, whose values are kept when the file is written again.
pub(super) const SETTINGS: [&str; 5] =
    ["engine", "linger_us_max", "async", "implicit_rejection", "metrics"];

/// The query that prefers the provider for operations but not for keys.
pub(super) const QUERY: &str = "?tollgate.operations=yes";

/// The section of the provider.
const SECTION: &str = "tollgate_module";

/// Returns the text of a configuration that includes `base` and adds the provider.
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
            "this system's OpenSSL is set to `{properties}`: Tollgate is not a FIPS module and \
             cannot be used with it"
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

/// Returns the settings in an earlier file.
pub(super) fn settings(before: &Configuration) -> Vec<(String, String)> {
    let lines = before.section(SECTION).iter();
    lines.filter(|(key, _)| SETTINGS.contains(&key.as_str())).cloned().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// The package contains the file that `install` writes on a default Debian system.
    #[test]
    fn the_package_has_the_same_text() {
        let base = (Path::new("/etc/ssl/openssl.cnf"), &Configuration::default());
        let module = Path::new("/usr/lib/x86_64-linux-gnu/ossl-modules/tollgate.so");
        let text = snippet(Some(base), module, &[]).unwrap();
        assert_eq!(text, include_str!("../../../debian/tollgate.cnf"));
    }
}
