//! `cargo xtask sbom FOLDER`: lists the crates that each Debian package is made from.
//!
//! Each list is written in two formats: `NAME.cdx.json` is an SBOM (`CycloneDX`), and `NAME.dep-v0`
//! is the section of a binary that `cargo auditable` would write, so `cargo audit bin` reads it.
//! `cargo auditable` itself cannot be used: it adds its section when cargo links, but the Makefile
//! links `libtollgate.so.1`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::{Value, json};

/// The Debian packages, and the crates that they are built from.
const PACKAGES: [(&str, &str); 4] = [
    ("libtollgate1", "tollgate-c"),
    ("tollgate", "tollgate"),
    ("tollgate-ladder", "tollgate-cli"),
    ("tollgate-provider", "tollgate-provider"),
];

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Name and version.
type Id = (String, String);

/// What `cargo tree` says about one crate.
#[derive(Clone, Debug, Default, PartialEq)]
struct Part {
    licence: String,
    is_local: bool,
    dependencies: BTreeSet<Id>,
}

type Tree = BTreeMap<Id, Part>;

/// Writes both formats for each package. Exit code 0: done; 2: cargo failed, or a file cannot be
/// written.
pub(crate) fn write(folder: &str) -> ExitCode {
    match try_write(Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
    }
}

fn try_write(folder: &Path) -> Result<(), String> {
    let all = parse(&cargo_tree("normal,build")?)?;
    // Code that runs only while the program is built: build scripts and procedural macros.
    let run_time = parse(&cargo_tree("normal,no-proc-macro")?)?;
    let checksums = checksums()?;
    let compiler = said(Command::new("rustc").arg("--version"))?;
    let compiler = compiler.split(' ').nth(1).unwrap_or_default().to_owned();
    for (package, krate) in PACKAGES {
        let root = all.keys().find(|(name, _)| name == krate);
        let root = root.ok_or_else(|| format!("cargo tree does not list {krate}"))?;
        let list = Inventory { all: &all, compiler: &compiler, built: closure(&all, root), root };
        let run_time = closure(&run_time, root);
        let sbom = list.cyclone_dx(package, &run_time, &checksums);
        save(&folder.join(format!("{package}.cdx.json")), format!("{sbom:#}\n").as_bytes())?;
        let section = list.audit_data(&run_time).to_string();
        let section = miniz_oxide::deflate::compress_to_vec_zlib(section.as_bytes(), 9);
        save(&folder.join(format!("{package}.dep-v0")), &section)?;
    }
    Ok(())
}

fn save(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the trees of all packages; the features are those of a build of these packages together.
fn cargo_tree(edges: &str) -> Result<String, String> {
    let mut command = Command::new("cargo");
    command.args(["tree", "--locked", "--charset=ascii", "--prefix=depth", "--format=|{p}|{l}"]);
    command.args(["--edges", edges]).current_dir(ROOT);
    said(command.args(PACKAGES.map(|(_, krate)| format!("--package={krate}"))))
}

/// Returns the standard output of a command, which must succeed.
fn said(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{name}: {error}"))
}

/// Parses lines such as `2|der v0.8.0|MIT OR Apache-2.0`: the depth, the crate and its licence.
/// A crate that was listed before ends with `(*)`, and its dependencies are not listed again.
fn parse(text: &str) -> Result<Tree, String> {
    let mut tree = Tree::new();
    let mut above: Vec<Id> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let unknown = || format!("cargo tree has the unknown line: {line}");
        let mut fields = line.splitn(3, '|');
        let (Some(depth), Some(krate), Some(licence)) =
            (fields.next(), fields.next(), fields.next())
        else {
            return Err(unknown());
        };
        let depth: usize = depth.parse().map_err(|_| unknown())?;
        let (name, rest) = krate.split_once(" v").ok_or_else(unknown)?;
        let (version, mark) = rest.split_once(' ').unwrap_or((rest, ""));
        let id = (name.to_owned(), version.to_owned());
        if depth > above.len() {
            return Err(unknown());
        }
        above.truncate(depth);
        // A crate with a build script depends on itself.
        let parent = above.last().filter(|parent| **parent != id);
        if let Some(parent) = parent.and_then(|parent| tree.get_mut(parent)) {
            parent.dependencies.insert(id.clone());
        }
        let part = tree.entry(id.clone()).or_default();
        part.licence = licence.trim_end_matches(" (*)").replace('/', " OR ");
        part.is_local |= mark.contains("(/");
        above.push(id);
    }
    Ok(tree)
}

/// Returns the crate and all that it depends on.
fn closure(tree: &Tree, root: &Id) -> BTreeSet<Id> {
    let mut found = BTreeSet::from([root.clone()]);
    let mut open = vec![root];
    while let Some(next) = open.pop().and_then(|id| tree.get(id)) {
        for dependency in &next.dependencies {
            if found.insert(dependency.clone()) {
                open.push(dependency);
            }
        }
    }
    found
}

/// Returns the SHA-256 of each crate's archive, from the lock file.
fn checksums() -> Result<BTreeMap<Id, String>, String> {
    let path = Path::new(ROOT).join("Cargo.lock");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lock: toml::Table = text.parse().map_err(|error| format!("Cargo.lock: {error}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let field = |package: &toml::Value, name: &str| Some(package.get(name)?.as_str()?.to_owned());
    let row = |package| {
        let id = (field(package, "name")?, field(package, "version")?);
        Some((id, field(package, "checksum")?))
    };
    Ok(packages.filter_map(row).collect())
}

/// The crates of one package.
struct Inventory<'a> {
    all: &'a Tree,
    compiler: &'a str,
    built: BTreeSet<Id>,
    root: &'a Id,
}

impl Inventory<'_> {
    fn parts(&self) -> impl Iterator<Item = (&Id, &Part)> {
        self.all.iter().filter(|(id, _)| self.built.contains(id))
    }

    /// It has neither a time nor a random number, so that two builds have the same file.
    fn cyclone_dx(
        &self,
        package: &str,
        run_time: &BTreeSet<Id>,
        checksums: &BTreeMap<Id, String>,
    ) -> Value {
        let component = |(id, part): (&Id, &Part)| {
            let (name, version) = id;
            let mut component = json!({
                "type": "library",
                "bom-ref": purl(id),
                "name": name,
                "version": version,
                "purl": purl(id),
                "scope": if run_time.contains(id) { "required" } else { "excluded" },
            });
            if !part.licence.is_empty() {
                component["licenses"] = json!([{ "expression": part.licence }]);
            }
            if let Some(checksum) = checksums.get(id) {
                component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
            }
            component
        };
        let others = || self.parts().filter(|(id, _)| *id != self.root);
        let dependencies = self.parts().map(|(id, part)| {
            let depends_on: Vec<_> = part.dependencies.iter().map(purl).collect();
            json!({ "ref": purl(id), "dependsOn": depends_on })
        });
        json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {
                "component": {
                    "type": "application",
                    "bom-ref": purl(self.root),
                    "name": package,
                    "version": self.root.1,
                    "licenses": [{ "expression": self.all[self.root].licence }],
                },
                "tools": { "components": [
                    { "type": "application", "name": "rustc", "version": self.compiler },
                ]},
            },
            "components": others().map(component).collect::<Vec<_>>(),
            "dependencies": dependencies.collect::<Vec<_>>(),
        })
    }

    /// The format of `cargo auditable`: dependencies are positions in the list.
    fn audit_data(&self, run_time: &BTreeSet<Id>) -> Value {
        let places: BTreeMap<&Id, usize> =
            self.parts().enumerate().map(|(at, (id, _))| (id, at)).collect();
        let row = |(id, part): (&Id, &Part)| {
            let mut row = json!({
                "name": id.0,
                "version": id.1,
                "source": if part.is_local { "local" } else { "crates.io" },
            });
            if !run_time.contains(id) {
                row["kind"] = json!("build");
            }
            if !part.dependencies.is_empty() {
                row["dependencies"] =
                    part.dependencies.iter().filter_map(|id| places.get(id)).copied().collect();
            }
            if id == self.root {
                row["root"] = json!(true);
            }
            row
        };
        json!({ "packages": self.parts().map(row).collect::<Vec<_>>() })
    }
}

fn purl((name, version): &Id) -> String {
    format!("pkg:cargo/{name}@{version}")
}

#[cfg(test)]
mod tests {
    use super::{closure, parse};

    const TREE: &str = "0|a v0.1.0 (/a)|MIT\n1|b v1.0.0|MIT/Apache-2.0\n2|c v2.0.0|MIT\n\
        1|b v1.0.0|MIT/Apache-2.0 (*)\n1|d v1.0.0 (proc-macro)|MIT\n2|d v1.0.0|MIT (*)\n\n\
        0|e v0.1.0 (/e)|MIT\n1|c v2.0.0|MIT\n";

    #[test]
    fn a_tree_has_all_edges_but_none_to_itself() {
        let tree = parse(TREE).expect("the lines of cargo tree");
        let id = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        let [a, c, e] = [id("a", "0.1.0"), id("c", "2.0.0"), id("e", "0.1.0")];
        let names =
            |root| closure(&tree, root).into_iter().map(|(name, _)| name).collect::<String>();
        assert_eq!(names(&a), "abcd");
        assert_eq!(names(&e), "ce");
        assert!(tree[&id("d", "1.0.0")].dependencies.is_empty());
        assert_eq!(tree[&id("b", "1.0.0")].licence, "MIT OR Apache-2.0");
        assert!(tree[&a].is_local && !tree[&c].is_local);
    }

    #[test]
    fn an_unknown_line_is_an_error() {
        for line in ["[build-dependencies]", "0|a|MIT", "1|a v1.0.0|MIT", "x|a v1.0.0|MIT"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
