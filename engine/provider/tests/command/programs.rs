//! The command `openssl` with the module in its configuration: everything still works.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

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

/// `openssl s_server`, killed at the end.
struct Server(Child);

impl Server {
    /// Starts the server on a free port, and reads the port from its output.
    fn start(mut command: Command) -> (Self, String) {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let server = Self(child);
        for line in lines.map_while(Result::ok) {
            if let Some(address) = line.strip_prefix("ACCEPT ") {
                return (server, address.into());
            }
        }
        panic!("s_server ended before it listened");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn servers_shake_hands() {
    let folder = Folder::new();
    let key = pem_path("rsa-2048.pem");
    folder.openssl(false, &format!("req -x509 -key {key} -subj /CN=localhost -out cert.pem"));
    for mode in ["", "-async"] {
        let words = format!(
            "s_server -accept 127.0.0.1:0 -www -cert cert.pem -key {key} -cipher ALL {mode}"
        );
        let (server, address) = Server::start(folder.command(true, &words));
        for suite in [
            "-tls1_3",
            "-tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256",
            "-tls1_2 -cipher AES128-GCM-SHA256",
            "-tls1_2 -cipher AES128-SHA",
        ] {
            for with_module in [false, true] {
                let words = format!(
                    "s_client -connect {address} -CAfile cert.pem -verify_return_error {suite}"
                );
                let client = folder.command_under("timeout 20", with_module, &words).output();
                assert!(client.unwrap().status.success(), "{mode} {suite}");
            }
        }
        drop(server);
    }
}

/// The client's key signs too, and the server verifies and prints the certificate.
#[test]
fn clients_with_certificates_shake_hands() {
    let folder = Folder::new();
    let key = pem_path("rsa-2048.pem");
    folder.openssl(false, &format!("req -x509 -key {key} -subj /CN=localhost -out cert.pem"));
    let own = format!("-CAfile cert.pem -cert cert.pem -key {key} -verify_return_error");
    folder.write("request", b"GET / HTTP/1.0\r\n\r\n");
    for (server_with, client_with) in [(true, false), (false, true)] {
        let words = format!("s_server -accept 127.0.0.1:0 -www -Verify 1 {own}");
        let (server, address) = Server::start(folder.command(server_with, &words));
        for version in ["-tls1_3", "-tls1_2"] {
            let words = format!("s_client -connect {address} -quiet -ign_eof {version} {own}");
            let request = std::fs::File::open(folder.path("request")).unwrap();
            let output = folder.command(client_with, &words).stdin(request).output().unwrap();
            let page = String::from_utf8_lossy(&output.stdout);
            assert!(page.contains("Client certificate"), "{version}: {page}");
            assert!(page.contains("CN = localhost") || page.contains("CN=localhost"), "{page}");
        }
        drop(server);
    }
}
