//! `speed` and `kernel`: refusals, outputs, and Ctrl-C, which keeps completed rows.

use core::time::Duration;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Instant;

use tollgate_record::{Area, Kind, Record, jsonl};

use crate::program::{
    keys, line, recorded, records, refused, run, scratch, shown, signal, start, text, tollgate,
};

#[test]
fn every_bad_key_is_refused_by_name() {
    let mut files: Vec<PathBuf> =
        fs::read_dir(keys().join("bad")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 8, "{files:?}");
    files.extend(
        ["rsa-2048.pub.pem", "rsa-2048-encrypted.pem", "ec-p256.pem", "rsa-2048-3primes.pem"]
            .map(|name| keys().join(name)),
    );
    files.push(scratch("there-is-no-such-file.pem").to_owned());
    files.push(keys()); // a folder, not a file
    for file in files {
        let name = file.to_str().unwrap();
        refused(&run(&["speed", "--seconds", "0.1", "--key", name]), &format!("{name}: "));
    }
}

#[test]
fn a_mistyped_veto_stops_everything() {
    for arguments in [&["speed"][..], &["kernel"], &["--help"]] {
        let output =
            tollgate().args(arguments).env("TOLLGATE_CPU_DISABLE", "ifma,adxx").output().unwrap();
        refused(&output, "TOLLGATE_CPU_DISABLE: \"adxx\"");
    }
}

#[test]
fn flags_that_make_no_sense_are_refused() {
    for (arguments, why) in [
        (&["speed", "--bits", "9000"][..], "9000"),
        (&["speed", "--exponent", "4"], "odd"),
        (&["speed", "--against", "none,openssl"], "none"),
        (&["speed", "--json", "/there/is/no/such/folder.jsonl"], "/there/is/no/such/folder.jsonl"),
        (&["kernel", "--bits", "64"], "128"),
        (&["kernel", "--json", "/"], "/: "),
        (&["kernel", "plan", "--bits", "640"], "--bits 640"),
        (&["kernel", "plan", "model"], "model"),
        (&["drive"], "drive"),
    ] {
        refused(&run(arguments), why);
    }
}

#[test]
fn speed_writes_every_figure_and_prints_the_table() {
    let (output, records) = recorded("speed --bits 512 --seconds 0.2", &[]);
    let stdout = shown(&output);
    assert_eq!(str::from_utf8(&output.stderr), Ok(""), "no bar where nobody looks");
    for part in ["RSA-512! sign", "verify", "tollgate x8", "OpenSSL", "Ed25519", "AWS-LC"] {
        assert!(stdout.contains(part), "{part:?} in\n{stdout}");
    }

    let subjects: BTreeSet<String> =
        records.iter().map(|record| record.subject.to_string()).collect();
    let mut expected = BTreeSet::new();
    for what in ["sign", "verify"] {
        for parameters in [
            "batch=8&by=tollgate",
            "by=tollgate",
            "by=openssl",
            "against=openssl&batch=8&by=tollgate",
            "against=openssl&by=tollgate",
        ] {
            expected.insert(format!("operation/rsa-512/{what}?{parameters}"));
        }
    }
    // no batch: each key verifies one signature
    for parameters in ["by=tollgate", "by=openssl", "against=openssl&by=tollgate"] {
        expected.insert(format!("operation/rsa-512/verify-once?{parameters}"));
    }
    let curves = [
        ("x25519/generate", &["", "batch=8&"][..]),
        ("x25519/agree", &["", "batch=8&"]),
        ("ecdh-p256/generate", &["", "batch=8&"]),
        ("ecdh-p256/agree", &["", "batch=8&"]),
        ("ecdsa-p256/sign", &["", "batch=8&"]),
        ("ecdsa-p256/verify", &["", "batch=8&"]),
        ("ed25519/sign", &[]), // only the libraries have it
        ("ed25519/verify", &[]),
    ];
    for (operation, batches) in curves {
        for by in ["openssl", "aws-lc"] {
            expected.insert(format!("operation/{operation}?by={by}"));
            for batch in batches {
                let subject = format!("operation/{operation}?against={by}&{batch}by=tollgate");
                expected.insert(subject);
                expected.insert(format!("operation/{operation}?{batch}by=tollgate"));
            }
        }
    }
    for key in ["ml-kem-768", "x25519mlkem768"] {
        for operation in ["generate", "encaps", "decaps"] {
            let has_openssl = openssl::version::number() >= 0x3050_0000;
            for by in ["openssl", "aws-lc"].into_iter().filter(|by| has_openssl || *by != "openssl")
            {
                expected.insert(format!("operation/{key}/{operation}?by={by}"));
                expected.insert(format!("operation/{key}/{operation}?against={by}&by=tollgate"));
            }
            expected.insert(format!("operation/{key}/{operation}?by=tollgate"));
            assert_eq!(stdout.contains("no ML-KEM before"), !has_openssl, "{stdout}");
        }
    }
    let (kernels, subjects): (BTreeSet<String>, BTreeSet<String>) =
        subjects.into_iter().partition(|subject| subject.starts_with("kernel/"));
    assert_eq!(subjects, expected);
    for record in &records {
        assert!(record.estimate.point() > 0.0);
        assert!(record.versions.contains_key("openssl"));
        assert!(record.conditions.contains_key("seconds_per_row"));
        let is_rsa = record.subject.key().is_some_and(|key| key.rsa_bits().is_some())
            && !record.subject.to_string().contains("verify-once");
        let by_kernel = record.subject.area() == Area::Kernel
            || is_rsa && record.subject.parameter("by") == Some("tollgate");
        assert_eq!(record.conditions.contains_key("kernel"), by_kernel, "{}", record.subject);
    }
    if cfg!(target_arch = "x86_64") {
        let predicted = |record: &&Record| matches!(record.kind, Kind::Predicted { .. });
        let of = |quantity: &str| -> Vec<&Record> {
            let of = |record: &&Record| record.quantity.as_str() == quantity;
            records.iter().filter(predicted).filter(of).collect()
        };
        let bounds = of("bound_cycles_per_operation");
        assert_eq!(bounds.len(), 4, "one for each operation of ours");
        assert!(bounds.iter().all(|bound| bound.conditions.contains_key("limit")));
        let explained = of("cycles_per_operation");
        assert_eq!(explained.len(), 4, "one for each operation of ours");
        for record in explained {
            let Kind::Predicted { by, from } = &record.kind else { unreachable!() };
            assert_eq!(by, "1-kernel");
            assert!(!from.is_empty() && from.iter().all(|subject| kernels.contains(subject)));
        }
    }
}

#[test]
fn plans_split_every_batch_at_minimum_cost() {
    let (output, records) = recorded("kernel plan --bits 512 --seconds 0.2", &[]);
    let stdout = shown(&output);
    for part in ["RSA-512! sign", "RSA-512! no CRT", "RSA-512! verify", "loses"] {
        assert!(stdout.contains(part), "{part:?} in\n{stdout}");
    }

    for (what, exponent) in [("sign", ""), ("private", "&exponent=full"), ("verify", "")] {
        let cycles = |parameters: &str, measured: bool| {
            let subject = format!("operation/rsa-512/{what}?{parameters}");
            let mut of = records.iter().filter(|record| record.subject.to_string() == subject);
            let of = of.find(|record| (record.kind == Kind::Measured) == measured);
            of.map(|record| record.estimate.point())
        };
        let alone = cycles(&format!("by=tollgate{exponent}"), true).unwrap();
        assert!(cycles(&format!("batch=8&by=tollgate{exponent}"), true).unwrap() > 0.0);
        for requests in 1..=16 {
            let batch = format!("batch={requests}&by=tollgate{exponent}");
            let planned = cycles(&batch, false).unwrap();
            let built_in = cycles(&format!("{batch}&plan=built-in"), false).unwrap();
            assert!(planned <= alone * 1.000_001, "{what} x{requests}: never worse than singles");
            assert!(planned <= built_in * 1.000_001, "{what} x{requests}: nor than the built-in");
        }
    }
}

#[test]
fn exponents_choose_the_raw_operations() {
    for (exponent, what) in [("full", "private"), ("7", "public")] {
        let flags = "speed --bits 512 --seconds 0.1 --batch 1 --exponent";
        let (output, records) = recorded(flags, &[exponent]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let subjects: BTreeSet<String> = records
            .iter()
            .map(|record| record.subject.to_string())
            .filter(|subject| subject.starts_with("operation/"))
            .collect();
        let subject = |by: &str| format!("operation/rsa-512/{what}?{by}&exponent={exponent}");
        let expected = ["against=openssl&by=tollgate", "by=tollgate", "by=openssl"].map(subject);
        assert_eq!(subjects, BTreeSet::from(expected));
    }
}

#[test]
fn a_key_from_a_file_is_measured() {
    let file = keys().join("rsa-2048-pkcs1.pem");
    let flags = "speed --seconds 0.1 --against aws-lc --json - --key";
    let output = line(flags, &[file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // Records are on standard output, so the table is on standard error.
    let records = jsonl::read_all(output.stdout.as_slice()).unwrap();
    let by = |who| {
        records.iter().any(|record| {
            record.subject.topic().to_string() == "operation/rsa-2048/sign"
                && record.subject.parameter("by") == Some(who)
        })
    };
    assert!(by("tollgate") && by("aws-lc") && !by("openssl"));
    assert!(String::from_utf8(output.stderr).unwrap().contains("RSA-2048\n  sign "));
}

#[test]
fn kernel_measures_all_that_this_machine_can_run() {
    let (output, records) = recorded("kernel --bits 512 --seconds 0.1", &[]);
    if cfg!(not(target_arch = "x86_64")) {
        return refused(&output, "core cycles");
    }
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let kernels: BTreeSet<&str> =
        records.iter().filter_map(|record| record.subject.topic().kernel()).collect();
    let mut expected =
        BTreeSet::from(["amm52_blocks_portable", "amm52_mb8_portable", "amm64_portable"]);
    if tollgate_cpu::HaveIfma::check().is_some() {
        expected.extend(["amm52_mb8_ifma", "ams52_mb8_ifma"]);
        if tollgate_cpu::HaveAdxBmi2::check().is_some() {
            expected.insert("amm52_blocks_ifma");
        }
    }
    if tollgate_cpu::HaveAdxBmi2::check().is_some() {
        expected.extend(["amm64_mulx", "ams64_mulx"]);
    }
    if tollgate_cpu::HaveAvx2::check().is_some() {
        expected.extend(["amm52_mb8_avx2", "ams52_mb8_avx2"]);
    }
    if tollgate_cpu::HaveAvxIfma::check().is_some() {
        expected.extend(["amm52_mb8_avxifma", "ams52_mb8_avxifma"]);
    }
    if tollgate_cpu::HaveAvx512::check().is_some() {
        expected.extend(["amm52_mb8_avx512", "ams52_mb8_avx512"]);
    }
    assert_eq!(kernels, expected);
    let stdout = text(&output);
    assert!(expected.iter().all(|kernel| stdout.contains(kernel)), "{stdout}");
}

#[test]
#[cfg(unix)]
fn ctrl_c_prints_the_rows_that_are_done() {
    let file = scratch("interrupted.jsonl");
    let flags = "speed --bits 512,4096 --seconds 1 --against none --json";
    let mut running = start(flags, &[file.name()]);
    // The first row's records are in the file before the second row starts.
    let started = Instant::now();
    while fs::metadata(&file).map_or(0, |found| found.len()) == 0 {
        assert!(started.elapsed() < Duration::from_secs(120), "the first row never came");
        assert!(running.try_wait().unwrap().is_none(), "it ended before the first row");
        sleep(Duration::from_millis(10));
    }
    signal("INT", running.id());
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let stdout = text(&output);
    let is_first_row = stdout.contains("X25519MLKEM768 generate ");
    assert!(is_first_row && !stdout.contains("Ed25519"), "{stdout}");
    assert!(!records(&file).is_empty());
}
