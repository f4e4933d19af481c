//! The workloads of the folder `workloads`, by name.

use crate::workload::Workload;

/// A workload file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// The file name without extension.
    pub name: &'static str,
    /// The content.
    pub toml: &'static str,
}

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        [$(File {
            name: $name,
            toml: include_str!(concat!("../../../../workloads/", $name, ".toml")),
        }),+]
    };
}

/// All files: workloads of today, the usual one first, then those of papers.
pub const FILES: [File; 4] = files!["pq2026", "web2026", "bank140k", "hp2001"];

impl File {
    /// Returns the file with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        FILES.into_iter().find(|file| file.name == name)
    }

    /// Parses the file.
    ///
    /// # Panics
    ///
    /// Never: the tests parse every file.
    #[must_use]
    pub fn workload(self) -> Workload {
        Workload::from_toml(self.toml).expect("the workload files of this project are valid")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_valid_and_complete() {
        for file in FILES {
            let workload = file.workload();
            let has = [
                workload.key.is_some(),
                workload.protocol.is_some(),
                workload.suite.is_some(),
                workload.bytes.is_some() != workload.sizes.is_some(),
                workload.requests_per_connection.is_some(),
                workload.resumed.is_some(),
                workload.arrivals.is_some(),
            ];
            assert!(has.iter().all(|has| *has), "{}: {has:?}", file.name);
        }
        assert_eq!(File::named("hp2002"), None);
    }
}
