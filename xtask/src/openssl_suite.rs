//! `cargo xtask test openssl`: OpenSSL's own tests, run without and with the provider.
//!
//! The sources of OpenSSL 3.5 come from Debian's archive, and are built in `target/openssl-suite`.
//! Each recipe runs three times: alone; with the provider in all configurations that activate
//! `default`; and with the provider in every library context that loads `default`. Both times the
//! provider is preferred. The results of all tests must be those of OpenSSL alone, in any order,
//! but for those of [`EXPLAINED`]. The output of each recipe is kept in a folder of the mode.
//!
//! The programs that contain libcrypto export its functions, because the provider looks them up.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::{fs, thread};

use xshell::{Shell, cmd};

use crate::Result;
use crate::workspace::{shell, target_folder};

mod outcome;
mod sources;

/// The variable that loads the provider into every library context: see [`sources`].
const EVERYWHERE: &str = "TOLLGATE_EVERYWHERE";

/// Tests whose results differ, and the reason: the recipe, the beginnings of their descriptions,
/// and those of the tests that contain them.
const EXPLAINED: &[(&str, &[&str], &str)] = &[
    (
        "test_certtypeext",
        &["Simple verify"],
        "an engine makes all digests constant, but not those that this provider computes",
    ),
    (
        "test_evp",
        &[
            "evppkey_rsa.txt:219",
            "running evp_test -config ../../test/default-and-legacy.cnf evppkey_rsa.txt",
            "run_file_tests",
            "iteration 1",
        ],
        "the stanza compares the text of an error; other stanzas and files are differences",
    ),
    (
        "test_evp_extra",
        &["test_ecdsa_digestsign_keccak", "running evp_extra_test", "iteration"],
        "ECDSA with KECCAK is refused: docs/provider.md, What is left out",
    ),
    (
        "test_evp_extra",
        &["test_RSA_verify_recover_rejects_short_buffer"],
        "compares the library of an error",
    ),
    (
        "test_evp_extra",
        &["test_EVP_set_config_properties"],
        "compares the query of its configuration, which has that of this provider too",
    ),
    (
        "test_evp_extra_ml_kem",
        &["test_non_derandomised_ml_kem", ""],
        "gives random numbers of its own; this provider takes those of the system",
    ),
    (
        "test_nodefltctx",
        &["test_no_deflt_ctx_init", "running nodefltctxtest"],
        "expects that nothing reads the configuration; setting the query does",
    ),
    ("test_out_option", &["invalid output path: "], "the path is random"),
    (
        "test_provider_pkey",
        &["test_alternative_keygen_init", "running provider_pkey_test"],
        "unloads `default` and loads it again, after this provider, which comes first then",
    ),
    (
        "test_sslsigalgs",
        &["No TLSv1.2 sigalgs, ECDSA"],
        "an engine makes all digests constant, but not those that this provider computes",
    ),
];

/// How many differences of a recipe are printed. If a program ends early, all its tests are
/// missing.
const LINES_MAX: usize = 6;

/// How a recipe runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Alone,
    Configured,
    Everywhere,
}

/// Runs the recipes of these names, or all. Returns whether there is no unexplained difference.
pub(crate) fn run(names: &[&str]) -> Result<bool> {
    let (sh, folder) = (shell()?, target_folder()?.join("openssl-suite"));
    let Some(source) = sources::built(&sh, &folder)? else {
        return Ok(true);
    };
    cmd!(sh, "cargo build --quiet --release --package tollgate-provider").run()?;
    let module = source.join("providers/tollgate.so");
    sh.copy_file(target_folder()?.join("release/libtollgate_provider.so"), &module)?;
    let recipes = recipes(&sh, &source, names)?;
    let alone = run_all(&source, &folder, &recipes, Mode::Alone)?;
    let configurations = sources::configurations(&sh, &source)?;
    for (path, text) in &configurations {
        sh.write_file(path, sources::with_provider(text, &module))?;
    }
    let configured = run_all(&source, &folder, &recipes, Mode::Configured);
    for (path, text) in &configurations {
        sh.write_file(path, text)?;
    }
    let everywhere = run_all(&source, &folder, &recipes, Mode::Everywhere)?;

    let mut lines = Vec::new();
    for (mode, results) in [(Mode::Configured, configured?), (Mode::Everywhere, everywhere)] {
        for (recipe, with) in &results {
            let of_recipe = EXPLAINED.iter().filter(|row| row.0 == recipe);
            let explained: Vec<_> = of_recipe.flat_map(|row| row.1).copied().collect();
            let found = outcome::differences(&alone[recipe], with, &explained);
            let hidden = found.len().saturating_sub(LINES_MAX);
            let shown = found.into_iter().take(LINES_MAX);
            lines.extend(shown.map(|line| format!("{mode:?} {recipe}: {line}")));
            if hidden > 0 {
                lines.push(format!("{mode:?} {recipe}: and {hidden} more"));
            }
        }
        let tests: usize = results.values().map(outcome::count).sum();
        println!("{mode:?}: {tests} tests compared");
    }
    lines.iter().for_each(|line| println!("{line}"));
    Ok(lines.is_empty())
}

/// Returns the names of the recipes: all, or the given ones.
fn recipes(sh: &Shell, source: &Path, names: &[&str]) -> Result<Vec<String>> {
    let _here = sh.push_dir(source);
    let list = cmd!(sh, "perl test/run_tests.pl list").env("SRCTOP", ".").env("BLDTOP", ".");
    let all: Vec<_> = list.read()?.lines().map(str::to_owned).collect();
    if let Some(name) = names.iter().find(|name| !all.iter().any(|known| known == **name)) {
        return Err(format!("{name} is no recipe: see {}/test/recipes", source.display()).into());
    }
    Ok(all.into_iter().filter(|name| names.is_empty() || names.contains(&name.as_str())).collect())
}

/// Runs recipes, two at a time, and returns the results of their tests. The output of each is kept
/// in a folder of the mode.
fn run_all(
    source: &Path,
    folder: &Path,
    recipes: &[String],
    mode: Mode,
) -> Result<BTreeMap<String, outcome::Results>> {
    let kept = folder.join(format!("{mode:?}").to_lowercase());
    fs::create_dir_all(&kept)?;
    let (next, results) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || -> core::result::Result<(), String> {
        while let Some(recipe) = recipes.get(next.fetch_add(1, Ordering::Relaxed)) {
            let output = recipe_output(source, recipe, mode)?;
            fs::write(kept.join(recipe), &output).map_err(|why| format!("{recipe}: {why}"))?;
            let mut results = results.lock().map_err(|_| "a worker panicked")?;
            results.insert(recipe.clone(), outcome::parse(&output));
            println!("{mode:?} {recipe}: {} of {}", results.len(), recipes.len());
        }
        Ok(())
    };
    let workers = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|_| Err("a worker panicked".to_owned()))
        })
    })?;
    Ok(results.into_inner().map_err(|_| "a worker panicked")?)
}

fn recipe_output(source: &Path, recipe: &str, mode: Mode) -> core::result::Result<String, String> {
    let mut command = Command::new("perl");
    command.args(["test/run_tests.pl", recipe]).current_dir(source);
    let variables = [("SRCTOP", "."), ("BLDTOP", "."), ("PERL", "perl"), ("EXE_EXT", "")];
    command.envs(variables).env("HARNESS_VERBOSE", "yes").env_remove(EVERYWHERE);
    if mode == Mode::Everywhere {
        command.env(EVERYWHERE, "1");
    }
    let output = command.output().map_err(|why| format!("perl: {why}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
