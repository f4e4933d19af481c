//! The steps of `--long`.

use std::path::{Path, PathBuf};
use std::{env, fs};

use xshell::{Cmd, cmd};

use super::step::Show::{Lines, Nothing, Totals};
use super::step::step;
use super::{DISABLE, EVERYTHING, Matrix, needed, skipped};
use crate::{Result, debian};

const ARM: &str = "aarch64-unknown-linux-gnu";

impl Matrix {
    pub(super) fn run_slow(&self) -> Result<()> {
        let (sh, xtask) = (&self.sh, &self.xtask);
        // cargo builds each crate from its package, outside this tree.
        let engine = self.crates.iter().filter(|krate| krate.folder.starts_with("engine/"));
        let crates = engine.map(|krate| format!("--package={}", krate.name));
        let folder = self.target.join("packages");
        let pack = cmd!(sh, "cargo package --allow-dirty --target-dir {folder}").args(crates);
        step("the engine's crates as packages", Nothing, [pack])?;
        let plain = cmd!(sh, "cargo check -p tollgate-rsa");
        step("RSA without old hash functions", Nothing, [plain])?;
        let oldest = sh.read_file("Cargo.toml")?;
        let oldest = oldest.lines().find_map(|line| line.strip_prefix("rust-version = \""));
        let oldest = oldest.unwrap_or_default().trim_end_matches('"');
        let folder = self.target.join("oldest");
        let commands = [
            cmd!(sh, "rustup toolchain install {oldest} --profile minimal"),
            cmd!(sh, "cargo +{oldest} check --workspace --target-dir {folder}"),
        ];
        step("the oldest Rust", Nothing, commands)?;
        step("public API", Nothing, [cmd!(sh, "{xtask} api --check")])?;
        step("the book", Nothing, [cmd!(sh, "./x book")])?;
        self.test_debs()?;
        self.test_on_arm()?;
        self.test_races()?;
        self.test_openssl_4()?;
        let suite = cmd!(sh, "{xtask} test openssl");
        let title = "OpenSSL's own tests with the provider, which takes twenty minutes";
        step(title, Lines(&["tests compared", "not run"]), [suite])?;
        // One test at a time: another one beside it would be measured too.
        let words = ["--release", "--test", "timing", "--", "--ignored", "--nocapture"];
        let timing =
            self.tests("tollgate-curves tollgate-rsa", &words).env("RUST_TEST_THREADS", "1");
        step("time of secrets, a statistical test", Lines(&["|t|", "skipped"]), [timing])
    }

    /// Builds the Debian packages, and installs them in this and later releases of Debian. A system
    /// in a folder needs the rights of root.
    fn test_debs(&self) -> Result<()> {
        let (sh, folder) = (&self.sh, self.target.join("deb"));
        let is_root = cmd!(sh, "id -u").read()? == "0";
        if !is_root || cmd!(sh, "dpkg-deb --version").ignore_stdout().quiet().run().is_err() {
            if env::var_os("CI").is_some() {
                return Err("the tests of the Debian packages need root on Debian".into());
            }
            skipped("the Debian packages", "they are tested as root on Debian");
            return Ok(());
        }
        step("Debian packages", Nothing, [cmd!(sh, "./x deb")])?;
        let is_changes = |path: &&PathBuf| path.extension() == Some("changes".as_ref());
        let changes = sh.read_dir(&folder)?;
        let changes = changes.iter().find(is_changes);
        let lintian = cmd!(sh, "lintian --allow-root --fail-on error,warning");
        // The project has no public address yet.
        let bogus = "bogus-mail-host,bogus-mail-host-in-debian-changelog";
        let lintian = lintian.args(["--suppress-tags", bogus]).args(changes);
        step("lintian", Nothing, [lintian])?;
        let tests = |names: &[&str]| {
            let words = ["--test", "packages", "--", "--ignored", "--nocapture"];
            self.tests("xtask", &[&words, names].concat()).env("TOLLGATE_PACKAGES", &folder)
        };
        step("files of the Debian packages", Totals, [tests(&["contents::"])])?;
        // Packages need libraries at least as new as those that they were built with.
        let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let has = |name: &str| system.contains(&format!("VERSION_CODENAME={name}\n"));
        let releases: &[&str] = match (has("bookworm"), has("trixie")) {
            (true, _) => &["bookworm", "trixie"],
            (_, true) => &["trixie"],
            _ => &[],
        };
        if releases.is_empty() {
            skipped("packages in Debian 12 and 13", "this system is neither");
        }
        for release in releases {
            let root = self.target.join(release);
            let title = format!("packages in Debian's {release}");
            if needed(&title, debian::fetch_system(sh, &root, release)).is_some() {
                let tests = tests(&["nginx::", "states::"]).env("TOLLGATE_DEBIAN", root);
                step(&title, Totals, [tests])?;
            }
        }
        Ok(())
    }

    /// Builds the engine for AArch64, and runs its tests under qemu. Times mean nothing there, and
    /// memcheck cannot watch.
    fn test_on_arm(&self) -> Result<()> {
        let sh = &self.sh;
        let fetch = || -> Result<PathBuf> {
            cmd!(sh, "rustup target add {ARM}").run()?;
            debian::fetch_openssl_for_arm(sh, &self.target.join("openssl-for-arm"))
        };
        let Some(folder) = needed("the engine on AArch64", fetch()) else { return Ok(()) };
        let library = folder.join("lib/aarch64-linux-gnu");
        let runner = "qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=";
        let runner = format!("{runner}{}", library.display());
        let include = folder.join("include");
        let flags = format!("-I{}/aarch64-linux-gnu", include.display());
        let cargo = |words: &str| -> Cmd<'_> {
            cmd!(sh, "cargo")
                .args(words.split(' '))
                .arg("--target")
                .arg(ARM)
                .env_remove("TOLLGATE_TEST_LONG")
                .envs([
                    ("TOLLGATE_TEST_RUNNER", &runner),
                    ("CFLAGS_aarch64_unknown_linux_gnu", &flags),
                ])
                .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", &runner)
                .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc")
                .env("AARCH64_UNKNOWN_LINUX_GNU_OPENSSL_LIB_DIR", &library)
                .env("AARCH64_UNKNOWN_LINUX_GNU_OPENSSL_INCLUDE_DIR", &include)
        };
        let build = cargo("build -p tollgate-provider -p tollgate-rustls");
        step("the engine for AArch64", Nothing, [build])?;
        let crates =
            ["cpu", "mont", "curves", "rsa", "queue"].map(|name| format!("-ptollgate-{name}"));
        let tests = cargo("test --lib --tests").args(crates);
        step("tests on AArch64 under qemu", Totals, [tests])
    }

    /// Returns the host that the thread sanitizer builds for. It needs nightly Rust, and sees the
    /// standard library's locks only in a library that was built for it.
    pub(super) fn sanitizer(&self) -> Result<String> {
        let sh = &self.sh;
        let sysroot = cmd!(sh, "rustc +nightly --print sysroot").read()?;
        if !Path::new(&sysroot).join("lib/rustlib/src/rust/library").exists() {
            let advice = "rustup component add rust-src --toolchain nightly";
            return Err(format!("nightly Rust has no sources; run: {advice}").into());
        }
        let version = cmd!(sh, "rustc +nightly -vV").read()?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        Ok(host.unwrap_or_default().to_owned())
    }

    /// Threads sign through the engine, and through the provider in libcrypto. Without the veto
    /// there are batches, but the sanitizer does not watch vectors and inline assembly; with it,
    /// everything is plain Rust. SOUNDNESS.md, "What the thread sanitizer watches", says what is
    /// never watched.
    fn test_races(&self) -> Result<()> {
        let (sh, folder) = (&self.sh, self.target.join("sanitizer"));
        let host = self.sanitizer();
        let Some(host) = needed("the thread sanitizer", host) else { return Ok(()) };
        for veto in ["", EVERYTHING] {
            // The target is named, because otherwise build scripts would be watched too. The
            // provider's module takes the sanitizer from the program that loads it, so that program
            // exports its symbols.
            let cargo = cmd!(
                sh,
                "cargo +nightly test -Zbuild-std --target {host} --target-dir {folder}
                 --package tollgate-queue --package tollgate-provider --test soak --test behaviour
                 --test libcrypto --test curves --test kem --test remote --test key_creation"
            );
            let flags = "-Zsanitizer=thread -C link-arg=-rdynamic";
            let cargo = cargo.env("RUSTFLAGS", flags).env(DISABLE, veto);
            step(&format!("data races with {DISABLE}='{veto}'"), Totals, [cargo])?;
        }
        Ok(())
    }

    /// Links the provider's tests with the libraries of `openssl4`, whose symbols they export as a
    /// shared library would.
    fn test_openssl_4(&self) -> Result<()> {
        let (sh, folder) = (&self.sh, self.target.join("openssl4"));
        let build = cmd!(sh, "cargo build --locked --manifest-path openssl4/Cargo.toml");
        let build = build.arg("--target-dir").arg(&folder);
        step("OpenSSL 4.0, which takes minutes the first time", Nothing, [build])?;
        let print = folder.join("debug/tollgate-openssl4");
        let (openssl, tests) = (cmd!(sh, "{print}").read()?, folder.join("tests"));
        let cargo = cmd!(
            sh,
            "cargo test --package tollgate-provider --target-dir {tests} --test libcrypto
             --test curves --test kem --test remote --test key_creation"
        );
        let cargo = cargo.envs([("OPENSSL_DIR", &*openssl), ("OPENSSL_STATIC", "1")]);
        let cargo = cargo.env("RUSTFLAGS", "-C link-arg=-rdynamic");
        step("the provider with OpenSSL 4.0", Totals, [cargo])
    }
}
