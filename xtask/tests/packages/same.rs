//! Two builds in different folders give the same packages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::folder;
use crate::system::{packages_of, scratch};

#[test]
#[ignore = "needs packages of two builds: ./x test --long"]
fn two_builds_give_the_same_packages() {
    let (Some(once), Some(again)) =
        (folder("TOLLGATE_PACKAGES"), folder("TOLLGATE_PACKAGES_AGAIN"))
    else {
        return;
    };
    let names = |folder: &Path| -> Vec<_> {
        packages_of(folder).iter().map(|path| path.file_name().map(ToOwned::to_owned)).collect()
    };
    assert_eq!(names(&once), names(&again));
    let pairs = packages_of(&once).into_iter().zip(packages_of(&again));
    let all: Vec<_> = pairs.flat_map(|(once, again)| differences(&once, &again)).collect();
    assert!(all.is_empty(), "{all:#?}");
}

/// A package holds no path of the machine that built it.
#[test]
#[ignore = "needs packages: ./x test --long"]
fn packages_have_no_path_of_this_machine() {
    let Some(packages) = folder("TOLLGATE_PACKAGES") else { return };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the project");
    let home = std::env::home_dir().filter(|home| home != Path::new("/"));
    let places: Vec<String> = [Some(source.to_owned()), home]
        .iter()
        .flatten()
        .map(|p| format!("{}/", p.display()))
        .collect();
    let folder = scratch("paths");
    let mut found = Vec::new();
    for package in packages_of(&packages) {
        let tree = unpack(&package, &folder.join("tree"));
        for file in files(&tree) {
            let bytes = fs::read(tree.join(&file)).expect("an unpacked file");
            for place in &places {
                let place = place.as_bytes();
                if let Some(at) = bytes.windows(place.len()).position(|part| part == place) {
                    found.push(format!("{}: {} at {at}", package.display(), file.display()));
                }
            }
        }
        fs::remove_dir_all(&tree).expect("the folder belongs to this test");
    }
    fs::remove_dir_all(&folder).expect("the folder belongs to this test");
    assert!(found.is_empty(), "{found:#?}");
}

/// Returns the differences of two packages: of the packages themselves, then of the files in them.
fn differences(once: &Path, again: &Path) -> Vec<String> {
    let name = once.file_name().unwrap_or_default().to_string_lossy();
    let Some(first) = difference(once, again) else { return Vec::new() };
    let folder = scratch(&format!("same-{name}"));
    let (once, again) = (unpack(once, &folder.join("once")), unpack(again, &folder.join("again")));
    let all: BTreeSet<_> = files(&once).into_iter().chain(files(&again)).collect();
    let mut found = vec![format!("{name}: {first}")];
    for file in all {
        let what = match (once.join(&file).exists(), again.join(&file).exists()) {
            (true, true) => difference(&once.join(&file), &again.join(&file)),
            (true, false) => Some("only in the first build".to_owned()),
            _ => Some("only in the second build".to_owned()),
        };
        found.extend(what.map(|what| format!("{name}: {}: {what}", file.display())));
    }
    fs::remove_dir_all(&folder).expect("the folder belongs to this test");
    found
}

/// Returns the first byte in which two files differ, and how many do; `None` if they are equal.
fn difference(once: &Path, again: &Path) -> Option<String> {
    let [a, b] = [once, again]
        .map(|path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    let mut differing = a.iter().zip(&b).enumerate().filter(|(_, (a, b))| a != b);
    if let Some((at, (x, y))) = differing.next() {
        let others = differing.count();
        return Some(format!("byte {at} is {x:#04x} and {y:#04x}, and {others} others differ"));
    }
    (a.len() != b.len()).then(|| format!("{} and {} bytes, equal before", a.len(), b.len()))
}

/// Unpacks a package with its scripts.
fn unpack(package: &Path, tree: &Path) -> PathBuf {
    let done = Command::new("dpkg-deb").arg("-R").args([package, tree]).status();
    assert!(done.is_ok_and(|status| status.success()), "{} is no package", package.display());
    tree.to_owned()
}

/// Returns the paths of all files below a folder; links count if they lead to a file in it.
fn files(tree: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![tree.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("an unpacked folder") {
            let entry = entry.expect("an unpacked file");
            let kind = entry.file_type().expect("an unpacked file");
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path();
                found.push(path.strip_prefix(tree).expect("it is below").to_owned());
            }
        }
    }
    found
}

/// The comparison can fail: it names the file and the byte.
#[test]
fn a_differing_byte_is_named() {
    let folder = scratch("differing");
    let package = |name: &str, text: &str| {
        let tree = folder.join(name);
        fs::create_dir_all(tree.join("DEBIAN")).expect("the folder belongs to this test");
        let control =
            "Package: p\nVersion: 1\nArchitecture: all\nMaintainer: m <m@m>\nDescription: d\n";
        fs::write(tree.join("DEBIAN/control"), control).expect("the folder belongs to this test");
        fs::write(tree.join("data"), text).expect("the folder belongs to this test");
        let package = folder.join(format!("{name}.deb"));
        let built = Command::new("dpkg-deb")
            .args(["--root-owner-group", "-b"])
            .args([&tree, &package])
            .env("SOURCE_DATE_EPOCH", "1")
            .stdout(std::process::Stdio::null())
            .status();
        built.is_ok_and(|status| status.success()).then_some(package)
    };
    let packages = [("a", "same"), ("b", "same"), ("c", "sane"), ("d", "same!")];
    let [Some(a), Some(b), Some(c), Some(d)] = packages.map(|(name, text)| package(name, text))
    else {
        assert!(std::env::var_os("CI").is_none(), "CI has dpkg-deb");
        return println!("not run: dpkg-deb is missing");
    };
    assert_eq!(differences(&a, &b), [""; 0]);
    let found = differences(&a, &c);
    assert!(
        found.contains(&"a.deb: data: byte 2 is 0x6d and 0x6e, and 0 others differ".to_owned()),
        "{found:?}"
    );
    let found = differences(&a, &d);
    assert!(found.contains(&"a.deb: data: 4 and 5 bytes, equal before".to_owned()), "{found:?}");
    fs::remove_dir_all(&folder).expect("the folder belongs to this test");
}
