//! `tollgate bench URL --agents nats:FLEET/COUNT`: agents that meet their controller on NATS.

use core::time::Duration;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Output};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

use crate::bench::{agreed, bench, numbers};
use crate::nats_rig::{
    Agent, LONG, NatsServer, certificate, certificates, eventually, has_nats, password,
};
use crate::program::{Serve, line, records, refused, scratch, signal, start, text, tollgate};

/// 75 arrivals, with enough connections for all of them at once.
const CONSTANT: &str = "bench --seconds 0.5 --drift-max 1 --repeats 0 --rounds 1 \
                        --arrivals constant --rate 100 --connections 80";

/// Runs the constant load with this number of agents.
pub(crate) fn constant(serve: &Serve, count: usize, flags: &[String]) -> Output {
    let list = format!("nats:lab/{count}");
    let mut more = vec!["--log", serve.log.name(), "--agents", &list];
    let url = serve.url("/bytes/100");
    more.push(&url);
    more.extend(flags.iter().map(String::as_str));
    line(CONSTANT, &more)
}

/// Starts a load that runs until something happens, and waits for its first responses.
fn loaded(serve: &Serve, seconds: u32, flags: &[String]) -> Child {
    let (url, seconds) = (serve.url("/bytes/100"), seconds.to_string());
    let more = [&url, "--log", serve.log.name(), "--agents", "nats:lab/2", "--seconds", &seconds];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let bench = start("bench --rounds 1 --repeats 0 --drift-max 1", &[&more[..], &flags].concat());
    wait_for_load(serve);
    bench
}

/// Waits until the server has answered a few hundred times.
fn wait_for_load(serve: &Serve) {
    let end = Instant::now() + LONG;
    while fs::read_to_string(&serve.log).unwrap().lines().count() < 400 {
        assert!(Instant::now() < end, "no load");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Returns whether a process has ended; a zombie has.
fn has_ended(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('Z'))
}

#[track_caller]
fn invalid(output: &Output, agent: &str, why: &str) {
    let stdout = text(output);
    assert_eq!(output.status.code(), Some(1), "{stdout}");
    assert!(stdout.contains(": INVALID") && stdout.contains("its share of the plan"), "{stdout}");
    assert!(stdout.contains(agent) && stdout.contains(why), "{stdout}");
    assert!(!stdout.contains("sess/s"), "no figures: {stdout}");
}

/// Copies bytes from one socket to the other, each after this delay.
fn copy_late(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let (later, waiting) = channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        for (due, bytes) in waiting {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Write); // the other side may have closed it
    });
    thread::spawn(move || {
        let mut bytes = [0; 65536];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if later.send((Instant::now() + delay, bytes[..count].to_vec())).is_err() {
                return;
            }
        }
    });
}

/// Returns the URL of the server behind a proxy with this delay in each direction.
fn far_away(server: &NatsServer, delay: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("tls://{}", listener.local_addr().unwrap());
    let address = server.address().to_owned();
    thread::spawn(move || {
        for near in listener.incoming() {
            let (near, far) = (near.unwrap(), TcpStream::connect(&address).unwrap());
            copy_late(near.try_clone().unwrap(), far.try_clone().unwrap(), delay);
            copy_late(far, near, delay);
        }
    });
    url
}

#[test]
fn agents_at_different_distances_begin_together() {
    if !has_nats() {
        return;
    }
    let folder = certificates("nats-far");
    let server = NatsServer::with_passwords(&folder);
    let delays = [0, 5, 20, 50].map(Duration::from_millis);
    let agents = delays.map(|delay| {
        let mut flags = password(&server, &folder, "agent");
        flags[1] = far_away(&server, delay);
        Agent::start(&flags)
    });
    let serve = Serve::start("nats-far.log", &[]);
    let stdout = text(&constant(&serve, 4, &password(&server, &folder, "controller")));
    assert_eq!(agreed(&stdout, "tollgate").1, 75 + 4, "{stdout}");
    assert!(stdout.contains(", 0 never began"), "{stdout}");
    for (agent, delay) in agents.iter().zip(delays) {
        let line = stdout.lines().find(|line| line.contains(&format!("/{}: ", agent.name)));
        let error = line.unwrap().split_once("clock within ").unwrap().1;
        let error = Duration::from_micros(error.strip_suffix(" µs").unwrap().parse().unwrap());
        // the error is half the round trip
        assert!(error >= delay, "{stdout}");
    }
}

#[test]
fn an_agent_with_a_slow_clock_makes_the_run_invalid() {
    const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
    if !has_nats() {
        return;
    }
    if !Path::new(LIBRARY).exists() {
        assert!(std::env::var_os("CI").is_none(), "{LIBRARY} is missing");
        return println!("skipped: {LIBRARY} is missing (apt-get install faketime)");
    }
    let folder = certificates("nats-slow");
    let server = NatsServer::with_passwords(&folder);
    let flags = password(&server, &folder, "agent");
    let _right = Agent::start(&flags);
    let mut command = tollgate();
    command.env("LD_PRELOAD", LIBRARY).env("FAKETIME", "+0 x0.9");
    let slow = Agent::spawn(command, &flags);
    let serve = Serve::start("nats-slow.log", &[]);
    let output = constant(&serve, 2, &password(&server, &folder, "controller"));
    let stdout = text(&output);
    assert_eq!(output.status.code(), Some(1), "{stdout}");
    assert!(
        stdout.contains("INVALID")
            && stdout.contains(&format!("nats:lab/{}: the clocks", slow.name)),
        "{stdout}"
    );
}

#[test]
fn agents_on_nats_send_the_load_of_one_process_for_one_controller_after_another() {
    if !has_nats() {
        return;
    }
    let folder = certificates("nats-passwords");
    let server = NatsServer::with_passwords(&folder);
    let agents = Agent::several(3, &password(&server, &folder, "agent"));
    let serve = Serve::start("nats-agents.log", &[]);
    for count in [1, 3, 2] {
        let output = constant(&serve, count, &password(&server, &folder, "controller"));
        let stdout = text(&output);
        let (_, sessions) = agreed(&stdout, "tollgate");
        // 0.25 s of warm-up and 0.5 s, and one transaction alone of each process
        assert_eq!(sessions, 75 + count as u64, "{stdout}");
        assert!(stdout.contains(", 0 never began"), "{stdout}");
        let named = agents.iter().filter(|agent| {
            (1..=count)
                .any(|at| stdout.contains(&format!("- agent {at}, nats:lab/{}:", agent.name)))
        });
        assert_eq!(named.count(), count, "{stdout}");
    }
}

#[test]
fn nats_servers_and_clients_without_the_right_credentials_are_refused() {
    if !has_nats() {
        return;
    }
    let folder = certificates("nats-refused");
    let server = NatsServer::with_passwords(&folder);
    let serve = Serve::start("nats-refused.log", &[]);
    let good = password(&server, &folder, "controller");
    let with = |at: usize, value: &str| {
        let mut flags = good.clone();
        flags[at] = value.to_owned();
        constant(&serve, 1, &flags)
    };
    fs::write(folder.join("wrong"), "controller:other\n").unwrap();
    let file = |name: &str| folder.join(name).display().to_string();
    refused(&with(5, &file("wrong")), "authorization violation");
    refused(&with(5, &file("ca.pem")), "the file must have one line, USER:PASSWORD");
    refused(&with(5, &file("nowhere")), "nowhere: No such file");
    refused(&with(3, &file("other.pem")), "invalid peer certificate");
    refused(&with(3, &file("nowhere")), "no connection to NATS");
    refused(&with(1, "tls://127.0.0.1:1"), "no connection to NATS at tls://127.0.0.1:1");
    // sides may not do what the other side may
    refused(&with(5, &file("agent")), "Permissions Violation");
    let mut agent = tollgate();
    let output = agent.args(["agent", "--fleet", "lab"]).args(&good).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.lines().last().unwrap().contains("Permissions Violation"), "{stderr}");
    let flags = [&["https://127.0.0.1:1/", "--agents", "nats:lab/2"][..]].concat();
    refused(&bench(&flags), "--nats <LIST>");
    let nats = ["--nats", "tls://127.0.0.1:1"];
    refused(
        &bench(&[&["https://127.0.0.1:1/"], &nats[..]].concat()),
        "--nats: there are no agents",
    );
    let plain = ["--nats", "nats://10.0.0.1:4222"];
    refused(&bench(&[&flags, &plain[..]].concat()), "without TLS it must be a loopback address");
    refused(&line("agent --nats tls://127.0.0.1:1", &[]), "--fleet");
}

#[test]
fn a_lost_server_of_a_cluster_costs_no_count_or_the_verdict() {
    if !has_nats() {
        return;
    }
    let folder = certificates("nats-cluster");
    for lost in [0, 1] {
        let mut servers = NatsServer::cluster(&folder);
        let agents = Agent::several(2, &certificate(&servers[0], &folder, "agent"));
        let serve = Serve::start(&format!("nats-cluster-{lost}.log"), &[]);
        let bench = loaded(&serve, 6, &certificate(&servers[1], &folder, "controller"));
        servers[lost].child.kill().unwrap();
        let output = bench.wait_with_output().unwrap();
        let stdout = text(&output);
        if stdout.contains("its share of the plan") {
            // this machine is too busy to connect again in time
            invalid(&output, ", nats:lab/", "was silent for 3 s");
            println!("the run was too slow to go on: {stdout}");
        } else {
            agreed(&stdout, "tollgate");
        }
        drop(agents);
    }
}

#[test]
fn a_lost_nats_server_stops_the_agents_and_makes_the_run_invalid() {
    if !has_nats() {
        return;
    }
    let folder = certificates("nats-lost");
    let mut server = NatsServer::with_passwords(&folder);
    let mut agents = Agent::several(2, &password(&server, &folder, "agent"));
    let serve = Serve::start("nats-lost.log", &[]);
    let bench = loaded(&serve, 200, &password(&server, &folder, "controller"));
    server.child.kill().unwrap();
    let output = bench.wait_with_output().unwrap();
    let why = "was silent for 3 s: this machine has no connection to NATS";
    invalid(&output, "agent 1, nats:lab/", why);
    let log = || fs::read_to_string(&serve.log).unwrap().lines().count();
    eventually("the agents stop their load", || {
        let before = log();
        thread::sleep(Duration::from_secs(1));
        (log() == before).then_some(())
    });
    // they wait for the server
    assert!(agents.iter_mut().all(|agent| agent.child.try_wait().unwrap().is_none()));
}

#[test]
fn a_lost_agent_makes_the_run_invalid_and_the_other_one_serves_on() {
    if !has_nats() {
        return;
    }
    for name in ["KILL", "STOP"] {
        let folder = certificates(&format!("nats-{name}"));
        let server = NatsServer::with_passwords(&folder);
        let agents = Agent::several(2, &password(&server, &folder, "agent"));
        let serve = Serve::start(&format!("nats-{name}.log"), &[]);
        let controller = password(&server, &folder, "controller");
        let bench = loaded(&serve, 200, &controller);
        signal(name, agents[0].child.id());
        let output = bench.wait_with_output().unwrap();
        invalid(&output, &format!(", nats:lab/{}", agents[0].name), "was silent for 3 s");
        let stdout = text(&constant(&serve, 1, &controller));
        assert!(stdout.contains(&format!("- agent 1, nats:lab/{}:", agents[1].name)), "{stdout}");
    }
}

#[test]
fn agents_without_controller_stop_and_wait_for_another() {
    if !has_nats() {
        return;
    }
    for name in ["KILL", "STOP"] {
        let folder = certificates(&format!("nats-controller-{name}"));
        let server = NatsServer::with_passwords(&folder);
        let agents = Agent::several(2, &password(&server, &folder, "agent"));
        let serve = Serve::start(&format!("nats-controller-{name}.log"), &[]);
        let controller = password(&server, &folder, "controller");
        let bench = loaded(&serve, 200, &controller);
        signal(name, bench.id());
        // they answer only when they have ended their load
        let stdout = text(&constant(&serve, 2, &controller));
        assert!(agents.iter().all(|agent| stdout.contains(&agent.name)), "{stdout}");
        assert!(!agents.iter().any(|agent| has_ended(agent.child.id())));
        if name == "STOP" {
            signal("CONT", bench.id());
        }
        let output = bench.wait_with_output().unwrap();
        if name == "STOP" {
            invalid(&output, ", nats:lab/", "the controller is gone");
        }
    }
}

#[test]
fn closed_loops_and_resumption_are_split_too() {
    if !has_nats() {
        return;
    }
    let folder = certificates("nats-closed");
    let server = NatsServer::with_passwords(&folder);
    let _agents = Agent::several(3, &password(&server, &folder, "agent"));
    let serve = Serve::start("nats-closed.log", &["--resumption"]);
    let file = scratch("nats-closed.jsonl");
    let url = serve.url("/bytes/100");
    let mut flags = vec![&*url, "--rounds", "1", "--log", serve.log.name(), "--resume", "0.5"];
    flags.extend(["--json", file.name(), "--agents", "nats:lab/3"]);
    let nats = password(&server, &folder, "controller");
    flags.extend(nats.iter().map(String::as_str));
    let stdout = text(&bench(&flags));
    let line = stdout.lines().find(|line| line.starts_with("- tollgate: runs: ")).unwrap();
    let [_, handshakes, sessions, failures, logged, resumed, responses] = numbers(line)[..] else {
        panic!("{line}")
    };
    assert_eq!((handshakes, sessions, failures), (logged, responses, 0), "{stdout}");
    assert!(resumed > 0 && resumed < handshakes, "{line}");
    // none if this machine is too busy for a figure
    for record in records(&file) {
        assert_eq!(record.conditions.get("agents").map(String::as_str), Some("3"));
        assert!(record.conditions.contains_key("agents_clock_error_us"));
    }
}

#[test]
fn combinations_that_agents_cannot_run_are_refused() {
    let nats = ["--nats", "nats://127.0.0.1:1"];
    let flags = |more: &[&str]| {
        let url = ["https://127.0.0.1:1/", "--agents", "nats:lab/1"];
        bench(&[&url, &nats[..], more].concat())
    };
    refused(&flags(&["--requests", "5"]), "--agents: they run for a time");
    refused(&flags(&["--header", "Authorization: x"]), "--agents: values that may be secret");
    refused(&bench(&[&["--agents", "nats:lab/1"], &nats[..]].concat()), "URL");
    refused(&bench(&["https://127.0.0.1:1/", "--agents", "load1"]), "give nats:FLEET/COUNT");
}
