//! Consent to load tests, with the real program and real servers. The tests use a separate network
//! namespace, whose loopback device has addresses of other machines and counts its packets.

use core::time::Duration;
use std::fs;
use std::process::Command;

use tollgate_record::Timestamp;

use crate::bench::{agreed, bench};
use crate::program::{Scratch, Serve, refused, run, scratch, text};

/// An address for documentation (RFC 5737), which the rule treats as public.
const PUBLIC: &str = "203.0.113.1";

/// Private and link-local addresses, which need no consent.
const NEAR: [&str; 3] = ["10.1.2.3", "169.254.7.7", "[fd00::7]"];

/// Addresses without an owner who could consent: the metadata services of clouds, and an address
/// without a server.
const NOBODYS: [&str; 4] = ["169.254.169.254", "169.254.170.2", "[fd00:ec2::254]", "0.0.0.0"];

/// Adds the addresses in the shell's arguments, and then runs the test.
const IN_A_NAMESPACE: &str = "ip link set lo up || exit; this=$1; shift
    for ip in \"$@\"; do ip address add \"$ip\" dev lo || exit; done
    exec \"$this\" --exact --ignored --nocapture consent::beside_public_addresses";

#[test]
fn no_packet_is_sent_without_consent() {
    let made = Command::new("unshare").args(["-rn", "ip", "link", "set", "lo", "up"]).status();
    if !made.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("CI").is_none(), "CI has network namespaces");
        return println!("not tested: no network namespaces here (unshare -rn, ip)");
    }
    let bare = |ip: &&str| ip.trim_matches(['[', ']']).to_owned();
    let listened = NEAR.iter().chain(&NOBODYS[..3]).chain([&PUBLIC]).map(bare);
    let output = Command::new("unshare")
        .args(["-rn", "sh", "-c", IN_A_NAMESPACE, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(listened)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{why}");
}

#[test]
#[ignore = "runs in the namespace that the other test makes"]
fn beside_public_addresses() {
    private_addresses_need_no_consent();
    no_packet_is_sent_to_unnamed_servers();
    servers_without_consent_get_only_the_consent_request();
    servers_with_consent_are_measured();
}

fn private_addresses_need_no_consent() {
    for ip in NEAR {
        let serve = Serve::at(ip, "near.log", &[]);
        let log = serve.log.name();
        let output = bench(&[&serve.url("/bytes/100"), "--rounds", "1", "--log", log]);
        agreed(&text(&output), "tollgate");
    }
}

fn no_packet_is_sent_to_unnamed_servers() {
    let serve = Serve::at(PUBLIC, "unasked.log", &[]);
    silent(&[&serve.url("/bytes/100")], "give --i-may-test");
    silent(&[&serve.url("/bytes/100"), "--i-may-test", "example.org"], "must be the same");
    assert_eq!(events(&serve.stopped()), [""; 0], "nobody came");
    for ip in NOBODYS {
        let serve = Serve::at(ip, "nobodys.log", &[]);
        let host = ip.trim_matches(['[', ']']);
        for named in [host, ip] {
            silent(&[&serve.url("/"), "--i-may-test", named], "no server");
        }
        assert_eq!(events(&serve.stopped()), [""; 0], "nobody came");
    }
}

fn servers_without_consent_get_only_the_consent_request() {
    let day = |ahead: i64| {
        let seconds = Timestamp::now().as_second() + ahead * 24 * 3600;
        Timestamp::from_second(seconds).unwrap().to_string()[..10].to_owned()
    };
    for (file, status, why) in [
        (None, 404, "status 404"),
        (Some(format!("host: example.org\nuntil: {}\n", day(30))), 200, "host: 203.0.113.1"),
        (Some(format!("host: {PUBLIC}\nuntil: {}\n", day(-1))), 200, "a later day"),
    ] {
        let root = root(file.as_deref());
        let serve = Serve::at(PUBLIC, "asked.log", &["--root", root.name()]);
        let asked = ["bench", &serve.url("/bytes/100"), "--i-may-test", PUBLIC];
        refused(&run(&asked), why);
        let log = serve.stopped();
        let requests: Vec<&str> = log.lines().filter(|line| line.contains("\"target\"")).collect();
        let [request] = requests[..] else { panic!("{log}") };
        let target = "\"target\":\"/.well-known/tollgate-consent\",";
        let status = format!("\"status\":{status},");
        assert!(request.contains(target) && request.contains(&status), "{request}");
    }
}

fn servers_with_consent_are_measured() {
    let until = (Timestamp::now() + Duration::from_secs(30 * 24 * 3600)).to_string();
    let root = root(Some(&format!("host: {PUBLIC}\nuntil: {}\n", &until[..10])));
    let serve = Serve::at(PUBLIC, "agreed.log", &["--root", root.name()]);
    let file = scratch("agreed.jsonl");
    let (url, log) = (serve.url("/bytes/100"), serve.log.name());
    let asked = [&url, "--i-may-test", PUBLIC, "--log", log, "--rounds", "1"];
    let output = bench(&[&asked[..], &["--json", file.name()]].concat());
    let stdout = text(&output);
    agreed(&stdout, "tollgate");
    // on a busy machine an invalid run leaves no record
    for record in crate::program::records(&file) {
        assert!(record.conditions["consent"].starts_with("until "), "{:?}", record.conditions);
    }
    silent(&[&url], "give --i-may-test");
}

/// Returns the log lines that clients caused, for a server that has stopped.
fn events(log: &str) -> Vec<&str> {
    let of_clients = |line: &&str| {
        !["start", "stop"].iter().any(|event| line.contains(&format!("\"event\":\"{event}\"")))
    };
    log.lines().filter(of_clients).collect()
}

/// Checks that `bench` refuses, and that the loopback device transmits no packet.
#[track_caller]
fn silent(asked: &[&str], why: &str) {
    let before = packets();
    refused(&run(&[&["bench"], asked].concat()), why);
    assert_eq!(packets(), before, "{asked:?}");
}

/// Returns the number of packets on the loopback device of this namespace.
fn packets() -> u64 {
    let devices = fs::read_to_string("/proc/net/dev").unwrap();
    let counts = devices.lines().find_map(|line| line.trim().strip_prefix("lo:")).unwrap();
    counts.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Returns a folder to serve, with or without a file of consent.
fn root(consent: Option<&str>) -> Scratch {
    let root = scratch("consent");
    fs::create_dir_all(root.join(".well-known")).unwrap();
    if let Some(text) = consent {
        fs::write(root.join(".well-known/tollgate-consent"), text).unwrap();
    }
    root
}
