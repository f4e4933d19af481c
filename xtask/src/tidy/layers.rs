//! A crate depends only on crates of a strictly lower layer. The engine never depends on the
//! ladder; the ladder uses the engine only through its public API. Kernels may depend on a short
//! list of crates.

use super::Finding;
use crate::workspace::{Crate, File, Workspace};

/// Crates of kernels. They may depend on no external crates except [`KERNELS_MAY_USE`].
const KERNEL_CRATES: [&str; 1] = ["tollgate-mont"];
const KERNELS_MAY_USE: [&str; 1] = ["zeroize"];
/// Crates of the ladder that tests of the engine may use: test tools, the checks of kernels, and
/// the peer of a connection. These pairs are exempt from both rules.
const ENGINE_TESTS_MAY_USE: [(&str, &str); 7] = [
    ("tollgate-cpu", "tollgate-rerun"),
    ("tollgate-mont", "tollgate-judge"),
    ("tollgate-mont", "tollgate-rerun"),
    ("tollgate-provider", "tollgate-rerun"),
    ("tollgate-rsa", "tollgate-bench"),
    ("tollgate-rsa", "tollgate-rerun"),
    ("tollgate-rustls", "tollgate-tls-client"),
];
/// The crate of these checks, which belongs to no layer.
const EXEMPT: &str = "xtask";

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let crates = workspace.crates.iter().flat_map(|krate| check_crate(workspace, krate));
    let files = workspace.rust_files().flat_map(check_file);
    crates.chain(files).collect()
}

/// Reports hidden public items, which would bypass the public API.
fn check_file(file: &File) -> Vec<Finding> {
    let lines = file.text.lines().map(str::trim_start).enumerate();
    let hidden = lines
        .filter(|(_, line)| file.path.starts_with("engine/") && line.starts_with("#[doc(hidden)]"));
    let remedy = "document it, or make it private";
    let finding =
        |at| Finding::new(&file.path, at + 1, "a hidden public item of the engine", remedy);
    hidden.map(|(at, _)| finding(at)).collect()
}

fn check_crate(workspace: &Workspace, krate: &Crate) -> Vec<Finding> {
    let manifest = krate.manifest();
    let line = |name: &str| workspace.file(&manifest).map_or(1, |file| file.line_that_starts(name));
    let mut findings = Vec::new();

    let (Some(layer), Some(_)) = (krate.layer, krate.marked_unsafe) else {
        let remedy = "add [package.metadata.tollgate] with layer = N and unsafe = true or false";
        return vec![Finding::new(&manifest, 1, "the crate does not say its layer", remedy)];
    };
    for dependency in &krate.dependencies {
        let name = &dependency.name;
        if let Some(below) = workspace.crates.iter().find(|other| other.name == *name) {
            let pair = (krate.name.as_str(), name.as_str());
            if !dependency.normal && ENGINE_TESTS_MAY_USE.contains(&pair) {
                continue;
            }
            if krate.folder.starts_with("engine/") && below.folder.starts_with("ladder/") {
                findings.push(Finding::new(
                    &manifest,
                    line(name),
                    format!("the engine depends on {name}, a crate of the ladder"),
                    "move what both need into the engine, or list the test in tidy/layers.rs",
                ));
            }
            // A crate without a layer is reported separately.
            if let Some(their) = below.layer.filter(|their| *their >= layer)
                && krate.name != EXEMPT
            {
                findings.push(Finding::new(
                    &manifest,
                    line(name),
                    format!("layer {layer} depends on {name} of layer {their}"),
                    "depend on lower layers only, or move what both need further down",
                ));
            }
        } else if dependency.normal
            && KERNEL_CRATES.contains(&krate.name.as_str())
            && !KERNELS_MAY_USE.contains(&name.as_str())
        {
            findings.push(Finding::new(
                &manifest,
                line(name),
                format!("kernels depend on {name}"),
                format!("kernels depend on {} only", KERNELS_MAY_USE.join(", ")),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::{Dependency, Workspace, fake};

    fn findings(workspace: &Workspace) -> Vec<String> {
        check(workspace).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_lower_layer_is_allowed() {
        let mut upper = fake::krate("upper");
        upper.layer = Some(2);
        upper.dependencies = vec![fake::dependency("lower"), fake::dependency("serde")];
        let workspace = Workspace { crates: vec![upper, fake::krate("lower")], files: Vec::new() };
        assert_eq!(check(&workspace), []);
    }

    #[test]
    fn the_same_layer_is_refused_for_dev_dependencies_too() {
        let mut left = fake::krate("left");
        left.dependencies = vec![Dependency { name: "right".into(), normal: false }];
        let manifest = "[package]\nname = \"left\"\n[dev-dependencies]\nright.workspace = true\n";
        let workspace = Workspace {
            crates: vec![left, fake::krate("right")],
            files: vec![fake::file("crates/left/Cargo.toml", manifest)],
        };
        assert_eq!(
            findings(&workspace),
            ["crates/left/Cargo.toml:4: layer 1 depends on right of layer 1; \
              depend on lower layers only, or move what both need further down"]
        );
    }

    #[test]
    fn the_engine_depends_on_the_ladder_in_listed_tests_only() {
        let mut engine = fake::krate("tollgate-rsa");
        engine.folder = "engine/rsa".into();
        engine.layer = Some(2);
        engine.dependencies = vec![Dependency { name: "tollgate-bench".into(), normal: false }];
        let mut ladder = fake::krate("tollgate-bench");
        ladder.folder = "ladder/bench".into();
        ladder.layer = Some(2);
        let mut workspace = Workspace { crates: vec![engine, ladder], files: Vec::new() };
        assert_eq!(check(&workspace), []);

        workspace.crates[0].dependencies[0].normal = true;
        workspace.crates[1].layer = Some(1);
        let [only] = &findings(&workspace)[..] else { panic!("one finding") };
        assert!(only.contains("depends on tollgate-bench, a crate of the ladder"), "{only}");
    }

    #[test]
    fn the_engine_has_no_hidden_public_items() {
        let files = vec![
            fake::file("engine/a/src/lib.rs", "    #[doc(hidden)]\n    pub fn f() {}\n"),
            fake::file("ladder/a/src/hidden.rs", "#[doc(hidden)]\npub fn f() {}\n"),
        ];
        let found = findings(&Workspace { crates: Vec::new(), files });
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("engine/a/src/lib.rs:1: "), "{found:?}");
    }

    #[test]
    fn xtask_may_depend_on_any_layer() {
        let mut xtask = fake::krate("xtask");
        xtask.layer = Some(0);
        xtask.dependencies = vec![fake::dependency("lower")];
        let workspace = Workspace { crates: vec![xtask, fake::krate("lower")], files: Vec::new() };
        assert_eq!(check(&workspace), []);
    }

    #[test]
    fn a_crate_without_a_layer_is_refused() {
        let mut nowhere = fake::krate("nowhere");
        nowhere.layer = None;
        let workspace = Workspace { crates: vec![nowhere], files: Vec::new() };
        assert_eq!(check(&workspace).len(), 1);
    }

    #[test]
    fn a_kernel_may_use_zeroize_and_judges_but_no_other_crate() {
        let mut mont = fake::krate("tollgate-mont");
        mont.dependencies = vec![
            fake::dependency("zeroize"),
            Dependency { name: "num-bigint".into(), normal: false },
        ];
        let mut workspace = Workspace { crates: vec![mont], files: Vec::new() };
        assert_eq!(check(&workspace), []);

        workspace.crates[0].dependencies.push(fake::dependency("libc"));
        let [only] = &findings(&workspace)[..] else { panic!("one finding") };
        assert!(only.contains("kernels depend on libc"), "{only}");
    }
}
