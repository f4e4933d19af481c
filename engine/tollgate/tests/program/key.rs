//! `tollgate key`: generates, stores and checks key files.

use core::time::Duration;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Output};
use std::thread::sleep;
use std::time::Instant;

use crate::program::{keys, refused, run, said, scratch, signal, start, tollgate};

fn generate(file: &Path, more: &[&str]) -> Output {
    let small = ["key", "gen", "--insecure", "--bits", "512", "-o", file.to_str().unwrap()];
    run(&[&small, more].concat())
}

#[test]
fn a_key_is_written_for_its_owner_and_not_over_another() {
    let file = scratch("key.pem");
    said(&generate(&file, &[]));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let first = fs::read_to_string(&file).unwrap();
    assert!(first.starts_with("-----BEGIN PRIVATE KEY-----\n"));

    refused(&generate(&file, &[]), "the file exists");
    assert_eq!(fs::read_to_string(&file).unwrap(), first);

    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    said(&generate(&file, &["--force", "--e", "3"]));
    let second = fs::read_to_string(&file).unwrap();
    assert_ne!(second, first);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let name = file.name();
    let openssl = Command::new("openssl").args(["rsa", "-check", "-noout", "-in", name]).output();
    assert_eq!(said(&openssl.unwrap()).trim(), "RSA key ok");
    let checked = said(&run(&["key", "check", name]));
    assert!(checked.contains("weak  size") && checked.contains("good  primes"), "{checked}");
    assert!(checked.contains("weak  exponent") && checked.contains("good  pair"), "{checked}");
    refused(&generate(Path::new("/nowhere/key.pem"), &[]), "/nowhere/key.pem: ");
}

#[test]
fn without_a_file_a_key_goes_to_standard_output() {
    let key = said(&run(&["key", "gen", "--insecure", "--bits", "512"]));
    assert!(key.starts_with("-----BEGIN PRIVATE KEY-----\n") && key.ends_with("KEY-----\n"));
}

#[test]
fn a_long_file_is_refused_with_its_length() {
    let file = scratch("long.pem");
    for (length, expected) in [
        (3 << 20, "has 3145728 bytes"),
        (1 << 20, "has 1048576 bytes"),
        (70_000, "has 70000 bytes"),
    ] {
        fs::write(&file, vec![b'x'; length]).unwrap();
        refused(&run(&["key", "check", file.name()]), expected);
    }
    refused(&run(&["key", "check", "/dev/zero"]), "has over 1048576 bytes");
}

#[test]
fn a_fifo_without_a_writer_ends_with_the_first_signal() {
    let file = scratch("fifo");
    assert!(Command::new("mkfifo").arg(&*file).status().unwrap().success());
    let mut child = start("key check", &[file.name()]);
    // Gives the program time to open the file. An earlier signal also ends the program.
    sleep(Duration::from_millis(500));
    signal("TERM", child.id());
    let end = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() && Instant::now() < end {
        sleep(Duration::from_millis(5));
    }
    let status = child.try_wait().unwrap();
    let _ = child.kill();
    assert!(!status.expect("the program ended").success());
}

#[test]
fn a_closed_standard_output_is_an_error() {
    let key = keys().join("rsa-2048.pem");
    let key = key.to_str().unwrap();
    let tollgate = env!("CARGO_BIN_EXE_tollgate");
    for arguments in [&["key", "check", key][..], &["key", "gen"]] {
        let script = r#""$@" >&-"#;
        let output =
            Command::new("sh").args(["-c", script, "sh", tollgate]).args(arguments).output();
        refused(&output.unwrap(), "standard output is closed");
    }
    // output to /dev/null is discarded on purpose; this is not an error
    let status = tollgate_to_null(&["key", "check", key]);
    assert!(status.success());
}

fn tollgate_to_null(arguments: &[&str]) -> ExitStatus {
    let null = fs::File::options().read(true).write(true).open("/dev/null").unwrap();
    tollgate().args(arguments).stdout(null).status().unwrap()
}

#[test]
fn invalid_keys_are_refused_and_others_checked() {
    let check = |name: &str| run(&["key", "check", keys().join(name).to_str().unwrap()]);
    for name in ["rsa-2048.pem", "rsa-2047.pem", "rsa-2048-pkcs1.pem"] {
        assert!(said(&check(name)).contains("good  pair"), "{name}");
    }
    assert!(said(&check("rsa-2048.pub.pem")).contains("none  private"));
    refused(&check("bad/bad-dp.pem"), "bad-dp.pem: d_p is not");
    refused(&check("ec-p256.pem"), "not an RSA key");
    refused(&check("none.pem"), "none.pem: ");
}

/// tollgate-rsa compares all such files with openssl.
#[test]
fn text_and_other_blocks_around_a_key_are_skipped() {
    let file = scratch("comment.pem");
    let before = "\u{feff}# The line\n# -----BEGIN RSA PRIVATE KEY----- is not here.\nBag \
                  Attributes\n-----BEGIN CERTIFICATE-----\nM*AA\n-----END CERTIFICATE-----\n";
    for (name, format) in [("rsa-2048.pem", "PKCS#8"), ("rsa-2048-pkcs1.pem", "PKCS#1")] {
        let key = fs::read_to_string(keys().join(name)).unwrap();
        fs::write(&file, format!("{before}{key}").replace('\n', "\r\n")).unwrap();
        let shown = said(&run(&["key", "check", file.name()]));
        assert!(shown.contains(&format!("RSA private key, {format} in PEM\n")), "{shown}");
        let stub = said(&run(&["key", "stub", file.name()]));
        assert!(stub.contains("-----BEGIN TOLLGATE REMOTE KEY-----"), "{stub}");
    }
    fs::write(&file, " -----BEGIN PRIVATE KEY-----\n").unwrap();
    refused(&run(&["key", "check", file.name()]), "-----BEGIN is not alone in its line");
}

#[test]
fn unsupported_parameters_are_refused() {
    let made = |flags: &[&str]| run(&[&["key", "gen"], flags].concat());
    refused(&made(&["--bits", "1024"]), "no key of 1024 bits is made");
    refused(&made(&["--bits", "2049"]), "no key of 2049 bits is made");
    refused(&made(&["--e", "65536"]), "public exponent");
    refused(&made(&["--e", "3"]), "public exponent");
    refused(&made(&["--force"]), "--output");
}
