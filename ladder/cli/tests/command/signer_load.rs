//! `tollgate bench signer` against a signer of this program.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, ChildStdout};

use tollgate_record::vocabulary as word;

use crate::program::{
    Scratch, certificates, figure, has_result, keys, line, recorded, refused, scratch, signer, text,
};

/// A running signer with a page of metrics; killed when dropped.
struct Signer {
    child: Child,
    _stdout: BufReader<ChildStdout>,
    folder: Scratch,
    ready: String,
}

impl Signer {
    /// Starts a signer whose client is this process, with further lines for the client.
    fn start(name: &str, of_client: &str) -> Self {
        let folder = scratch(name);
        fs::create_dir(&folder).unwrap();
        certificates(&folder, &[("signer", "DNS:signer"), ("front", "DNS:front")]);
        let uid = fs::metadata("/proc/self").unwrap().uid();
        let [rsa, curve] = ["rsa-2048.pem", "ec-p256.pem"].map(|name| keys().join(name));
        let text = format!(
            "unix = \"socket\"\nmetrics = \"127.0.0.1:0\"\nworkers = 1\n\
             [tls]\naddress = \"127.0.0.1:0\"\nchain = \"signer.pem\"\nkey = \"signer.key\"\n\
             client_roots = \"ca.pem\"\n\
             [[key]]\nname = \"rsa\"\nfile = {:?}\n[[key]]\nname = \"curve\"\nfile = {:?}\n\
             [[client]]\nname = \"near\"\nuid = {uid}\nkeys = [\"rsa\"]\n{of_client}\n\
             [[client]]\nname = \"far\"\ncertificate = \"front\"\nkeys = [\"curve\"]\n",
            rsa.canonicalize().unwrap(),
            curve.canonicalize().unwrap(),
        );
        fs::write(folder.join("signer.toml"), text).unwrap();
        let mut child = signer(&folder.join("signer.toml")).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        while !ready.contains("worker threads: 1") {
            assert!(stdout.read_line(&mut ready).unwrap() > 0, "it ended: {ready}");
        }
        Self { child, _stdout: stdout, folder, ready }
    }

    /// Returns what follows these words in its messages, up to the end of the line or `/`.
    fn address(&self, words: &str) -> &str {
        let (_, after) = self.ready.split_once(words).unwrap();
        after.split(['\n', '/']).next().unwrap()
    }

    fn unix(&self) -> String {
        format!("unix:{}", self.folder.join("socket").display())
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Signer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const SHORT: &str = "bench signer --connections 16 --rounds 1 --seconds 0.4 --key";

fn key(name: &str) -> String {
    keys().join(name).to_str().unwrap().to_owned()
}

#[test]
fn rates_times_and_batches_of_a_signer_are_measured_and_confirmed() {
    let signer = Signer::start("signer-load", "");
    let page = signer.address("metrics: http://");
    let more = [&key("rsa-2048.pem"), &signer.unix(), "--metrics", page, "--loads", "40%,70%"];
    let (output, records) = recorded(SHORT, &more);
    if !has_result(&output) {
        return;
    }
    let said = text(&output);
    assert!(said.contains("16 connections with 1 in flight each: VALID"), "{said}");
    for row in ["closed", "alone", "40 %", "70 %"] {
        assert!(said.contains(&format!("\n{row}")), "{said}");
    }
    let closed = "signer/rsa-2048/sign-pkcs1v15-sha256?connections=16&in_flight=1";
    let point = |subject: &str, quantity| figure(&records, subject, quantity).estimate.point();
    let per_s = point(closed, "operations_per_s");
    let open = point(&format!("{closed}&load=0.4"), "operations_per_s");
    assert!(open < per_s, "{open} of {per_s}");
    let quantiles = ["response_ns_p50", "response_ns_p90", "response_ns_p99"];
    let quantiles = quantiles.map(|quantity| point(closed, quantity));
    assert!(quantiles.is_sorted() && quantiles[0] > 0.0, "{quantiles:?}");
    // a process has no more than the two or more cores of this machine
    let cpu = records.iter().find(|record| record.quantity == word::CPU_NS_PER_OPERATION).unwrap();
    assert!(cpu.estimate.point() > 0.0, "{cpu:?}");
}

#[test]
fn a_signer_over_tls_signs_with_p256() {
    let signer = Signer::start("signer-load-tls", "");
    let tls = format!("tls:{}", signer.address("listening on tls:"));
    let [cert, client_key, roots, other] =
        ["front.pem", "front.key", "ca.pem", "other.pem"].map(|name| signer.path(name));
    let more = [&*key("ec-p256.pem"), &tls, "--client-cert", &cert, "--client-key", &client_key];
    let (output, _) =
        recorded(SHORT, &[&more[..], &["--roots", &roots, "--name", "signer"]].concat());
    if has_result(&output) {
        let said = text(&output);
        assert!(
            said.contains("ecdsa-p256, sign-ecdsa-sha256") && said.contains("UNCONFIRMED"),
            "{said}"
        );
        assert!(said.contains("give --pid"), "{said}");
    }
    let with =
        |roots, name| line(SHORT, &[&more[..], &["--roots", roots, "--name", name]].concat());
    refused(&with(&other, "signer"), "check --roots");
    refused(&with(&roots, "another"), "--name: the DNS name");
    refused(&line(SHORT, &more[..2]), "give --client-cert");
    // of the same authority, but no client
    let certificate = signer.path("signer.pem");
    let more = [&*key("ec-p256.pem"), &tls, "--client-cert", &certificate, "--client-key"];
    let more = [&more[..], &[&signer.path("signer.key"), "--roots", &roots, "--name", "signer"]];
    refused(&line(SHORT, &more.concat()), "does not take this client");
}

#[test]
fn a_refused_request_makes_the_run_invalid() {
    // The first operation of each connection is done.
    let signer = Signer::start("signer-load-rate", "rate = 40");
    let output = line(SHORT, &[&key("rsa-2048.pem"), &signer.unix()]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("INVALID") && said.contains("`rate` of [[client]]"), "{said}");
    assert!(said.contains("gives no figures") && !said.contains("p99"), "{said}");
}

#[test]
fn what_a_signer_cannot_do_is_said_in_a_line() {
    let signer = Signer::start("signer-load-refused", "");
    refused(&line(SHORT, &[&key("rsa-3072.pem"), &signer.unix()]), "no such key");
    refused(&line(SHORT, &[&key("rsa-2048.pem"), "unix:/no/such"]), "start the signer");
    let more = [&key("ec-p256.pem"), &signer.unix(), "--operation", "sign-pss-sha256"];
    refused(&line(SHORT, &more), "does no sign-pss-sha256");
}
