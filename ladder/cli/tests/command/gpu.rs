//! `speed --unit gpu` without NVIDIA's driver, and with an emulated one in its place.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::program::{Scratch, refused, scratch, shown, tollgate};

/// Returns a folder for libraries that the program prefers.
fn libraries(name: &str) -> Scratch {
    let folder = scratch(name);
    fs::create_dir(folder.name()).unwrap();
    folder
}

fn speed(libraries: &Scratch, arguments: &str) -> Output {
    let mut command = tollgate();
    command.args(["speed", "--unit", "gpu"]).args(arguments.split_whitespace());
    command.env("LD_LIBRARY_PATH", libraries.name()).output().unwrap()
}

#[test]
fn a_missing_driver_is_one_line() {
    let folder = libraries("no-driver");
    fs::write(folder.join("libcuda.so.1"), "").unwrap();
    refused(&speed(&folder, ""), "no NVIDIA driver on this machine");
    refused(&speed(&folder, "--bits 512"), "kernels for 1024, 2048, 3072, 4096 bits");
}

#[test]
fn batches_on_an_emulated_gpu_are_timed() {
    let folder = libraries("driver");
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    let compiled = Command::new("g++")
        .args(["-std=c++17", "-O2", "-shared", "-fPIC", "-o"])
        .arg(folder.join("libcuda.so.1"))
        .arg(source.join("../../engine/cuda/device/emulated_driver.cpp"))
        .status();
    assert!(compiled.expect("the emulation needs g++: install the package g++").success());
    let output = speed(&folder, "--bits 1024 -z 0.1");
    let text = shown(&output);
    assert!(text.starts_with("Emulated H200, one batch after the other"), "{text}");
    let row = text.lines().last().unwrap_or_default();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((cells[0], cells[1], cells.len()), ("RSA-1024", "32", 9), "{text}");
    let times: Vec<f64> = cells[2..].iter().map(|cell| cell.parse().unwrap()).collect();
    let [_, execute, _, _, p99, cpu, rate] = times[..] else { panic!("{text}") };
    assert!(execute > 0.0 && p99 >= execute && cpu > 0.0 && rate >= 1.0, "{text}");
}
