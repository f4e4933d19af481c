//! Lists the kernels that this test run covers: all that the machine supports, except disabled
//! ones. Fails if a kernel is missing for any other reason, so that none is skipped unnoticed.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use tollgate_mont::{Kernel, LaneKernel, LimbKernel};

#[test]
fn every_kernel_of_this_machine_is_tested() {
    let tested: Vec<_> = LimbKernel::all()
        .iter()
        .flat_map(|k| [k.name(), k.square_name()])
        .chain(LaneKernel::all().iter().flat_map(|k| [k.name(), k.square_name()]))
        .collect();
    let mut names = tested.clone();
    names.sort_unstable();
    names.dedup();
    println!("backends tested: {names:?}");

    // Compare with Linux's list of processor flags, and with the variable itself. Under an emulator
    // of another architecture, the list is that of the host.
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has =
        |flag: &str| cfg!(target_arch = "x86_64") && flags.split_whitespace().any(|f| f == flag);
    let veto = std::env::var("TOLLGATE_CPU_DISABLE").unwrap_or_default();
    let vetoed = |word: &str| veto.split(',').any(|w| w.trim() == word);

    let mut expected = vec!["amm52_blocks_portable", "amm52_mb8_portable", "amm64_portable"];
    if has("bmi2") && has("adx") && !vetoed("adx") {
        expected.extend(["amm64_mulx", "ams64_mulx"]);
    }
    if has("avx2") && !vetoed("avx2") {
        expected.extend(["amm52_mb8_avx2", "ams52_mb8_avx2"]);
    }
    if has("avx512f") && !vetoed("avx512f") {
        expected.extend(["amm52_mb8_avx512", "ams52_mb8_avx512"]);
    }
    let has_256 = has("avx_ifma") || has("avx512vl") && has("avx512ifma");
    if has("avx2") && has_256 && !vetoed("avxifma") {
        expected.extend(["amm52_mb8_avxifma", "ams52_mb8_avxifma"]);
    }
    if ["avx512f", "avx512dq", "avx512vl", "avx512ifma"].into_iter().all(has) && !vetoed("ifma") {
        expected.extend(["amm52_mb8_ifma", "ams52_mb8_ifma"]);
        if expected.contains(&"amm64_mulx") {
            expected.push("amm52_blocks_ifma");
        }
    }
    expected.sort_unstable();
    assert_eq!(names, expected, "kernels that ran, and kernels that this machine should run");
}
