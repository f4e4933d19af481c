//! A crate depends only on crates of a strictly lower layer. The engine never depends on the
//! ladder; the ladder uses the engine only through its public API. Neither depends on `papers/`,
//! except for the program and the data of the publications.

use super::Finding;
use crate::workspace::{Crate, File, Workspace};

/// The crate of kernels, and the only external crate that it may depend on.
const KERNEL_CRATE: &str = "tollgate-mont";
const KERNELS_MAY_USE: &str = "zeroize";
/// Crates of the ladder that tests of the engine may use: test tools, the checks of kernels, and
/// the peer of a connection. These pairs are exempt from both rules.
const ENGINE_TESTS_MAY_USE: [(&str, &str); 11] = [
    ("tollgate-cpu", "tollgate-rerun"),
    ("tollgate-cuda", "tollgate-rerun"),
    ("tollgate-curves", "tollgate-bench"),
    ("tollgate-curves", "tollgate-rerun"),
    ("tollgate-kem", "tollgate-rerun"),
    ("tollgate-mont", "tollgate-judge"),
    ("tollgate-mont", "tollgate-rerun"),
    ("tollgate-provider", "tollgate-rerun"),
    ("tollgate-rsa", "tollgate-bench"),
    ("tollgate-rsa", "tollgate-rerun"),
    ("tollgate-rustls", "tollgate-tls-client"),
];
/// The crate of the ladder that may use those of `papers/`.
const PAPERS_USER: &str = "tollgate-cli";
/// The crate of `papers/` that every crate of the ladder may use.
const PAPERS_DATA: &str = "tollgate-published";
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
    let (Some(layer), Some(_)) = (krate.layer, krate.marked_unsafe) else {
        let remedy = "add [package.metadata.tollgate] with layer = N and unsafe = true or false";
        return vec![Finding::new(&manifest, 1, "the crate does not say its layer", remedy)];
    };
    let is_of = |part: &str, krate: &Crate| krate.folder.starts_with(part);
    let mut findings = Vec::new();
    for dependency in &krate.dependencies {
        let name = &dependency.name;
        let mut find = |what: String, remedy: &str| {
            let line = workspace.file(&manifest).map_or(1, |file| file.line_that_starts(name));
            findings.push(Finding::new(&manifest, line, what, remedy));
        };
        let pair = (krate.name.as_str(), name.as_str());
        let Some(below) = workspace.crates.iter().find(|other| other.name == *name) else {
            if dependency.normal && pair.0 == KERNEL_CRATE && pair.1 != KERNELS_MAY_USE {
                let remedy = format!("kernels depend on {KERNELS_MAY_USE} only");
                find(format!("kernels depend on {name}"), &remedy);
            }
            continue;
        };
        // A crate may depend on itself, to enable its features for its tests.
        let may_test = pair.0 == pair.1 || ENGINE_TESTS_MAY_USE.contains(&pair);
        if !dependency.normal && may_test {
            continue;
        }
        if is_of("engine/", krate) && is_of("ladder/", below) {
            let remedy = "move what both need into the engine, or list the test in tidy/layers.rs";
            find(format!("the engine depends on {name}, a crate of the ladder"), remedy);
        }
        let uses_papers = is_of("papers/", krate)
            || is_of("ladder/", krate) && (krate.name == PAPERS_USER || *name == PAPERS_DATA);
        if is_of("papers/", below) && !uses_papers {
            let remedy = format!("only {PAPERS_USER} uses these; figures are in {PAPERS_DATA}");
            find(format!("depends on {name}, a crate of papers/"), &remedy);
        }
        // A crate without a layer is reported separately.
        if let Some(other) = below.layer.filter(|other| *other >= layer)
            && krate.name != EXEMPT
        {
            let remedy = "depend on lower layers only, or move what both need further down";
            find(format!("layer {layer} depends on {name} of layer {other}"), remedy);
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::{Crate, Dependency, fake};

    fn krate(name: &str, layer: u64, dependencies: &[Dependency]) -> Crate {
        Crate { layer: Some(layer), dependencies: dependencies.to_vec(), ..fake::krate(name) }
    }

    fn findings(crates: &[Crate]) -> Vec<String> {
        fake::findings(check, crates, &[])
    }

    #[test]
    fn crates_and_their_tests_depend_on_lower_layers_only() {
        let upper = krate("upper", 2, &["lower", "serde"].map(fake::dependency));
        let xtask = krate("xtask", 0, &[fake::dependency("lower")]);
        assert!(findings(&[upper, xtask, fake::krate("lower")]).is_empty());
        let nowhere = Crate { layer: None, ..fake::krate("nowhere") };
        assert_eq!(findings(&[nowhere]).len(), 1);

        let left = krate("left", 1, &[fake::dev_dependency("right")]);
        let manifest = "[package]\nname = \"left\"\n[dev-dependencies]\nright.workspace = true\n";
        let files = [("crates/left/Cargo.toml", manifest)];
        assert_eq!(
            fake::findings(check, &[left, fake::krate("right")], &files),
            ["crates/left/Cargo.toml:4: layer 1 depends on right of layer 1; \
              depend on lower layers only, or move what both need further down"]
        );
    }

    #[test]
    fn only_the_program_uses_the_studies_of_papers() {
        let user = |name: &str, folder: &str, uses: &str| {
            let below = Crate { folder: "papers/x".into(), ..krate(uses, 1, &[]) };
            let above = krate(name, 2, &[fake::dependency(uses)]);
            findings(&[Crate { folder: folder.into(), ..above }, below]).len()
        };
        assert_eq!(user("tollgate-cli", "ladder/cli", "tollgate-itanium"), 0);
        assert_eq!(user("tollgate-leon2", "papers/leon2", "tollgate-itanium"), 0);
        assert_eq!(user("tollgate-report", "ladder/report", "tollgate-published"), 0);
        assert_eq!(user("tollgate-report", "ladder/report", "tollgate-itanium"), 1);
        assert_eq!(user("tollgate-rsa", "engine/rsa", "tollgate-published"), 1);
    }

    #[test]
    fn the_engine_depends_on_the_ladder_in_listed_tests_only_and_hides_nothing() {
        let mut crates = [
            krate("tollgate-rsa", 2, &[fake::dev_dependency("tollgate-bench")]),
            krate("tollgate-bench", 2, &[]),
        ];
        crates[0].folder = "engine/rsa".into();
        crates[1].folder = "ladder/bench".into();
        assert!(findings(&crates).is_empty());

        crates[0].dependencies[0].normal = true;
        crates[1].layer = Some(1);
        let [only] = &findings(&crates)[..] else { panic!("one finding") };
        assert!(only.contains("depends on tollgate-bench, a crate of the ladder"), "{only}");

        let hidden = "    #[doc(hidden)]\n    pub fn f() {}\n";
        let files = [("engine/a/src/lib.rs", hidden), ("ladder/a/src/hidden.rs", hidden)];
        let [only] = &fake::findings(check, &[], &files)[..] else { panic!("one finding") };
        assert!(only.starts_with("engine/a/src/lib.rs:1: "), "{only}");
    }

    #[test]
    fn a_kernel_may_use_zeroize_and_judges_but_no_other_crate() {
        let mut mont = krate("tollgate-mont", 1, &["zeroize", "libc"].map(fake::dependency));
        mont.dependencies.push(fake::dev_dependency("num-bigint"));
        let [only] = &findings(&[mont])[..] else { panic!("one finding") };
        assert!(only.contains("kernels depend on libc"), "{only}");
    }
}
