//! `cargo xtask api`: writes the public API of the engine's crates, one item on a line, to their
//! `public-api.txt`. `--check` compares the files: a change must be meant.

use std::collections::BTreeSet;

use xshell::{Shell, cmd};

use crate::Result;
use crate::workspace::{shell, target_folder};

const CRATES: [&str; 6] = ["cpu", "curves", "mont", "queue", "rsa", "rustls"];

pub(crate) fn write() -> Result<bool> {
    let sh = shell()?;
    for krate in CRATES {
        sh.write_file(file(krate), public_api(&sh, krate)?)?;
    }
    Ok(true)
}

pub(crate) fn check() -> Result<bool> {
    let sh = shell()?;
    let mut is_recorded = true;
    for krate in CRATES {
        let (recorded, api) = (sh.read_file(file(krate))?, public_api(&sh, krate)?);
        let [old, new] = [&recorded, &api].map(|text| text.lines().collect::<BTreeSet<_>>());
        old.difference(&new).for_each(|item| println!("{krate}: - {item}"));
        new.difference(&old).for_each(|item| println!("{krate}: + {item}"));
        is_recorded &= old == new;
    }
    if !is_recorded {
        println!("if this change is meant, run ./x api, and note it in CHANGELOG.md");
    }
    Ok(is_recorded)
}

fn file(krate: &str) -> String {
    format!("engine/{krate}/public-api.txt")
}

fn public_api(sh: &Shell, krate: &str) -> Result<String> {
    let target = target_folder()?.join("public-api");
    let tool = cmd!(sh, "cargo +nightly public-api --package tollgate-{krate} --all-features -sss");
    Ok(tool.arg("--target-dir").arg(target).read()? + "\n")
}
