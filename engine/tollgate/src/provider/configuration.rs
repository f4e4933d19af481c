//! Parses the parts of an OpenSSL configuration file (config(5)) that concern providers. Also
//! writes a configuration that adds Tollgate's provider: it includes the existing configuration and
//! adds a few lines.
//!
//! The parser does not expand variables, because names of sections and providers contain none.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::error::CliError;
use crate::read;

/// Sections of keys and values; the last value of a key is used.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    sections: BTreeMap<String, Vec<(String, String)>>,
}

/// The section of lines before the first section.
const TOP: &str = "default";

/// The maximum depth of includes; a deeper file includes itself.
const DEPTH_MAX: usize = 8;

impl Configuration {
    /// Reads a file and its includes. An error begins with the name of the file.
    pub(crate) fn read(path: &Path) -> Result<Self, CliError> {
        let mut configuration = Self::default();
        configuration.add(path, &mut TOP.to_owned(), 0)?;
        Ok(configuration)
    }

    fn add(&mut self, path: &Path, section: &mut String, depth: usize) -> Result<(), CliError> {
        let name = path.display();
        if depth == DEPTH_MAX {
            bail!("{name}: its includes are circular");
        }
        let bytes = read::bytes(path)?;
        let text = String::from_utf8_lossy(&bytes).replace("\\\n", "");
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if let Some(rest) = line.strip_prefix(".include") {
                let included = Path::new(rest.trim_start_matches([' ', '\t', '=']).trim());
                self.include(included, section, depth)?;
            } else if let Some(name) = line.strip_prefix('[') {
                *section = name.trim_end_matches(']').trim().to_owned();
                self.sections.entry(section.clone()).or_default();
            } else if let Some((key, value)) = line.split_once('=') {
                let lines = self.sections.entry(section.clone()).or_default();
                let (key, value) = (key.trim(), value.trim().trim_matches(['"', '\'']));
                lines.retain(|(other, _)| other != key);
                lines.push((key.to_owned(), value.to_owned()));
            }
        }
        Ok(())
    }

    /// Reads a file, or the files of a folder with OpenSSL's suffixes. Ignores missing files, as
    /// OpenSSL does.
    fn include(&mut self, path: &Path, section: &mut String, depth: usize) -> Result<(), CliError> {
        if path.is_file() {
            return self.add(path, section, depth + 1);
        }
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
        files.sort();
        let ends = |file: &Path| file.extension().is_some_and(|end| end == "cnf" || end == "conf");
        files
            .iter()
            .filter(|file| ends(file))
            .try_for_each(|file| self.add(file, section, depth + 1))
    }

    pub(crate) fn section(&self, name: &str) -> &[(String, String)] {
        self.sections.get(name).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn value(&self, section: &str, key: &str) -> Option<&str> {
        let found = self.section(section).iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the section that libcrypto reads at start.
    pub(crate) fn start(&self) -> Option<&str> {
        self.value(TOP, "openssl_conf")
    }

    /// Returns a value of the start section: `providers`, `alg_section`.
    pub(crate) fn started(&self, key: &str) -> Option<&str> {
        self.value(self.start()?, key)
    }

    /// Returns names and sections of the providers, in the order of loading.
    pub(crate) fn providers(&self) -> &[(String, String)] {
        self.started("providers").map_or(&[], |section| self.section(section))
    }

    /// Returns the section of the provider `tollgate`, by its name or its module.
    pub(crate) fn tollgate(&self) -> Option<&str> {
        let is_ours = |(name, section): &&(String, String)| {
            let module = self.value(section, "module").unwrap_or_default();
            name == "tollgate" || module.contains("tollgate")
        };
        self.providers().iter().find(is_ours).map(|(_, section)| section.as_str())
    }

    pub(crate) fn default_properties(&self) -> Option<&str> {
        self.value(self.started("alg_section")?, "default_properties")
    }
}

/// Returns whether a value of `activate` means yes.
pub(crate) fn is_yes(value: Option<&str>) -> bool {
    value.is_some_and(|value| {
        ["1", "yes", "true", "on"].iter().any(|y| value.eq_ignore_ascii_case(y))
    })
}

/// The first line of a file that this verb wrote; other files are not changed.
pub(super) const MARK: &str = "# Written by `tollgate provider install`.";

/// The provider's settings; their values are kept when the file is written again.
pub(super) const SETTINGS: [&str; 8] = [
    "async",
    "implicit_rejection",
    "x25519",
    "ecdsa",
    "ml_kem",
    "metrics",
    "remote",
    "remote_limit_ms",
];

/// The query that prefers the provider for operations but not for keys.
pub(super) const QUERY: &str = "?tollgate.operations=yes";

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
        bail!(
            "this system's OpenSSL is set to `{properties}`: Tollgate is not a FIPS module and \
             cannot be used with it"
        );
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
         # [{SECTION}]: {}.\n\
         {}\n\
         [default]\nopenssl_conf = {start}\n\n\
         [{start}]\nproviders = tollgate_providers\nalg_section = tollgate_algorithms\n\n\
         # The default provider reads keys and generates RSA keys: list it, and list it first.\n\
         [tollgate_providers]\ndefault = tollgate_default\n{others}tollgate = {SECTION}\n\n\
         [tollgate_default]\nactivate = 1\n\n\
         [{SECTION}]\nmodule = {}\nactivate = 1\n{settings}\n\
         [tollgate_algorithms]\ndefault_properties = {properties}\n",
        SETTINGS.join(", "),
        include.unwrap_or_default(),
        module.display(),
    ))
}

pub(super) fn settings(before: &Configuration) -> Vec<(String, String)> {
    let lines = before.section(SECTION).iter();
    lines.filter(|(key, _)| SETTINGS.contains(&key.as_str())).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_taken_up_again_and_the_last_value_counts() {
        let folder = crate::temporary_folder().unwrap();
        let (base, file) = (folder.path().join("base.cnf"), folder.path().join("file.cnf"));
        fs::write(
            &base,
            "openssl_conf = start # a comment\n[ start ]\nproviders=list\nssl_conf = \\\ntls\n\
             [list]\nlegacy = old\ndefault = d\n[d]\nactivate = 0\n",
        )
        .unwrap();
        let text = format!(
            ".include {}\n.include = {}/missing\n[start]\nproviders = ours\nalg_section = a\n\
             [ours]\ndefault = d\nx = y\n[y]\nmodule = /lib/libtollgate_provider.so\n[d]\n\
             activate = yes\n[a]\ndefault_properties = \"?provider=tollgate\"\n",
            base.display(),
            folder.as_ref().display()
        );
        fs::write(&file, text).unwrap();
        let configuration = Configuration::read(&file).unwrap();
        assert_eq!(configuration.start(), Some("start"));
        assert_eq!(configuration.started("ssl_conf"), Some("tls"));
        assert_eq!(configuration.tollgate(), Some("y"));
        assert_eq!(configuration.default_properties(), Some("?provider=tollgate"));
        assert!(is_yes(configuration.value("d", "activate")));
        assert_eq!(Configuration::read(&base).unwrap().tollgate(), None);

        fs::write(&file, format!(".include {}\n", file.display())).unwrap();
        let endless = Configuration::read(&file).unwrap_err().to_string();
        assert!(endless.contains("circular"), "{endless}");
    }

    /// The package contains the file that `install` writes on a default Debian system.
    #[test]
    fn the_package_has_the_same_text() {
        let base = (Path::new("/etc/ssl/openssl.cnf"), &Configuration::default());
        let module = Path::new("/usr/lib/x86_64-linux-gnu/ossl-modules/tollgate.so");
        let text = snippet(Some(base), module, &[]).unwrap();
        let packed = include_str!("../../../../debian/tollgate.cnf");
        assert_eq!(text, packed.replace("@MULTIARCH@", "x86_64-linux-gnu"));
    }
}
