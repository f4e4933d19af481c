//! `tollgate trial`: honest folders are verified, and edited ones refused in one line.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Padding;
use openssl::sha::sha256;
use openssl::sign::{RsaPssSaltlen, Signer};
use serde_json::{Value, json};
use tollgate_bench::median_estimate;
use tollgate_record::{Kind, Machine, Record, Unit, jsonl};

use crate::outputs::assert_follows_the_schema;
use crate::program::{Scratch, keys, refused, run, scratch, shown};

/// A real histogram of 779 transaction times.
const HISTOGRAM: &str = "\
    HISTFAAAAeJ4nFVSMW4UQRAc1/T07Nze+WStTpZlTha6ABEghBAiQIjAARDwAiJichA5GRFyzCt4AxHvQHIGP8BV\
    PbuWfKPr7e3t7qqu6Xtfr6aU8pfUf3l+XNOcvvl0nV7965HfB/yo+IyfwFXD34KP+JPx/Qj/G34ZLvEMI3ZoeIr1\
    6tsRPuAC5c7JOMOEDRJ2RnOcmbxnUbVKC4boFFQ6YLICKYzlJTAAbsyLfue4r4Rss0nh0FVRxnMfvYJ52PLTBgLR\
    V2cjZV5GS6IZmgujks8JbaV9x+T3rB0xWYl2KMGLXmUB/cK+e73yTOxizmPWs+BBahmguJM6iR0TuUbIA1lpLGWZ\
    WSILhvpJA4kKJBM/tPBAVRGUL7nc46/0OAvFwWLusijZaKTaat01VSTFXMVWJkGz0hLDLSo7omU/Q+sTiZlLOx+C\
    7HpYkeKgmwha+Ra+2chLbj00q4FdsHRNGRQ4qi6DC0Nc56W4uoZgtQtnamCCxzxGp1fwhDevHiNCr7j3aGshccIj\
    9tiaWmvpXnT+vYvax9wBA21Fn3VZNsVihcLvaxv5LV5SaDlvTl8M4W54TrnenEfbs49wwkPgNeMjDnjJcOaebAUz\
    6bukuODbBm95DlG/xWMWnXPEFNkneIAb1Iof4Q==";

/// Sessions in each run of one second, by server.
const SESSIONS: [(&str, [u64; 6]); 2] = [
    ("openssl", [900, 910, 870, 905, 890, 930]),
    ("tollgate", [1300, 1290, 1350, 1310, 1240, 1320]),
];

fn record(subject: &str, quantity: &str, unit: Unit, values: &[f64]) -> Value {
    let figure = (quantity.parse().unwrap(), unit, median_estimate(values).unwrap());
    let machine = Machine::unknown("Some Processor 9000");
    let record = Record::new(subject.parse().unwrap(), figure, Kind::Measured, machine);
    let mut line = Vec::new();
    jsonl::Writer::new(&mut line).write(&record).unwrap();
    serde_json::from_slice(&line).unwrap()
}

#[allow(clippy::cast_precision_loss, reason = "small counts")]
fn outcome() -> Value {
    let (mut runs, mut records) = (Vec::new(), Vec::new());
    let subject = |by: &str| format!("server/rsa-2048/tls13?by={by}&bytes=14336");
    for (server, sessions) in SESSIONS {
        for (place, count) in sessions.into_iter().enumerate() {
            let counts = json!({
                "attempts": count, "retries": 0, "client_done": count, "signatures_verified": 0,
                "confirmed": count, "responses": count, "response_bytes": 0,
                "transactions": count, "body_bytes": 0, "failures": [], "timed_out": {},
                "resumptions": {
                    "offered": 0, "accepted": 0, "refused": 0, "starved": 0, "early_data": 0,
                },
            });
            runs.push(json!({
                "server": server, "number": place + 1, "verdict": "VALID",
                "target": "127.0.0.1:1", "began_at": "2026-11-28T10:00:00Z", "reasons": [],
                "doubts": [], "plan": {}, "plan_hash": "0", "abandoned": 0, "series": [],
                "sustained_s": 1.0, "server_cores": 0.5,
                "client_cpu": {"cores": 0.2, "busiest_share": 0.2},
                "whole": counts, "sustain": counts,
                "server_log": {"handshakes": count, "responses": count, "resumed": 0, "failed": 0},
                "sessions_per_s": count as f64, "server_cpu_ns_per_session": 0.5e9 / count as f64,
                "client_cpu_ns_per_session": 0.2e9 / count as f64,
                "times": {"transaction": {
                    "count": 779, "above": 0, "hdr_v2_base64": HISTOGRAM,
                    "p50_ns": 19447807, "p99_ns": 42860543,
                }},
            }));
        }
        let rates = sessions.map(|count| count as f64);
        records.push(record(&subject(server), "sessions_per_s", Unit::PerSecond, &rates));
        let cpu = rates.map(|rate| 0.5e9 / rate);
        records.push(record(&subject(server), "server_cpu_ns_per_session", Unit::Nanos, &cpu));
        let p90 = [f64::from(29065215_u32); 6];
        records.push(record(&subject(server), "transaction_ns_p90", Unit::Nanos, &p90));
    }
    let pairs = SESSIONS[1].1.into_iter().zip(SESSIONS[0].1);
    let ratios: Vec<f64> = pairs.map(|(ours, theirs)| ours as f64 / theirs as f64).collect();
    let pair = "server/rsa-2048/tls13?against=openssl&by=tollgate&bytes=14336";
    records.push(record(pair, "sessions_per_s_ratio", Unit::Ratio, &ratios));
    let batch = "private_operations_per_batch";
    records.push(record(&subject("tollgate"), batch, Unit::Count, &[6.5; 6]));
    let scenario =
        json!({"label": "rsa-2048 tls13", "lines": [], "runs": runs, "records": records});
    json!({
        "version": 2, "complete": true, "written_at": "2026-11-28T10:00:00Z", "command": [],
        "machine": {}, "versions": {}, "conditions": {}, "scenarios": [scenario],
    })
}

fn disclosure() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/trial-disclosure.toml").to_owned()
}

fn key(name: &str) -> String {
    keys().join(name).to_str().unwrap().to_owned()
}

/// Writes a run's folder, and packs it.
fn packed(name: &str, outcome: &Value) -> (Scratch, Scratch) {
    let (from, bundle) = (scratch(&format!("{name}-run")), scratch(&format!("{name}-bundle")));
    fs::create_dir_all(&from).unwrap();
    fs::write(from.join("outcome.json"), outcome.to_string()).unwrap();
    let added = disclosure();
    let (disclosure, key) = (disclosure(), key("rsa-3072.pem"));
    let output = run(&[
        "trial",
        "pack",
        from.name(),
        "--key",
        &key,
        "--disclosure",
        &disclosure,
        "--add",
        &added,
        "--out",
        bundle.name(),
    ]);
    let text = shown(&output);
    assert!(text.contains("8 figures, signed with the key"), "{text}");
    (from, bundle)
}

fn verify(bundle: &Scratch, more: &[&str]) -> std::process::Output {
    run(&[&["trial", "verify", bundle.name()], more].concat())
}

/// Lists the hashes of a folder's files again, and signs them with OpenSSL.
fn signed_again(folder: &Path, edit: impl FnOnce(&mut Value)) {
    let pem = fs::read(keys().join("rsa-3072.pem")).unwrap();
    let key: PKey<Private> = PKey::private_key_from_pem(&pem).unwrap();
    let path = folder.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for file in manifest["files"].as_array_mut().unwrap() {
        let content = fs::read(folder.join(file["name"].as_str().unwrap())).unwrap();
        let hash: String = sha256(&content).iter().map(|byte| format!("{byte:02x}")).collect();
        (file["bytes"], file["sha256"]) = (content.len().into(), hash.into());
    }
    edit(&mut manifest);
    fs::write(&path, manifest.to_string()).unwrap();
    let mut signer = Signer::new(MessageDigest::sha256(), &key).unwrap();
    signer.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
    signer.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH).unwrap();
    let signature = signer.sign_oneshot_to_vec(manifest.to_string().as_bytes()).unwrap();
    fs::write(folder.join("manifest.sig"), signature).unwrap();
}

#[test]
fn an_honest_folder_is_verified_and_the_rest_named() {
    let (_run, bundle) = packed("honest", &outcome());
    assert_follows_the_schema("trial-manifest.schema.json", &bundle.join("manifest.json"));
    let text = shown(&verify(&bundle, &[]));
    for part in [
        "signature: good, made with the key below",
        "tester: an example",
        "14 KB, tollgate   1.30k",
        "arithmetic: 7 of 8 figures follow from the raw samples",
        "do not have their samples: 1 (server/",
        "only their hashes were checked: added/trial-disclosure.toml",
        "not checked, because no file can show it",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
    let public = scratch("author.pem");
    fs::copy(bundle.join("public.pem"), &public).unwrap();
    let text = shown(&verify(&bundle, &["--key", public.name()]));
    assert!(text.contains("made with the key of --key"), "{text}");
    // A folder that is signed again without a change is as good.
    signed_again(&bundle, |_| {});
    shown(&verify(&bundle, &[]));
}

#[test]
fn edited_folders_are_refused_without_a_figure() {
    type Edit = fn(&Path);
    let edits: [(&str, Edit, &str); 9] = [
        ("record", |at| change(&at.join("records.jsonl"), "900", "950"), "records.jsonl: not the"),
        ("outcome", |at| change(&at.join("outcome.json"), "900", "950"), "outcome.json: not the"),
        (
            "missing",
            |at| fs::remove_file(at.join("records.jsonl")).unwrap(),
            "records.jsonl: No such",
        ),
        (
            "extra",
            |at| fs::write(at.join("more.txt"), "").unwrap(),
            "more.txt: no part of the trial",
        ),
        (
            "nested",
            |at| fs::write(at.join("added/more.txt"), "").unwrap(),
            "added/more.txt: no part of the trial",
        ),
        (
            "link",
            |at| symlink("/etc/passwd", at.join("link")).unwrap(),
            "link: no part of the trial",
        ),
        (
            "linked",
            |at| {
                let file = at.join("records.jsonl");
                fs::rename(&file, at.join("moved")).unwrap();
                symlink("moved", &file).unwrap();
            },
            "not a plain file",
        ),
        (
            "manifest",
            |at| change(&at.join("manifest.json"), "0.1.0", "9.1.0"),
            "signature is wrong",
        ),
        (
            "key",
            |at| {
                let pem = fs::read(keys().join("rsa-2048.pem")).unwrap();
                let other = PKey::private_key_from_pem(&pem).unwrap().public_key_to_pem().unwrap();
                fs::write(at.join("public.pem"), other).unwrap();
            },
            "signature is wrong",
        ),
    ];
    for (name, edit, why) in edits {
        let (_run, bundle) = packed(&format!("edited-{name}"), &outcome());
        edit(&bundle);
        refused(&verify(&bundle, &[]), why);
    }
    let (_run, bundle) = packed("other-author", &outcome());
    refused(&verify(&bundle, &["--key", &key("rsa-2048.pem")]), "RSA public key is needed");
    let pem = fs::read(keys().join("rsa-2048.pem")).unwrap();
    let other = scratch("other.pem");
    let public = PKey::private_key_from_pem(&pem).unwrap().public_key_to_pem().unwrap();
    fs::write(&other, public).unwrap();
    refused(&verify(&bundle, &["--key", other.name()]), "not with the key");
}

/// Replaces text of a file at its first place.
fn change(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from} in {}", path.display());
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

/// The author can sign anything: the figures must still follow from the samples.
#[test]
fn signed_figures_that_do_not_follow_from_the_samples_are_refused() {
    type Edit = fn(&mut Value);
    let edits: [(&str, Edit, &str); 7] = [
        ("samples", |run| run["sustain"]["transactions"] = 800.into(), "its samples give 800"),
        ("seconds", |run| run["sustained_s"] = 0.9.into(), "its samples give 1000"),
        ("cpu", |run| run["server_cores"] = 0.4.into(), "server_cpu_ns_per_session is"),
        (
            "both",
            |run| {
                (run["server_cores"], run["server_cpu_ns_per_session"]) = (0.4.into(), Value::Null);
            },
            "server_cpu_ns_per_session is",
        ),
        ("log", |run| run["server_log"]["handshakes"] = 1.into(), "the log 1 and 900"),
        (
            "quantile",
            |run| run["times"]["transaction"]["p99_ns"] = 5.into(),
            "those of its histogram",
        ),
        (
            "histogram",
            |run| run["times"]["transaction"]["hdr_v2_base64"] = "HISTFAAA".into(),
            "cannot be read",
        ),
    ];
    for (name, edit, why) in edits {
        let (_run, bundle) = packed(&format!("signed-{name}"), &outcome());
        let mut edited = outcome();
        edit(&mut edited["scenarios"][0]["runs"][0]);
        let lines = edited["scenarios"][0]["records"].as_array().unwrap().clone();
        fs::write(bundle.join("outcome.json"), edited.to_string()).unwrap();
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(bundle.join("records.jsonl"), lines).unwrap();
        signed_again(&bundle, |_| {});
        refused(&verify(&bundle, &[]), why);
    }
    // A record alone, in both files and in one.
    let (_run, bundle) = packed("signed-record", &outcome());
    let first = |name: &str| bundle.join(name);
    change(&first("records.jsonl"), "\"point\":902.5", "\"point\":903.5");
    signed_again(&bundle, |_| {});
    refused(&verify(&bundle, &[]), "records.jsonl: not the records of outcome.json");
    change(&first("outcome.json"), "\"point\":902.5", "\"point\":903.5");
    signed_again(&bundle, |_| {});
    refused(&verify(&bundle, &[]), "sessions_per_s is 903.5");
    // Lists of files that no honest program writes.
    for (edit, why) in [
        ((|m| m["files"][0]["name"] = "../x".into()) as Edit, "not the name of a file"),
        (|m| m["files"][0]["name"] = "records.jsonl".into(), "listed twice"),
        (|m| m["files"] = json!([]), "the trial is not complete"),
        (|m| m["version"] = 2.into(), "this program reads"),
        (|m| m["signer"] = "00".into(), "did not sign it"),
    ] {
        let (_run, bundle) = packed("signed-manifest", &outcome());
        signed_again(&bundle, edit);
        refused(&verify(&bundle, &[]), why);
    }
}

#[test]
fn wrong_input_is_not_packed() {
    let (from, bundle) = packed("pack", &outcome());
    let told = disclosure();
    let pack = |run_folder: &str, key: &str, told: &str, output: &str| {
        run(&["trial", "pack", run_folder, "--key", key, "--disclosure", told, "--out", output])
    };
    let good = key("rsa-3072.pem");
    let fresh = scratch("fresh-bundle");
    refused(&pack(from.name(), &good, &told, bundle.name()), "it has files: name a new folder");
    refused(&pack(from.name(), &key("rsa-1024.pem"), &told, fresh.name()), "insecure");
    refused(&pack("/no/such/folder", &good, &told, fresh.name()), "/no/such/folder");
    let short = scratch("disclosure.toml");
    let text = fs::read_to_string(&told).unwrap();
    fs::write(&short, text.replace("sponsor = ", "# sponsor = ")).unwrap();
    refused(&pack(from.name(), &good, short.name(), fresh.name()), "missing field `sponsor`");
    fs::write(&short, text.replace("\"an example\"", "\"\"")).unwrap();
    refused(&pack(from.name(), &good, short.name(), fresh.name()), "line 5: tester: give one line");
    let mut stopped = outcome();
    stopped["complete"] = false.into();
    fs::write(from.join("outcome.json"), stopped.to_string()).unwrap();
    refused(&pack(from.name(), &good, &told, fresh.name()), "stopped by Ctrl-C");
    fs::write(from.join("outcome.json"), "{}").unwrap();
    refused(&pack(from.name(), &good, &told, fresh.name()), "bench --out");
    assert!(!fresh.exists());
}
