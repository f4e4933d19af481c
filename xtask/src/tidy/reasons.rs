//! Every external dependency has a reason in `deny.toml` and a crate that uses it, and every reason
//! belongs to a dependency.
//!
//! The reasons are the `reason` fields of `bans.features`, a table that cargo-deny reads too.

use std::collections::BTreeMap;

use toml::Table;

use super::Finding;
use crate::workspace::{Dependency, File, Workspace};

const MANIFEST: &str = "Cargo.toml";
const REASONS: &str = "deny.toml";

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let (manifest, deny) = match (read(workspace, MANIFEST), read(workspace, REASONS)) {
        (Ok(manifest), Ok(deny)) => (manifest, deny),
        (manifest, deny) => return manifest.err().into_iter().chain(deny.err()).collect(),
    };
    let (dependencies, reasons) = (dependencies(&manifest.1), reasons(&deny.1));
    let mut findings = Vec::new();

    for name in &dependencies {
        let line = manifest.0.line_that_starts(name);
        if reasons.get(name).is_none_or(|reason| reason.trim().is_empty()) {
            let remedy = format!("add {{ crate = \"{name}\", reason = \"...\" }} to bans.features");
            let what = format!("{name} has no reason in {REASONS}");
            findings.push(Finding::new(MANIFEST, line, what, remedy));
        }
        let used = |dependency: &Dependency| dependency.name == *name;
        if !workspace.crates.iter().any(|krate| krate.dependencies.iter().any(used)) {
            let what = format!("no crate depends on {name}");
            findings.push(Finding::new(MANIFEST, line, what, "remove it, and its reason"));
        }
    }
    for name in reasons.keys().filter(|name| !dependencies.contains(name)) {
        let needle = format!("\"{name}\"");
        let line = deny.0.text.lines().position(|line| line.contains(&needle));
        let what = format!("a reason for {name}, which is no dependency");
        findings.push(Finding::new(REASONS, line.unwrap_or(0) + 1, what, "remove it"));
    }
    findings
}

fn read<'a>(workspace: &'a Workspace, path: &str) -> Result<(&'a File, Table), Finding> {
    let file = workspace
        .file(path)
        .ok_or_else(|| Finding::new(path, 1, "the file is missing", "write it"))?;
    let table = file.text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| 1 + file.text[..span.start].matches('\n').count());
        Finding::new(path, line, error.message(), "make it TOML")
    })?;
    Ok((file, table))
}

/// Returns the names in `[workspace.dependencies]` that are not crates of this workspace.
fn dependencies(manifest: &Table) -> Vec<String> {
    let entries = manifest.get("workspace").and_then(|table| table.get("dependencies"));
    let entries = entries.and_then(|value| value.as_table()).into_iter().flatten();
    entries.filter(|(_, entry)| entry.get("path").is_none()).map(|(name, _)| name.clone()).collect()
}

/// Returns the reason of each crate, by the crate's name.
fn reasons(deny: &Table) -> BTreeMap<String, String> {
    let rows = deny.get("bans").and_then(|table| table.get("features"));
    let rows = rows.and_then(|value| value.as_array()).into_iter().flatten();
    let text = |row: &toml::Value, key| row.get(key).and_then(|v| v.as_str()).map(str::to_owned);
    rows.filter_map(|row| Some((text(row, "crate")?, text(row, "reason").unwrap_or_default())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::{Workspace, fake};

    const MANIFEST: &str =
        "[workspace.dependencies]\ntollgate-a = { path = \"crates/a\" }\nserde = \"1\"\n";

    fn row(name: &str, reason: &str) -> String {
        format!("[[bans.features]]\ncrate = \"{name}\"\nreason = \"{reason}\"\n")
    }

    #[test]
    fn each_dependency_has_a_user_and_a_reason_and_no_reason_outlives_it() {
        let mut user = fake::krate("user");
        user.dependencies = vec![fake::dependency("serde")];
        let findings = |manifest: &str, deny: &str| {
            let files = [("Cargo.toml", manifest), ("deny.toml", deny)];
            fake::findings(check, core::slice::from_ref(&user), &files)
        };
        let good = row("serde", "Records are JSON.");
        assert!(findings(MANIFEST, &good).is_empty());
        for (manifest, deny, start) in [
            (MANIFEST, "", "Cargo.toml:3: serde has no reason"),
            (MANIFEST, &row("serde", " "), "Cargo.toml:3: serde has no reason"),
            (MANIFEST, &(good.clone() + &row("rand", "Gone.")), "deny.toml:5: a reason for rand"),
            (
                &(MANIFEST.to_owned() + "hex = \"0.4\"\n"),
                &(good + &row("hex", "Vectors.")),
                "Cargo.toml:4: no crate depends on hex",
            ),
            (MANIFEST, "\n[bans\n", "deny.toml:2: "),
        ] {
            let [only] = &findings(manifest, deny)[..] else { panic!("one finding") };
            assert!(only.starts_with(start), "{only}");
        }
        assert_eq!(check(&Workspace::default()).len(), 2, "both files are missing");
    }
}
