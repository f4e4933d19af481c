//! Each package lists the crates that it is made from, in an SBOM and in its binary.

use std::collections::BTreeSet;
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

#[test]
#[ignore = "needs packages: ./x test --long"]
fn packages_list_their_crates() {
    let Some(packages) = folder("TOLLGATE_PACKAGES") else { return };
    let folder = scratch("lists");
    for (name, binary, has, has_not) in PACKAGES {
        let package = packages_of(&packages)
            .into_iter()
            .find(|path| {
                path.file_name()
                    .is_some_and(|file| file.to_string_lossy().starts_with(&format!("{name}_")))
            })
            .unwrap_or_else(|| panic!("{name} is missing"));
        let tree = folder.join(name);
        run(Command::new("dpkg-deb").arg("-x").args([&package, &tree]));
        let sbom = fs::read(tree.join(format!("usr/share/doc/{name}/sbom.cdx.json")));
        let sbom: Value =
            serde_json::from_slice(&sbom.expect("each package has one")).expect("JSON");
        assert_eq!(sbom["bomFormat"], "CycloneDX");
        let listed = sbom["components"].as_array().expect("a list").iter().map(id);
        let listed: BTreeSet<_> = listed.collect();
        let audited = audit_data(&tree, binary);
        let mut embedded: BTreeSet<_> = audited.iter().map(id).collect();
        let root = audited.iter().find(|package| package["root"] == true).expect("a root");
        assert!(embedded.remove(&id(root)), "{root}");
        assert_eq!(listed, embedded, "{name}");
        let contains = |krate: &str| listed.iter().any(|(name, _)| name == krate);
        assert!(contains(has) && !contains(has_not), "{name}: {listed:?}");
        let is_build = |krate: &Value| krate["name"] == "syn" && krate["kind"] == "build";
        assert!(audited.iter().any(is_build), "{name}: derives need syn, but not when they run");
    }
    fs::remove_dir_all(&folder).expect("the folder belongs to this test");
}

/// systemd's folder is `/usr/lib/systemd` since Debian 13.
#[test]
#[ignore = "needs packages: ./x test --long"]
fn the_signer_has_its_unit() {
    let Some(packages) = folder("TOLLGATE_PACKAGES") else { return };
    let folder = scratch("units");
    let is_command = |path: &&PathBuf| path.to_string_lossy().contains("/tollgate_");
    let packages = packages_of(&packages);
    let package = packages.iter().find(is_command).expect("the package of the command");
    run(Command::new("dpkg-deb").arg("-x").arg(package).arg(&folder));
    let unit = "tollgate-signer.service";
    let places = ["lib/systemd/system", "usr/lib/systemd/system"];
    let found = places.iter().find(|place| folder.join(place).join(unit).is_file());
    let text = fs::read_to_string(folder.join(found.expect(unit)).join(unit)).expect("a text");
    // The page that it names is there.
    let page = text.lines().find_map(|line| line.strip_prefix("Documentation=file:///"));
    assert!(folder.join(page.expect("a page")).is_file(), "{page:?}");
    fs::remove_dir_all(&folder).expect("the folder belongs to this test");
}

fn id(krate: &Value) -> (String, String) {
    let text = |field: &str| krate[field].as_str().expect("a text").to_owned();
    (text("name"), text("version"))
}

/// Returns the packages of the section that `cargo audit bin` reads.
fn audit_data(tree: &Path, binary: &str) -> Vec<Value> {
    let section = tree.join("dep-v0");
    let script = format!("objcopy --dump-section .dep-v0=\"$1\" \"$0\"/{binary} /dev/null");
    run(Command::new("sh").args(["-c", &script]).args([tree, &section]));
    let bytes = fs::read(&section).expect("objcopy writes it");
    let text = miniz_oxide::inflate::decompress_to_vec_zlib(&bytes).expect("zlib");
    let data: Value = serde_json::from_slice(&text).expect("JSON");
    data["packages"].as_array().expect("a list").clone()
}

fn run(command: &mut Command) {
    assert!(command.status().is_ok_and(|status| status.success()), "{command:?}");
}
