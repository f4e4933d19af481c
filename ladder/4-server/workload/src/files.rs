//! The workloads of the folder `workloads`, by name.

use crate::workload::Workload;

/// A workload file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// The name, which is that of the file without its ending.
    pub name: &'static str,
    /// What it holds.
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

/// All of them: those of papers, then today's.
pub const FILES: [File; 4] = files!["hp2001", "bank140k", "web2026", "pq2026"];

impl File {
    /// The file of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        FILES.into_iter().find(|file| file.name == name)
    }

    /// What it describes.
    ///
    /// # Panics
    ///
    /// Never: the tests read every one.
    #[must_use]
    pub fn workload(self) -> Workload {
        Workload::from_toml(self.toml).expect("the workload files of this project are right")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_right_and_says_what_a_run_needs() {
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
