//! The workspace as the checks see it: its crates, from `cargo metadata`, and its files.
//!
//! The checks are functions of this value alone, so that tests can pass them a fake workspace.

use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use xshell::Shell;

use crate::Result;

/// Everything that the checks read.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) crates: Vec<Crate>,
    pub(crate) files: Vec<File>,
}

/// One workspace member.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crate {
    pub(crate) name: String,
    /// Folder, relative to the root of the workspace.
    pub(crate) folder: String,
    /// `[package.metadata.tollgate] layer`, if the manifest has it.
    pub(crate) layer: Option<u64>,
    /// `[package.metadata.tollgate] unsafe`, if the manifest has it.
    pub(crate) marked_unsafe: Option<bool>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// One dependency line of a manifest.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// True for a normal dependency, false for a build or dev dependency.
    pub(crate) normal: bool,
}

/// One file. Bytes that are not UTF-8 are replaced; no check depends on them.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Path relative to the root of the workspace, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Returns the project's folder.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the project")
}

/// Returns a shell in the project's folder.
pub(crate) fn shell() -> Result<Shell> {
    let sh = Shell::new()?;
    sh.change_dir(root());
    Ok(sh)
}

/// Returns the folder that cargo builds in.
pub(crate) fn target_folder() -> Result<PathBuf> {
    Ok(MetadataCommand::new().no_deps().exec()?.target_directory.into())
}

impl Workspace {
    /// Reads the workspace that the current directory belongs to.
    pub(crate) fn read() -> Result<Self> {
        let metadata = MetadataCommand::new().no_deps().exec()?;
        let root = metadata.workspace_root.as_std_path();
        let crates = metadata.workspace_packages().iter().map(|p| krate(p, &metadata)).collect();
        let mut files = Vec::new();
        collect(root, root, &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { crates, files })
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    pub(crate) fn rust_files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// Returns the crate whose folder contains `path`; `None` for a file outside every member.
    pub(crate) fn crate_of(&self, path: &str) -> Option<&Crate> {
        self.crates.iter().find(|krate| {
            path.strip_prefix(&krate.folder).is_some_and(|rest| rest.starts_with('/'))
        })
    }
}

impl Crate {
    pub(crate) fn manifest(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }
}

impl File {
    /// Returns the path to which `link` in this file leads; `None` if it is outside the workspace.
    pub(crate) fn beside(&self, link: &str) -> Option<String> {
        let mut path: Vec<&str> = self.path.split('/').collect();
        path.pop();
        for part in link.trim_end_matches('/').split('/') {
            match part {
                "." => {}
                ".." => _ = path.pop()?,
                part => path.push(part),
            }
        }
        Some(path.join("/"))
    }

    /// Returns the number, from 1, of the first line that starts with `prefix`; 1 if there is none.
    pub(crate) fn line_that_starts(&self, prefix: &str) -> usize {
        self.text.lines().position(|line| line.starts_with(prefix)).map_or(1, |at| at + 1)
    }
}

fn krate(package: &Package, metadata: &Metadata) -> Crate {
    let root = metadata.workspace_root.as_path();
    let relative = |path: &cargo_metadata::camino::Utf8Path| {
        path.strip_prefix(root).unwrap_or(path).to_string()
    };
    let mark = &package.metadata["tollgate"];
    Crate {
        name: package.name.to_string(),
        folder: package.manifest_path.parent().map(relative).unwrap_or_default(),
        layer: mark["layer"].as_u64(),
        marked_unsafe: mark["unsafe"].as_bool(),
        dependencies: package
            .dependencies
            .iter()
            .map(|dependency| Dependency {
                name: dependency.name.clone(),
                normal: dependency.kind == DependencyKind::Normal,
            })
            .collect(),
    }
}

/// Folders of generated files.
const GENERATED: [&str; 5] = [".git", "target", "fuzz/target", "fuzz/corpus", "fuzz/artifacts"];

fn collect(root: &Path, folder: &Path, files: &mut Vec<File>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let (entry, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        let name = entry.strip_prefix(root).unwrap_or(&entry).to_string_lossy().into_owned();
        if kind.is_dir() && !GENERATED.contains(&name.as_str()) {
            collect(root, &entry, files)?;
        } else if kind.is_file() {
            let bytes = fs::read(&entry).map_err(|error| format!("{name}: {error}"))?;
            files.push(File { path: name, text: String::from_utf8_lossy(&bytes).into_owned() });
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod fake {
    //! Parts of workspaces that do not exist, for the tests of the checks.

    use super::{Crate, Dependency, File, Workspace};
    use crate::finding::Finding;

    /// Returns a crate that every check accepts: folder `crates/NAME`, layer 1, no unsafe.
    pub(crate) fn krate(name: &str) -> Crate {
        Crate {
            name: name.into(),
            folder: format!("crates/{name}"),
            layer: Some(1),
            marked_unsafe: Some(false),
            dependencies: Vec::new(),
        }
    }

    pub(crate) fn dependency(name: &str) -> Dependency {
        Dependency { name: name.into(), normal: true }
    }

    pub(crate) fn dev_dependency(name: &str) -> Dependency {
        Dependency { name: name.into(), normal: false }
    }

    /// Returns a workspace with these files, each a path and a text.
    pub(crate) fn workspace(crates: &[Crate], files: &[(&str, &str)]) -> Workspace {
        let file =
            |(path, text): &(&str, &str)| File { path: (*path).into(), text: (*text).into() };
        Workspace { crates: crates.to_vec(), files: files.iter().map(file).collect() }
    }

    /// Returns the findings of a check in a workspace with these files, as lines.
    pub(crate) fn findings(
        check: fn(&Workspace) -> Vec<Finding>,
        crates: &[Crate],
        files: &[(&str, &str)],
    ) -> Vec<String> {
        check(&workspace(crates, files)).iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Workspace;

    #[test]
    fn reads_this_workspace() {
        let workspace = Workspace::read().expect("the tests run inside the workspace");
        let xtask = workspace.crates.iter().find(|krate| krate.name == "xtask").expect("a member");
        assert_eq!((&*xtask.folder, xtask.layer), ("xtask", Some(0)));
        assert!(workspace.files.iter().all(|file| !file.path.starts_with("target/")));
        let owner = |path| workspace.crate_of(path).map(|krate| krate.name.as_str());
        assert_eq!(owner("engine/c/src/lib.rs"), Some("tollgate-c"));
        assert_eq!(owner("fuzz/fuzz_targets/texts.rs"), None);
    }
}
