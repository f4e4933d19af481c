//! The crates that each Debian package is made from, in the section `.dep-v0` of its binary. `cargo
//! audit bin` reads it, and tools that make SBOMs do.
//!
//! `cargo auditable` writes the same section, but cannot be used: it adds it when cargo links, and
//! the Makefile links `libtollgate.so.1`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};
use xshell::{Shell, cmd};

use crate::Result;

/// The Debian packages, and the crates that they are built from.
pub(crate) const PACKAGES: [(&str, &str); 4] = [
    ("libtollgate1", "tollgate-c"),
    ("tollgate", "tollgate"),
    ("tollgate-ladder", "tollgate-cli"),
    ("tollgate-provider", "tollgate-provider"),
];

/// Name and version.
type Id = (String, String);

/// What `cargo tree` says about a crate: whether it is of this project, and what it depends on.
type Part = (bool, BTreeSet<Id>);

type Tree = BTreeMap<Id, Part>;

/// Writes the section of each package, `NAME.dep-v0`, and a page of the crates with their licences,
/// `NAME.txt`, to a folder.
pub(crate) fn write(sh: &Shell, folder: &Path) -> Result<()> {
    let all = parse(&cargo_tree(sh, "normal,build")?)?;
    // Code that runs only while the program is built: build scripts and procedural macros.
    let run_time = parse(&cargo_tree(sh, "normal,no-proc-macro")?)?;
    for (package, krate) in PACKAGES {
        let root = all.keys().find(|(name, _)| name == krate);
        let root = root.ok_or_else(|| format!("cargo tree does not list {krate}"))?;
        let section = section(&all, root, &closure(&run_time, root)).to_string();
        let section = miniz_oxide::deflate::compress_to_vec_zlib(section.as_bytes(), 9);
        sh.write_file(folder.join(format!("{package}.dep-v0")), section)?;
        let list = cmd!(sh, "cargo tree --locked --prefix=none --edges=normal,build -p {krate}");
        let list = list.arg("--format={l}: {p}").read()?;
        // Behind a parenthesis are folders and marks.
        let lines: BTreeSet<&str> =
            list.lines().filter_map(|line| line.split(" (").next()).collect();
        let page = lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        sh.write_file(folder.join(format!("{package}.txt")), page + "\n")?;
    }
    Ok(())
}

/// Returns the trees of all packages; the features are those of a build of these packages together.
fn cargo_tree(sh: &Shell, edges: &str) -> Result<String> {
    let crates = PACKAGES.map(|(_, krate)| format!("--package={krate}"));
    let tree = cmd!(sh, "cargo tree --locked --charset=ascii --prefix=depth");
    Ok(tree.args(["--format=|{p}", "--edges", edges]).args(crates).read()?)
}

/// Parses lines such as `2|der v0.8.0`: the depth and the crate. A crate that was listed before
/// ends with `(*)`, and its dependencies are not listed again.
fn parse(text: &str) -> Result<Tree> {
    let mut tree = Tree::new();
    let mut above: Vec<Id> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let unknown = || format!("cargo tree has the unknown line: {line}");
        let (depth, krate) = line.split_once('|').ok_or_else(unknown)?;
        let depth: usize = depth.parse().map_err(|_| unknown())?;
        let (name, rest) = krate.split_once(" v").ok_or_else(unknown)?;
        let (version, mark) = rest.split_once(' ').unwrap_or((rest, ""));
        let id = (name.to_owned(), version.to_owned());
        if depth > above.len() {
            return Err(unknown().into());
        }
        above.truncate(depth);
        // A crate with a build script depends on itself.
        let parent = above.last().filter(|parent| **parent != id);
        if let Some((_, dependencies)) = parent.and_then(|parent| tree.get_mut(parent)) {
            dependencies.insert(id.clone());
        }
        tree.entry(id.clone()).or_default().0 |= mark.contains("(/");
        above.push(id);
    }
    Ok(tree)
}

/// Returns the crate and all that it depends on.
fn closure(tree: &Tree, root: &Id) -> BTreeSet<Id> {
    let mut found = BTreeSet::from([root.clone()]);
    let mut open = vec![root];
    while let Some((_, dependencies)) = open.pop().and_then(|id| tree.get(id)) {
        open.extend(dependencies.iter().filter(|id| found.insert((*id).clone())));
    }
    found
}

/// Returns the crates as a list, in which dependencies are positions.
fn section(all: &Tree, root: &Id, run_time: &BTreeSet<Id>) -> Value {
    let built = closure(all, root);
    let parts = || all.iter().filter(|(id, _)| built.contains(id));
    let places: BTreeMap<&Id, usize> = parts().enumerate().map(|(at, (id, _))| (id, at)).collect();
    let row = |(id, (is_local, dependencies)): (&Id, &Part)| {
        let source = if *is_local { "local" } else { "crates.io" };
        let mut row = json!({ "name": id.0, "version": id.1, "source": source });
        if !run_time.contains(id) {
            row["kind"] = json!("build");
        }
        if !dependencies.is_empty() {
            row["dependencies"] =
                dependencies.iter().filter_map(|id| places.get(id)).copied().collect();
        }
        if id == root {
            row["root"] = json!(true);
        }
        row
    };
    json!({ "packages": parts().map(row).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::{closure, parse, write};
    use crate::workspace::shell;

    const TREE: &str = "0|a v0.1.0 (/a)\n1|b v1.0.0\n2|c v2.0.0\n1|b v1.0.0 (*)\n\
        1|d v1.0.0 (proc-macro)\n2|d v1.0.0 (*)\n\n0|e v0.1.0 (/e)\n1|c v2.0.0\n";

    #[test]
    fn a_tree_has_all_edges_but_none_to_itself() {
        let tree = parse(TREE).expect("the lines of cargo tree");
        let id = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        let [a, c, e] = [id("a", "0.1.0"), id("c", "2.0.0"), id("e", "0.1.0")];
        let names =
            |root| closure(&tree, root).into_iter().map(|(name, _)| name).collect::<String>();
        assert_eq!(names(&a), "abcd");
        assert_eq!(names(&e), "ce");
        assert!(tree[&id("d", "1.0.0")].1.is_empty());
        assert!(tree[&a].0 && !tree[&c].0);
        for line in ["[build-dependencies]", "1|a v1.0.0", "x|a v1.0.0"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
    #[test]
    fn a_package_lists_crates_and_licences() {
        let sh = shell().expect("the project's folder");
        let folder = sh.create_temp_dir().expect("a folder");
        write(&sh, folder.path()).expect("cargo tree runs");
        let page = sh.read_file(folder.path().join("tollgate-provider.txt")).expect("a page");
        assert!(page.contains("\nMIT OR Apache-2.0: tollgate-rsa v"), "{page}");
        let section = sh.read_binary_file(folder.path().join("tollgate-provider.dep-v0"));
        assert!(section.is_ok_and(|bytes| bytes.len() > 1000));
    }
}
