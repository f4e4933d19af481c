//! A crate depends only on crates of a strictly lower layer, the engine never on the ladder, and
//! kernels on next to nothing.

use super::Finding;
use crate::house::{Crate, House};

/// Crates of kernels: outside the house they may depend on [`KERNELS_MAY_USE`] only.
const KERNEL_CRATES: [&str; 1] = ["tollgate-mont"];
const KERNELS_MAY_USE: [&str; 1] = ["zeroize"];
/// Crates of the ladder that tests of the engine use: test machinery, and the other side of a
/// connection. These pairs are exempt from both rules; every other pair is a finding.
const ENGINE_TESTS_MAY_USE: [(&str, &str); 6] = [
    ("tollgate-cpu", "tollgate-rerun"),
    ("tollgate-mont", "tollgate-rerun"),
    ("tollgate-provider", "tollgate-rerun"),
    ("tollgate-rsa", "tollgate-bench"),
    ("tollgate-rsa", "tollgate-rerun"),
    ("tollgate-rustls", "tollgate-tls-client"),
];
/// It checks the house and stands outside its layers.
const EXEMPT: &str = "xtask";

pub(super) fn check(house: &House) -> Vec<Finding> {
    house.crates.iter().flat_map(|krate| check_crate(house, krate)).collect()
}

fn check_crate(house: &House, krate: &Crate) -> Vec<Finding> {
    let manifest = krate.manifest();
    let line = |name: &str| house.file(&manifest).map_or(1, |file| file.line_that_starts(name));
    let mut findings = Vec::new();

    let (Some(layer), Some(_)) = (krate.layer, krate.marked_unsafe) else {
        let remedy = "add [package.metadata.tollgate] with layer = N and unsafe = true or false";
        return vec![Finding::new(&manifest, 1, "the crate does not say its layer", remedy)];
    };
    for dependency in &krate.dependencies {
        let name = &dependency.name;
        if let Some(below) = house.crates.iter().find(|other| other.name == *name) {
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
            // A crate without a layer is a finding of its own.
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
    use crate::house::{Dependency, House, made_up};

    fn findings(house: &House) -> Vec<String> {
        check(house).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_lower_layer_is_allowed() {
        let mut upper = made_up::krate("upper");
        upper.layer = Some(2);
        upper.dependencies = vec![made_up::dependency("lower"), made_up::dependency("serde")];
        let house = House { crates: vec![upper, made_up::krate("lower")], files: Vec::new() };
        assert_eq!(check(&house), []);
    }

    #[test]
    fn the_same_layer_is_refused_for_dev_dependencies_too() {
        let mut left = made_up::krate("left");
        left.dependencies = vec![Dependency { name: "right".into(), normal: false }];
        let manifest = "[package]\nname = \"left\"\n[dev-dependencies]\nright.workspace = true\n";
        let house = House {
            crates: vec![left, made_up::krate("right")],
            files: vec![made_up::file("crates/left/Cargo.toml", manifest)],
        };
        assert_eq!(
            findings(&house),
            ["crates/left/Cargo.toml:4: layer 1 depends on right of layer 1; \
              depend on lower layers only, or move what both need further down"]
        );
    }

    #[test]
    fn the_engine_depends_on_the_ladder_in_listed_tests_only() {
        let mut engine = made_up::krate("tollgate-rsa");
        engine.folder = "engine/rsa".into();
        engine.layer = Some(2);
        engine.dependencies = vec![Dependency { name: "tollgate-bench".into(), normal: false }];
        let mut ladder = made_up::krate("tollgate-bench");
        ladder.folder = "ladder/bench".into();
        ladder.layer = Some(2);
        let mut house = House { crates: vec![engine, ladder], files: Vec::new() };
        assert_eq!(check(&house), []);

        house.crates[0].dependencies[0].normal = true;
        house.crates[1].layer = Some(1);
        let [only] = &findings(&house)[..] else { panic!("one finding") };
        assert!(only.contains("depends on tollgate-bench, a crate of the ladder"), "{only}");
    }

    #[test]
    fn xtask_may_depend_on_any_layer() {
        let mut xtask = made_up::krate("xtask");
        xtask.layer = Some(0);
        xtask.dependencies = vec![made_up::dependency("lower")];
        let house = House { crates: vec![xtask, made_up::krate("lower")], files: Vec::new() };
        assert_eq!(check(&house), []);
    }

    #[test]
    fn a_crate_without_a_layer_is_refused() {
        let mut nowhere = made_up::krate("nowhere");
        nowhere.layer = None;
        let house = House { crates: vec![nowhere], files: Vec::new() };
        assert_eq!(check(&house).len(), 1);
    }

    #[test]
    fn a_kernel_may_use_zeroize_and_judges_but_no_other_crate() {
        let mut mont = made_up::krate("tollgate-mont");
        mont.dependencies = vec![
            made_up::dependency("zeroize"),
            Dependency { name: "num-bigint".into(), normal: false },
        ];
        let mut house = House { crates: vec![mont], files: Vec::new() };
        assert_eq!(check(&house), []);

        house.crates[0].dependencies.push(made_up::dependency("libc"));
        let [only] = &findings(&house)[..] else { panic!("one finding") };
        assert!(only.contains("kernels depend on libc"), "{only}");
    }
}
