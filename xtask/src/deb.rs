//! `./x deb`: builds the Debian packages. They have the same bytes wherever the project, its crates
//! and the target folder are.

use std::env;
use std::path::Path;

use xshell::{Shell, cmd};

use crate::workspace::{root, shell, target_folder};
use crate::{Result, sbom};

pub(crate) fn build() -> Result<bool> {
    let sh = shell()?;
    let version = env!("CARGO_PKG_VERSION");
    if cmd!(sh, "dpkg-parsechangelog -S Version").read()? != version {
        let what = "the newest entry of debian/changelog is not of version";
        return Err(format!("{what} {version}, as Cargo.toml; add one").into());
    }
    let folder = target_folder()?.join("deb");
    let (tree, lists) = (folder.join("tree"), folder.join("lists"));
    sh.create_dir(&folder)?;
    for old in sh.read_dir(&folder)?.iter().filter(|path| !path.ends_with("build")) {
        sh.remove_path(old)?;
    }
    for new in [&tree, &lists] {
        sh.create_dir(new)?;
    }
    build_reproducibly(&sh, &folder)?;
    sbom::write(&sh, &lists)?;
    cmd!(sh, "cp -r debian {tree}").quiet().run()?;
    let built = folder.join("build/release");
    let _here = sh.push_dir(&tree);
    let options = env::var("DEB_BUILD_OPTIONS").unwrap_or_default();
    let packaged = cmd!(sh, "dpkg-buildpackage --build=binary --no-sign --no-pre-clean")
        .envs([("SOURCE", root()), ("BUILT", &built), ("LISTS", &lists)])
        .env("DEB_BUILD_OPTIONS", format!("noautodbgsym {options}"))
        .ignore_status()
        .output()?;
    let log = folder.join("log");
    sh.write_file(&log, [packaged.stdout, packaged.stderr].concat())?;
    if !packaged.status.success() {
        return Err(format!("dpkg-buildpackage failed; see {}", log.display()).into());
    }
    let debs =
        sh.read_dir(&folder)?.into_iter().filter(|path| path.extension() == Some("deb".as_ref()));
    debs.for_each(|package| println!("built {}", package.display()));
    let all = folder.display();
    println!("next: sudo apt install {all}/*.deb; docs/install.md says how to use them");
    Ok(true)
}

/// Builds in this folder. The compiler gets the options from a wrapper, because cargo would make
/// the names of symbols and files from options that it knows.
fn build_reproducibly(sh: &Shell, folder: &Path) -> Result<()> {
    let sysroot = cmd!(sh, "rustc --print sysroot").read()?;
    let version = cmd!(sh, "rustc -vV").read()?;
    let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
    let home = env::home_dir().unwrap_or_default().join(".cargo").display().to_string();
    // Of several prefixes that fit, the last one counts.
    let sources = [
        (env::var("CARGO_HOME").unwrap_or(home), "/cargo"),
        (sh.current_dir().display().to_string(), "/tollgate"),
        (folder.display().to_string(), "/build"),
    ];
    let library = format!("{sysroot}/lib/rustlib/src/rust=/rustc/{}", commit.unwrap_or_default());
    let mut script = format!("#!/bin/sh\nexec \"$@\" --remap-path-prefix='{library}'");
    let mut flags = String::new();
    for (from, to) in sources {
        script += &format!(" --remap-path-prefix='{from}={to}'");
        flags += &format!("-ffile-prefix-map={from}={to} ");
    }
    let wrapper = folder.join("rustc");
    sh.write_file(&wrapper, script + "\n")?;
    cmd!(sh, "chmod +x {wrapper}").quiet().run()?;
    let crates = sbom::PACKAGES.map(|(_, krate)| format!("--package={krate}"));
    let target = folder.join("build");
    let cargo = cmd!(sh, "cargo build --release --locked {crates...} --target-dir {target}");
    Ok(cargo
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .envs([("RUSTC_WRAPPER", &*wrapper.to_string_lossy()), ("CFLAGS", &flags)])
        .envs([("CXXFLAGS", &*flags), ("CARGO_INCREMENTAL", "0")])
        .run()?)
}
