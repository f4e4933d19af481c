//! `cargo xtask test`: every check, in steps.
//!
//! Cargo chooses the features of outside libraries by the packages that it is asked for. The steps
//! therefore test the whole workspace, so that nothing is built twice; [`runner`] leaves out the
//! crates that a step does not name.

use std::collections::BTreeSet;
use std::env;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use xshell::{Cmd, Shell, cmd};

use crate::workspace::{Crate, Workspace, shell, target_folder};
use crate::{Result, debian};
use step::Show::{LastLine, Lines, Nothing, Totals};
use step::step;

mod slow;
mod step;

/// The crates whose tests run, or `all`.
const TESTED: &str = "TOLLGATE_TESTED";
/// A loader and its arguments, for test programs that need other libraries.
const LOADER: &str = "TOLLGATE_LOADER";
/// Features that are switched off.
const DISABLE: &str = "TOLLGATE_CPU_DISABLE";
/// Everything, then what processors without AVX-512 IFMA and without AVX-512 lack.
const VETOES: [&str; 3] = [EVERYTHING, "ifma", "ifma,avxifma,avx512f"];
const EVERYTHING: &str = "ifma,avxifma,avx512f,adx,avx2";

/// What the steps need.
struct Matrix {
    sh: Shell,
    target: PathBuf,
    xtask: PathBuf,
    crates: Vec<Crate>,
}

/// Runs a test program in the folder of its crate, if a step tests this crate.
pub(crate) fn runner(program: &str, words: &[&str]) -> Result<bool> {
    let [tested, loader] = [TESTED, LOADER].map(|name| env::var(name).unwrap_or_default());
    let krate = env::var("CARGO_PKG_NAME")?;
    if !tested.split(' ').any(|name| name == "all" || name == krate) {
        return Ok(true);
    }
    let mut line = loader.split(' ').filter(|word| !word.is_empty()).chain([program]);
    let first = line.next().unwrap_or(program);
    Err(format!("{first}: {}", Command::new(first).args(line).args(words).exec()).into())
}

/// Checks format and rules, then lints and unit tests of the crates that the changes since the
/// branch point of `main` affect.
pub(crate) fn quick() -> Result<bool> {
    let matrix = Matrix::new()?;
    let (sh, xtask) = (&matrix.sh, &matrix.xtask);
    step("format", Nothing, [cmd!(sh, "cargo fmt --all --check")])?;
    step("rules of the project", LastLine, [cmd!(sh, "{xtask} tidy")])?;
    let changed = changed(sh, &Workspace::read()?)?;
    if changed.is_empty() {
        println!(
            "no crate has changed since the branch point of main; ./x test checks all of them"
        );
        return Ok(true);
    }
    println!("changed: {}", changed.join(" "));
    let affected = match changed.iter().any(|name| name == "all") {
        true => "all".to_owned(),
        false => matrix.depend_on(&changed),
    };
    // cargo checks and builds only the crates that changed and their dependents.
    step("lints", Nothing, [lints(sh)])?;
    let tests = matrix.tests(&affected, &["--lib", "--bins"]);
    step("unit tests of the changed crates and of their dependents", Totals, [tests])?;
    Ok(true)
}

/// Runs the steps, with `is_long` also the slow ones.
pub(crate) fn run(is_long: bool) -> Result<bool> {
    let matrix = Matrix::new()?;
    let (sh, xtask) = (&matrix.sh, &matrix.xtask);
    if is_long && env::var_os("CI").is_some() {
        matrix.sanitizer()?;
    }
    step("format", Nothing, [cmd!(sh, "cargo fmt --all --check")])?;
    step("lints", Nothing, [lints(sh)])?;
    // They are no member of the workspace, so nothing else compiles them.
    let fuzz = cmd!(sh, "cargo check --locked --manifest-path fuzz/Cargo.toml");
    step("fuzz targets", Nothing, [fuzz])?;
    step("rules of the project", LastLine, [cmd!(sh, "{xtask} tidy")])?;
    let documents = cmd!(sh, "cargo doc --no-deps --workspace").env("RUSTDOCFLAGS", "-D warnings");
    step("documents", Nothing, [documents])?;
    let speed = cmd!(sh, "./x speed --bits 2048 --seconds 1");
    step(
        "a second for each row of speed, to see that measuring works",
        Lines(&["  sign"]),
        [speed],
    )?;
    // The audit reads the release builds. The kernels with vectors and MULX are for x86-64.
    if cfg!(target_arch = "x86_64") {
        step("the provider's release build", Nothing, [cmd!(sh, "./x provider")])?;
        step("machine code of the kernels", LastLine, [cmd!(sh, "{xtask} audit")])?;
    } else {
        skipped("the machine code of the kernels", "it is read on x86-64");
    }
    let examples = cmd!(sh, "cargo test --workspace --doc");
    step("examples in the documents", Totals, [examples])?;
    // Test builds are not what users run: memcheck and the tests of stacks watch the release build
    // too. tollgate-rustls has none; it is named so that AWS-LC is not built again, with other
    // features.
    let memcheck = cmd!(
        sh,
        "cargo memcheck --package tollgate-curves --package tollgate-kem --package tollgate-mont
         --package tollgate-rsa --package tollgate-rustls --lib --test constant_time
         --test stack -- constant_time leave_nothing"
    );
    step("constant time and stacks in the release build", Totals, [memcheck])?;
    // Crates that only pass numbers on are tested with vetoes in the long run.
    let vetoed = match is_long {
        true => matrix.depend_on(&["tollgate-cpu".to_owned()]),
        false => matrix.computing(),
    };
    for veto in VETOES {
        matrix.test_with_veto(veto, &vetoed, &[])?;
    }
    // Its own variable: with a veto of AVX-512 where the processor has it, `graviola` is not used.
    let kem = matrix.tests("tollgate-kem", &["--tests"]).env("GRAVIOLA_CPU_DISABLE_avx512f", "1");
    step("ML-KEM of `graviola` without AVX-512", Totals, [kem])?;
    if is_long {
        sh.set_var("TOLLGATE_TEST_LONG", "1");
        matrix.test_with_veto("", "all", &["--release"])?;
    }
    matrix.test_with_veto("", "all", &[])?;
    matrix.test_debian_13(is_long)?;
    if is_long {
        matrix.run_slow()?;
    }
    Ok(true)
}

fn lints(sh: &Shell) -> Cmd<'_> {
    cmd!(sh, "cargo clippy --workspace --all-targets -- -D warnings")
}

fn skipped(step: &str, why: impl core::fmt::Display) {
    println!("skipped: {step}: {why}");
}

/// Returns what a step needs; without it, prints why the step is skipped.
fn needed<T>(step: &str, needed: Result<T>) -> Option<T> {
    needed.inspect_err(|why| skipped(step, why)).ok()
}

impl Matrix {
    fn new() -> Result<Self> {
        let crates = Workspace::read()?.crates;
        Ok(Self { sh: shell()?, target: target_folder()?, xtask: env::current_exe()?, crates })
    }

    /// Builds the tests of the workspace that `words` select, and runs those of these crates.
    fn tests(&self, crates: &str, words: &[&str]) -> Cmd<'_> {
        let runner = format!("target.'cfg(all())'.runner=['{}', 'runner']", self.xtask.display());
        // as in `cargo memcheck`, for tests of the release build
        let assertions = "profile.release.package.tollgate-cpu.debug-assertions=true";
        // Many tests wait for servers: a few more threads than cores keep the cores busy.
        let threads = std::thread::available_parallelism().map_or(4, |cores| cores.get() + 2);
        let threads = env::var("RUST_TEST_THREADS").unwrap_or_else(|_| threads.to_string());
        let cargo = cmd!(self.sh, "cargo test --workspace --config {runner} --config {assertions}");
        cargo.args(words).env(TESTED, crates).env("RUST_TEST_THREADS", threads)
    }

    /// Tests with features switched off. The contract test compares its list of backends with the
    /// features that the processor has and the veto leaves. Doc tests run once, in another step.
    fn test_with_veto(&self, veto: &str, crates: &str, words: &[&str]) -> Result<()> {
        let with = [&[&*format!("with {DISABLE}='{veto}'")], words].concat().join(" ");
        let tests = |crates, before: &[&str], after: &[&str]| {
            self.tests(crates, &[before, words, after].concat()).env(DISABLE, veto)
        };
        let backends = tests("tollgate-mont", &["--test", "backends"], &["--", "--nocapture"]);
        step(&format!("backends {with}"), Lines(&["backends tested:"]), [backends])?;
        let number = match crates {
            "all" => "all".to_owned(),
            crates => crates.split(' ').count().to_string(),
        };
        let all = tests(crates, &["--lib", "--bins", "--tests", "--examples"], &[]);
        step(&format!("tests of {number} crates {with}"), Totals, [all])
    }

    /// Returns these crates and all that depend on one of them for any purpose.
    fn depend_on(&self, crates: &[String]) -> String {
        let mut found: BTreeSet<&str> = crates.iter().map(String::as_str).collect();
        let mut before = 0;
        while found.len() > before {
            before = found.len();
            for krate in &self.crates {
                if krate.dependencies.iter().any(|below| found.contains(&*below.name)) {
                    found.insert(&krate.name);
                }
            }
        }
        found.into_iter().collect::<Vec<_>>().join(" ")
    }

    /// Returns the crates of rungs 1 and 2, which compute: a veto can change their results.
    fn computing(&self) -> String {
        let folders =
            ["engine/kem", "engine/mont", "engine/rsa", "engine/queue", "ladder/1-kernel"];
        let computes =
            |krate: &&Crate| folders.iter().any(|folder| krate.folder.starts_with(folder));
        let names = self.crates.iter().filter(computes).map(|krate| krate.name.as_str());
        names.collect::<Vec<_>>().join(" ")
    }

    /// Tests with the OpenSSL and the servers of Debian 13. If the archive does not answer, this is
    /// skipped, in CI too: the project is not at fault.
    fn test_debian_13(&self, is_long: bool) -> Result<()> {
        let folder = self.target.join("debian-13");
        let fetched = debian::fetch_13(&self.sh, &folder);
        if needed("OpenSSL 3.5 and the servers of Debian 13", fetched).is_none() {
            return Ok(());
        }
        let command = self.tests("tollgate-provider", &["--test", "command"]);
        let command = command.env("TOLLGATE_OPENSSL", folder.join("openssl"));
        step("the provider with OpenSSL of Debian 13", Totals, [command])?;
        let stock = ["--test", "stock", "--", "handshakes::nginx", "handshakes::haproxy"];
        let others = ["handshakes::s_server", "handshakes::keys", "clients::", "batches::"];
        let others = [&others[..], &["hybrid::", "signer_jobs::", "sessions_resume_with"]].concat();
        let changes: &[&str] = if is_long { &["changes::"] } else { &[] };
        let words = [&stock[..], &others, changes].concat();
        let servers = self.tests("tollgate-stock-servers", &words).env("TOLLGATE_STOCK", &folder);
        step("Debian 13's servers with the provider", Totals, [servers])?;
        let (library, loader) = debian::loader(&self.sh, &folder.join("root"))?;
        let loader = format!("{} --library-path {}", loader.display(), library.display());
        // A test program that starts itself again would do so without the loader.
        let words = ["--test", "kem", "--", "--skip", "forked_processes"];
        let kem = self.tests("tollgate-provider", &words).env(LOADER, &loader);
        step("ML-KEM beside that of OpenSSL 3.5", Totals, [kem])?;
        let words = ["--lib", "--test", "by_part", "--", "kem", "--nocapture"];
        let sessions = self.tests("tollgate-session", &words).env(LOADER, loader);
        step("sessions with a group of OpenSSL 3.5", Totals, [sessions])
    }
}

/// Returns the crates whose files differ from the branch point of `main`, committed or not, or
/// `all` if a file belongs to every crate.
fn changed(sh: &Shell, workspace: &Workspace) -> Result<Vec<String>> {
    let base = cmd!(sh, "git merge-base HEAD main").ignore_stderr().read();
    let base = base.unwrap_or_else(|_| "HEAD".to_owned());
    let differing = cmd!(sh, "git diff --name-only {base}").read()?;
    let new = cmd!(sh, "git ls-files --others --exclude-standard").read()?;
    let of_all = ["Cargo.toml", "Cargo.lock", "clippy.toml", ".cargo/", "vectors/", "workloads/"];
    let owner = |file: &str| match of_all.iter().any(|start| file.starts_with(start)) {
        true => Some("all".to_owned()),
        false => workspace.crate_of(file).map(|krate| krate.name.clone()),
    };
    let owners: BTreeSet<String> = differing.lines().chain(new.lines()).filter_map(owner).collect();
    Ok(owners.into_iter().collect())
}
