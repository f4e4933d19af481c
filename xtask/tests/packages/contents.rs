//! The files of the packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::folder;
use crate::system::{packages_of, scratch};

/// Package, its binary, a crate that it has, and one that it has not.
const PACKAGES: [(&str, &str, &str, &str); 4] = [
    ("libtollgate1", "usr/lib/*/libtollgate.so.1", "tollgate-queue", "openssl"),
    ("tollgate-provider", "usr/lib/*/ossl-modules/tollgate.so", "tollgate-curves", "openssl"),
    ("tollgate", "usr/bin/tollgate", "tollgate-signer", "aws-lc-sys"),
    ("tollgate-ladder", "usr/bin/tollgate-ladder", "aws-lc-sys", "tollgate-c"),
];

/// `cargo audit bin` reads this list of crates.
#[test]
#[ignore = "needs packages: ./x test --long"]
fn binaries_list_their_crates() {
    let Some(packages) = folder("TOLLGATE_PACKAGES") else { return };
    let folder = scratch("lists");
    for (name, binary, has, has_not) in PACKAGES {
        let tree = unpack(&package(&packages, name), &folder.join(name));
        let section = tree.join("dep-v0");
        let script = format!("objcopy --dump-section .dep-v0=\"$1\" \"$0\"/{binary} /dev/null");
        run(Command::new("sh").args(["-c", &script]).args([&tree, &section]));
        let bytes = fs::read(&section).expect("objcopy writes it");
        let text = miniz_oxide::inflate::decompress_to_vec_zlib(&bytes).expect("zlib");
        let data: Value = serde_json::from_slice(&text).expect("JSON");
        let listed = data["packages"].as_array().expect("a list");
        let contains = |krate: &str| listed.iter().any(|row| row["name"] == krate);
        assert!(contains(has) && !contains(has_not), "{name}: {listed:?}");
        assert!(listed.iter().any(|row| row["root"] == true), "{name}");
        let is_build = |row: &Value| row["name"] == "syn" && row["kind"] == "build";
        assert!(listed.iter().any(is_build), "{name}: derives need syn, but not when they run");
    }
    fs::remove_dir_all(&folder).expect("the folder belongs to this test");
}

/// systemd's folder is `/usr/lib/systemd` since Debian 13. The unit names a page.
#[test]
#[ignore = "needs packages: ./x test --long"]
fn the_command_has_its_units() {
    let Some(packages) = folder("TOLLGATE_PACKAGES") else { return };
    let folder = scratch("units");
    let tree = unpack(&package(&packages, "tollgate"), &folder.join("tree"));
    let units = ["lib/systemd/system", "usr/lib/systemd/system"].map(|place| tree.join(place));
    let units = units.iter().find(|place| place.is_dir()).expect("a folder of units");
    for unit in fs::read_dir(units).expect("it is one") {
        let text = fs::read_to_string(unit.expect("an unpacked file").path()).expect("a text");
        let page = text.lines().find_map(|line| line.strip_prefix("Documentation=file:///"));
        assert!(tree.join(page.expect("a page")).is_file(), "{page:?}");
    }
    fs::remove_dir_all(&folder).expect("the folder belongs to this test");
}

/// Builds in other folders have the same bytes: a package holds no path of the machine.
#[test]
#[ignore = "needs packages: ./x test --long"]
fn packages_have_no_path_of_this_machine() {
    let Some(packages) = folder("TOLLGATE_PACKAGES") else { return };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the project");
    let home = std::env::home_dir().filter(|home| home != Path::new("/"));
    let places = [Some(source.to_owned()), home];
    let folder = scratch("paths");
    for package in packages_of(&packages) {
        let tree = unpack(&package, &folder.join("tree"));
        for place in places.iter().flatten() {
            let grep = Command::new("grep").arg("-rFl").arg(place.join("")).arg(&tree).output();
            let found = String::from_utf8_lossy(&grep.expect("grep").stdout).into_owned();
            assert_eq!(found, "", "{}: files with {}", package.display(), place.display());
        }
        fs::remove_dir_all(&tree).expect("the folder belongs to this test");
    }
    fs::remove_dir_all(&folder).expect("the folder belongs to this test");
}

fn package(packages: &Path, name: &str) -> PathBuf {
    let prefix = format!("{name}_");
    let is_named = |path: &PathBuf| {
        path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&prefix))
    };
    packages_of(packages).into_iter().find(is_named).unwrap_or_else(|| panic!("no {name}"))
}

/// Unpacks a package with its scripts.
fn unpack(package: &Path, tree: &Path) -> PathBuf {
    run(Command::new("dpkg-deb").arg("-R").args([package, tree]));
    tree.to_owned()
}

fn run(command: &mut Command) {
    assert!(command.status().is_ok_and(|status| status.success()), "{command:?}");
}
