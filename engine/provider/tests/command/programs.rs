//! The command `openssl` with the module in its configuration: everything still works.

use crate::host::openssl_conf::Folder;
use crate::host::pem_path;

#[test]
fn providers_are_listed_without_a_warning() {
    let folder = Folder::new();
    let output = folder.output(true, "list -providers -verbose");
    let (said, warned) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success());
    assert_eq!(warned, "");
    let ours = &said[said.find("  tollgate").unwrap()..];
    for line in ["name: Tollgate provider", "status: active", "tollgate-signatures"] {
        assert!(ours.contains(line), "{said}");
    }
}

/// The error comes from this provider, which shows that this provider performs the operations.
#[test]
fn errors_carry_our_reasons() {
    let folder = Folder::new();
    folder.write("message", b"a message");
    let key = pem_path("rsa-2048.pem");
    let output = folder
        .output(true, &format!("dgst -sha256 -sigopt rsa_padding_mode:none -sign {key} message"));
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("unsupported padding for this operation"), "{said}");
}

/// Only the default provider generates keys of 512 bits.
#[test]
fn the_default_provider_generates_keys_in_any_order() {
    let folder = Folder::new();
    folder.write("message", b"a message");
    let (module, key) = (crate::host::module(), pem_path("rsa-2048.pem"));
    let path = module.parent().unwrap().display();
    for order in [
        "-provider default -provider libtollgate_provider",
        "-provider libtollgate_provider -provider default",
    ] {
        let options = format!("-provider-path {path} {order} -propquery ?provider=tollgate");
        let sign = format!("dgst {options} -sha256 -sign {key} message");
        let expected = folder.openssl(false, &format!("dgst -sha256 -sign {key} message"));
        assert_eq!(folder.openssl(false, &sign), expected);
        let oaep =
            format!("dgst {options} -sha256 -sigopt rsa_padding_mode:none -sign {key} message");
        let said = String::from_utf8(folder.output(false, &oaep).stderr).unwrap();
        assert!(said.contains("unsupported padding for this operation"), "{order}: {said}");
        folder.openssl(false, &format!("genrsa {options} -out new.pem 2048"));
        folder.openssl(false, "rsa -in new.pem -check -noout");
        folder.openssl(false, &format!("genrsa {options} -out short.pem 512"));
        folder.openssl(false, "rsa -in short.pem -check -noout");
    }
}

/// Runs `openssl speed` without jobs, and with jobs that are paused while other jobs start.
#[test]
fn speed_runs() {
    let folder = Folder::new();
    for jobs in ["", "-async_jobs 4"] {
        let output = folder.output(true, &format!("speed -seconds 1 {jobs} rsa2048"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let table = String::from_utf8(output.stdout).unwrap();
        assert!(table.contains("2048 bits"), "{table}");
        assert!(!said.contains("error"), "{said}");
    }
}
