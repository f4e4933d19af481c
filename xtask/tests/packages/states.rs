//! Install, upgrade, remove and purge.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::folder;
use crate::system::{System, packages_of, scratch};

const CONFIGURATION: &str = "/etc/ssl/tollgate.cnf";
const SETTING: &str = "async = off";
/// Signs with OpenSSL's command, under the configuration of the package.
const SIGN: &str =
    "OPENSSL_CONF=/etc/ssl/tollgate.cnf openssl dgst -sha256 -sign /srv/key.pem /etc/passwd";
/// Lists all files, except those that apt, dpkg and ldconfig keep for themselves.
const FILES: &str = "find /etc /usr /var /run -xdev -not -path '/var/*/apt*' \
    -not -path '/var/lib/dpkg*' -not -path '/var/cache/ldconfig*' -not -path '/var/log/*' -not \
    -path /etc/ld.so.cache | sort";

#[test]
#[ignore = "needs packages and Debian systems: ./x test --long"]
fn packages_are_installed_upgraded_removed_and_purged() {
    let (Some(packages), Some(template)) = (folder("TOLLGATE_PACKAGES"), folder("TOLLGATE_DEBIAN"))
    else {
        return;
    };
    let mut system = System::new(&template, &packages, "states");
    system.run("openssl genrsa -out /srv/key.pem 2048");
    let before = system.run(FILES);

    system.run("apt-get install ./*.deb");
    assert!(system.run("tollgate --version").starts_with("tollgate "));
    let pages = system.run("ls /usr/share/man/man1");
    assert!(pages.contains("tollgate.1.gz") && pages.contains("tollgate-provider.1.gz"), "{pages}");
    // The package is what `tollgate provider install` would have done.
    let installed = system.run("tollgate provider install");
    assert_eq!(installed.matches("there already").count(), 2, "{installed}");
    let check = system.run("tollgate provider check");
    assert!(check.contains("good") && !check.contains("weak"), "{check}");
    system.run(&format!("{SIGN} >/srv/signature"));
    a_program_in_c_runs(&mut system, &template);

    system.run(&format!("sed -i '/^activate = 1/a {SETTING}' {CONFIGURATION}"));
    let version = system.run("dpkg-query -W -f '${Version}' tollgate-provider");
    upgrade(&mut system, &packages, &version);
    let upgraded = system.run("dpkg-query -W -f '${Version}\\n' 'libtollgate*' 'tollgate*'");
    assert_eq!(upgraded.lines().collect::<Vec<_>>(), [&next(&version)[..]; 5], "{upgraded}");
    assert!(system.run(&format!("cat {CONFIGURATION}")).contains(SETTING), "a setting is kept");
    system.run("tollgate provider check");

    system.run("apt-get remove tollgate tollgate-ladder tollgate-provider libtollgate1");
    assert!(system.run(&format!("cat {CONFIGURATION}")).contains(SETTING), "a setting is kept");
    assert_ne!(system.try_run("ls /usr/lib/*/ossl-modules/tollgate.so").0, 0);
    // A program that still has the variable signs as OpenSSL does.
    system.run(&format!("{SIGN} | cmp - /srv/signature"));

    system.run("apt-get purge tollgate tollgate-ladder tollgate-provider");
    system.run("rm /srv/signature");
    let after = system.run(FILES);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (before, after) = (lines(&before), lines(&after));
    let left: Vec<_> = after.iter().filter(|file| !before.contains(file)).collect();
    let gone: Vec<_> = before.iter().filter(|file| !after.contains(file)).collect();
    assert!(left.is_empty() && gone.is_empty(), "left: {left:#?}\ngone: {gone:#?}");
    system.run(&format!("{SIGN} >/dev/null"));
}

/// Compiles a program against the files of libtollgate-dev with this system's compiler, and runs
/// it.
fn a_program_in_c_runs(system: &mut System, template: &Path) {
    let root = system.folder();
    let library = fs::read_dir(root.join("usr/lib"))
        .expect("a system has libraries")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.join("libtollgate.so").exists())
        .unwrap_or_else(|| panic!("libtollgate-dev on {} has no library", template.display()));
    let compiled = Command::new("cc")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/c/examples/sign.c"))
        .arg("-I")
        .arg(root.join("usr/include"))
        .arg("-L")
        .arg(library)
        .arg("-ltollgate")
        .arg("-o")
        .arg(root.join("srv/sign"))
        .status();
    assert!(compiled.is_ok_and(|status| status.success()), "sign.c is not compiled");
    let said = system.run("/srv/sign /srv/key.pem");
    assert!(said.contains("sign"), "{said}");
    system.run("rm /srv/sign");
}

/// Installs the same packages with a later version.
fn upgrade(system: &mut System, packages: &Path, version: &str) {
    let folder = scratch("upgrade");
    for package in packages_of(packages) {
        let tree = folder.join("tree");
        dpkg_deb(&["-R".as_ref(), package.as_ref(), tree.as_ref()]);
        let control = tree.join("DEBIAN/control");
        let text = fs::read_to_string(&control).expect("each package has it");
        assert!(text.contains(&format!("\nVersion: {version}\n")), "{text}");
        let later = text
            .replace(&format!("\nVersion: {version}\n"), &format!("\nVersion: {}\n", next(version)))
            .replace(&format!("(= {version})"), &format!("(= {})", next(version)));
        fs::write(&control, later).expect("the folder belongs to this test");
        let inside: PathBuf = system.folder().join("srv/later");
        fs::create_dir_all(&inside).expect("the folder belongs to this test");
        dpkg_deb(&[
            "--root-owner-group".as_ref(),
            "-Znone".as_ref(),
            "-b".as_ref(),
            tree.as_ref(),
            inside.as_ref(),
        ]);
        fs::remove_dir_all(&tree).expect("the folder belongs to this test");
    }
    system.run("apt-get install /srv/later/*.deb");
    system.run("rm -r /srv/later");
    fs::remove_dir_all(&folder).expect("the folder belongs to this test");
}

fn next(version: &str) -> String {
    format!("{version}+later")
}

fn dpkg_deb(arguments: &[&std::ffi::OsStr]) {
    let status =
        Command::new("dpkg-deb").args(arguments).stdout(std::process::Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "dpkg-deb {arguments:?}");
}
