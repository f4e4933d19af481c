//! Parses the parts of an OpenSSL configuration file (config(5)) that concern providers.
//!
//! Does not expand variables: names of sections and providers contain none.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::error::CliError;

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
            return Err(CliError::new(format!("{name}: its includes are circular")));
        }
        let bytes = fs::read(path).map_err(CliError::at(path))?;
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

    /// Returns the lines of a section.
    pub(crate) fn section(&self, name: &str) -> &[(String, String)] {
        self.sections.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns a value of a section.
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

    /// Returns the default property query.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn sections_are_taken_up_again_and_the_last_value_counts() {
        let folder = std::env::temp_dir().join(format!("tollgate-conf-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (base, file) = (folder.join("base.cnf"), folder.join("file.cnf"));
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
            folder.display()
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
        fs::remove_dir_all(&folder).unwrap();
    }
}
