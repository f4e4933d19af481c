//! The findings of testssl.sh and sslyze, which examine servers from outside. Each of them runs
//! against a server with tickets and against one with a cache of sessions.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tollgate_server::{Certificate, Config, Engine, Resumption, Server};

use crate::rig::{Folder, TIMEOUT, keys, run};

/// Findings of testssl.sh that are expected, and why.
const EXPECTED: [(&str, &str); 5] = [
    ("HSTS", "a field of responses, which the site's back ends choose"),
    ("cert_revocation", "the test's own authority publishes no revocations"),
    ("engine_problem", "about the client: its OpenSSL has no GOST"),
    ("security_headers", "fields of responses, which the site's back ends choose"),
    ("sessionresumption_ticket", "its client closes before TLS 1.3 sends a ticket: see sslyze"),
];

/// Makes an authority, and a certificate of it for localhost with a lifetime that clients accept.
fn certify(folder: &Folder) -> Certificate {
    let path = |name: &str| folder.path(name).to_str().unwrap().to_owned();
    let [ca, ca_key, chain] = ["ca.pem", "ca.key", "chain.pem"].map(path);
    let openssl = |args: &[&str]| {
        let output = run("openssl", args, b"");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let key = keys().join("rsa-2048.pem");
    let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    let usage = ["-addext", "keyUsage=critical,keyCertSign", "-days", "90", "-subj", "/CN=ca"];
    openssl(&[&["req", "-x509", "-keyout", &ca_key, "-out", &ca], &curve[..], &usage].concat());
    let leaf = [
        "basicConstraints=critical,CA:FALSE",
        "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "extendedKeyUsage=serverAuth",
    ];
    let extensions: Vec<&str> = leaf.iter().flat_map(|it| ["-addext", it]).collect();
    let own = ["-new", "-key", key.to_str().unwrap(), "-subj", "/CN=localhost", "-days", "90"];
    let by = ["req", "-x509", "-CA", &ca, "-CAkey", &ca_key, "-out", &chain];
    openssl(&[&by[..], &own, &extensions].concat());
    Certificate::Files { chain: chain.into(), key }
}

/// Runs `scan` with the port of a server, and the folder of its authority.
fn against_both(scan: impl Fn(&str, &Folder, Resumption)) {
    for resumption in [Resumption::Tickets, Resumption::Cache] {
        let folder = Folder::new();
        let certificate = certify(&folder);
        let engine = Engine::Tollgate;
        let config = Config { certificate, engine, resumption, http2: true, ..Config::default() };
        let running = Server::start(config).unwrap();
        scan(&running.addr().port().to_string(), &folder, resumption);
        assert_eq!(running.stop(TIMEOUT).workers_lost, 0);
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
#[ignore = "three minutes: ./x test --long"]
fn testssl_finds_only_what_is_expected() {
    against_both(|port, folder, _| {
        let file = folder.path("findings.json");
        let output = Command::new("testssl")
            .args(["--quiet", "--color", "0", "--warnings", "off", "--nodns", "min"])
            .args(["--ip", "127.0.0.1", "--add-ca"])
            .arg(folder.path("ca.pem"))
            .arg("--jsonfile")
            .arg(&file)
            .arg(format!("localhost:{port}"))
            .output()
            .expect("testssl is missing: install testssl.sh");
        let findings: Vec<Value> =
            serde_json::from_slice(&fs::read(file).unwrap()).expect("a list of findings");
        let is = |finding: &Value, id: &str| finding["id"] == id;
        for id in ["heartbleed", "ROBOT", "secure_client_renego", "TLS1_3", "LUCKY13"] {
            assert!(findings.iter().any(|it| is(it, id)), "{id} is missing: {}", text(&output));
        }
        let harmless = |it: &Value| it["severity"] == "OK" || it["severity"] == "INFO";
        let expected = |it: &Value| EXPECTED.iter().any(|(id, _)| is(it, id));
        let others: Vec<_> = findings.iter().filter(|it| !harmless(it) && !expected(it)).collect();
        assert!(others.is_empty(), "{others:#?}");
    });
}

/// `./x test --long` installs it, and sets `TOLLGATE_SSLYZE` to its path.
#[test]
#[ignore = "needs a program from the Python Package Index: ./x test --long"]
#[allow(clippy::print_stdout, reason = "a skipped test is announced")]
fn sslyze_finds_nothing() {
    let Some(program) = std::env::var_os("TOLLGATE_SSLYZE") else {
        assert!(std::env::var_os("CI").is_none(), "sslyze is missing");
        return println!("not run: sslyze is missing; set TOLLGATE_SSLYZE");
    };
    against_both(|port, folder, resumption| {
        let (file, target) = (folder.path("findings.json"), format!("localhost:{port}"));
        let ca = folder.path("ca.pem");
        let recommended = ["--mozilla_config=intermediate", "--certinfo_ca_file"];
        let output = Command::new(&program).args(recommended).args([&ca]).arg(&target).output();
        let said = text(&output.unwrap());
        assert!(said.contains("OK - Compliant"), "{said}");
        // certificates have numbers that are too long for the parser of JSON
        let scans = "disable --heartbleed --openssl_ccs --robot --reneg --resum --early_data \
                     --compression --ems --fallback";
        let scans = format!("--mozilla_config={scans}");
        let output = Command::new(&program)
            .args(scans.split_whitespace())
            .arg("--json_out")
            .arg(&file)
            .arg(&target)
            .output();
        let text = text(&output.unwrap());
        let found: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        let resumes = match resumption {
            Resumption::Tickets => "tls_ticket_resumption_result",
            _ => "session_id_resumption_result",
        };
        let scans = &found["server_scan_results"][0]["scan_result"];
        let result = |scan: &str, name: &str| scans[scan]["result"][name].clone();
        let expected: [(&str, &str, Value); 10] = [
            ("heartbleed", "is_vulnerable_to_heartbleed", false.into()),
            ("openssl_ccs_injection", "is_vulnerable_to_ccs_injection", false.into()),
            ("robot", "robot_result", "NOT_VULNERABLE_RSA_NOT_SUPPORTED".into()),
            ("session_renegotiation", "is_vulnerable_to_client_renegotiation_dos", false.into()),
            ("session_renegotiation", "supports_secure_renegotiation", true.into()),
            ("session_resumption", resumes, "FULLY_SUPPORTED".into()),
            ("tls_1_3_early_data", "supports_early_data", false.into()),
            ("tls_compression", "supports_compression", false.into()),
            ("tls_extended_master_secret", "supports_ems_extension", true.into()),
            ("tls_fallback_scsv", "supports_fallback_scsv", true.into()),
        ];
        for (scan, name, value) in expected {
            assert_eq!(result(scan, name), value, "{scan} {name}: {text}");
        }
    });
}
