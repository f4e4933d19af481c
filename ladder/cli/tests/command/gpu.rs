//! `speed --unit gpu` without NVIDIA's driver, and with emulations in the place of its libraries.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tollgate_record::vocabulary as word;
use tollgate_record::{Quantity, Record};

use crate::program::{Scratch, records, refused, run, scratch, shown, tollgate};

/// Returns a folder for libraries that the program prefers.
fn libraries(name: &str) -> Scratch {
    let folder = scratch(name);
    fs::create_dir(folder.name()).unwrap();
    folder
}

/// Compiles an emulation.
fn compile(folder: &Scratch, library: &str, source: &str) {
    let crate_of_gpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../engine/cuda");
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++17", "-O2", "-shared", "-fPIC", "-o"]).arg(folder.join(library));
    let status = compiler.arg(crate_of_gpus.join(source)).status();
    assert!(status.expect("the emulation needs g++: install the package g++").success());
}

fn speed(libraries: &Scratch, arguments: &[&str]) -> Output {
    let mut command = tollgate();
    command.args(["speed", "--unit", "gpu"]).args(arguments);
    command.env("LD_LIBRARY_PATH", libraries.name()).output().unwrap()
}

#[test]
fn a_missing_driver_is_one_line() {
    let folder = libraries("no-driver");
    fs::write(folder.join("libcuda.so.1"), "").unwrap();
    refused(&speed(&folder, &[]), "no NVIDIA driver on this machine");
    refused(&speed(&folder, &["--bits", "512"]), "kernels for 1024, 2048, 3072, 4096 bits");
}

/// Returns the cells of the rows of a key.
fn rows<'a>(text: &'a str, key: &str) -> Vec<Vec<&'a str>> {
    let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|cells| cells.first() == Some(&key)).collect()
}

#[test]
fn batches_on_an_emulated_gpu_are_timed_compared_and_recorded() {
    let folder = libraries("driver");
    compile(&folder, "libcuda.so.1", "device/emulated_driver.cpp");
    compile(&folder, "libnvidia-ml.so.1", "tests/emulated/meter.cpp");
    let file = scratch("gpu.jsonl");
    let output = speed(&folder, &["--bits", "1024", "-z", "0.1", "--json", file.name()]);
    let text = shown(&output);
    let about = "GPU: Emulated H200, driver 580.65.06, power limit 700 W";
    assert!(text.contains(about), "{text}");
    let [row] = &rows(&text, "RSA-1024")[..] else { panic!("{text}") };
    let parsed: Vec<f64> =
        row[1..].iter().map(|cell| cell.trim_end_matches('k').parse().unwrap()).collect();
    let [width, execute, p50, p99, cpu, ..] = parsed[..] else { panic!("{text}") };
    assert!(width == 32.0 && execute > 0.0 && p50 >= execute && p99 >= p50, "{text}");
    assert!(cpu > 0.0 && parsed[5..].iter().all(|rate| *rate > 0.0), "{text}");
    assert!(text.contains("of RSA-1024; 0 wrong") && text.contains("[FSL05]"), "{text}");

    let records = records(&file);
    let of = |subject: &str, quantity: Quantity| -> &Record {
        let found = records
            .iter()
            .find(|record| record.quantity == quantity && record.subject.to_string() == subject);
        found.unwrap_or_else(|| panic!("{subject} {quantity}: {records:?}"))
    };
    let alone = "operation/rsa-1024/private?batch=32&by=gpu";
    let overlapped = "operation/rsa-1024/private?batch=32&by=gpu&threads=2";
    let quantities = [
        (alone, word::NS_PER_OPERATION),
        (alone, word::OPERATIONS_PER_S),
        (alone, word::LOAD_NS_PER_BATCH),
        (alone, word::EXECUTE_NS_PER_BATCH),
        (alone, word::STORE_NS_PER_BATCH),
        (alone, word::NOTIFY_NS_PER_BATCH),
        (alone, word::BATCH_NS_P50),
        (alone, word::BATCH_NS_P99),
        (alone, word::CPU_NS_PER_OPERATION),
        (overlapped, word::OPERATIONS_PER_S),
        (overlapped, word::BATCH_NS_P50),
        (overlapped, word::BATCH_NS_P99),
        (overlapped, word::CPU_NS_PER_OPERATION),
        (overlapped, word::OPERATIONS_PER_JOULE),
    ];
    for (subject, quantity) in quantities {
        let record = of(subject, quantity);
        assert!(record.estimate.point() > 0.0, "{record:?}");
        let expected = [
            (word::GPU, "Emulated H200"),
            (word::GPU_CLOCK_MHZ, "1980"),
            (word::GPU_DRIVER, "580.65.06"),
            (word::GPU_POWER_LIMIT_W, "700"),
        ];
        for (key, value) in expected {
            assert_eq!(record.conditions[key], value);
        }
    }
    // the meter counts two joules for each stretch, here of two batches
    assert_eq!(of(overlapped, word::OPERATIONS_PER_JOULE).estimate.point(), 32.0);
    let compared: u64 =
        of(alone, word::NS_PER_OPERATION).conditions[word::COMPARED].parse().unwrap();
    assert!(compared >= 160 && compared.is_multiple_of(32), "{compared}");
    let subjects = ["sign?batch=8&by=tollgate", "sign?by=openssl", "private?against=openssl"];
    for subject in subjects {
        let begins = format!("operation/rsa-1024/{subject}");
        let has = |record: &Record| record.subject.to_string().starts_with(&begins);
        assert!(records.iter().any(has), "{subject}");
    }

    let page = scratch("gpu.html");
    let report = shown(&run(&["ladder", file.name(), "--report", page.name()]));
    let shown_row = report.split("RSA-1024! private, GPU x32 x2").nth(1).unwrap_or_default();
    // after the unit, "per s", and the missing prediction
    let rate = shown_row.split_whitespace().nth(3);
    assert_eq!(rate, Some(row[7]), "{report}");
}

#[test]
fn without_the_management_library_its_figures_are_absent() {
    let folder = libraries("no-meter");
    compile(&folder, "libcuda.so.1", "device/emulated_driver.cpp");
    fs::write(folder.join("libnvidia-ml.so.1"), "").unwrap();
    let file = scratch("no-meter.jsonl");
    let output = speed(&folder, &["--bits", "1024", "-z", "0.05", "--json", file.name()]);
    let text = shown(&output);
    assert!(text.contains("GPU: Emulated H200, driver -, power limit -"), "{text}");
    let rows = rows(&text, "RSA-1024");
    assert_eq!(rows.last().unwrap().last(), Some(&"-"), "{text}");
    let on_gpu = records(&file).into_iter().filter(|record| record.conditions.contains_key("gpu"));
    let on_gpu: Vec<Record> = on_gpu.collect();
    assert_eq!(on_gpu.len(), 14, "the records without energy");
    assert!(on_gpu.iter().all(|record| !record.conditions.contains_key(word::GPU_CLOCK_MHZ)));
}
