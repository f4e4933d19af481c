//! `tollgate bench URL --agents`: agents as processes of this machine.

use core::time::Duration;
use std::fs;
use std::io::Write as _;
use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::Instant;

use crate::bench::{agreed, bench, numbers};
use crate::program::{Serve, line, records, refused, scratch, signal, start, text, tollgate};

/// A limit for waits that end by themselves much earlier.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// 75 arrivals, with enough connections for all of them at once.
pub(crate) const CONSTANT: &str = "bench --seconds 0.5 --drift-max 1 --repeats 0 --rounds 1 \
                        --arrivals constant --rate 100 --connections 80";

/// Returns the flags for this number of agents.
fn agents(count: usize) -> [String; 2] {
    let agent = format!("exec:{} agent", env!("CARGO_BIN_EXE_tollgate-ladder"));
    ["--agents".to_owned(), vec![agent; count].join(",")]
}

#[test]
fn agents_together_send_the_load_of_one_process() {
    let serve = Serve::start("agents.log", &[]);
    for count in [0, 1, 2, 4] {
        let url = serve.url("/bytes/100");
        let agents = agents(count);
        let agents = agents.iter().map(String::as_str).filter(|_| count > 0);
        let more = ["--log", serve.log.name(), url.as_str()].into_iter().chain(agents);
        let output = line(CONSTANT, &more.collect::<Vec<_>>());
        let stdout = text(&output);
        let (_, sessions) = agreed(&stdout, "tollgate");
        // 0.25 s of warm-up and 0.5 s, and one transaction alone of each process
        assert_eq!(sessions, 75 + count.max(1) as u64, "{stdout}");
        assert!(stdout.contains(", 0 never began"), "{stdout}");
        let lines =
            (1..=count).filter(|number| stdout.contains(&format!("- agent {number}, exec:")));
        assert_eq!(lines.count(), count, "{stdout}");
    }
}

#[test]
fn closed_loops_and_resumption_are_split_too() {
    let serve = Serve::start("agents-closed.log", &["--resumption"]);
    let url = serve.url("/bytes/100");
    let file = scratch("agents-closed.jsonl");
    let flags = ["--rounds", "1", "--log", serve.log.name(), "--resume", "0.5"];
    let [name, list] = agents(3);
    let json = ["--json", file.name(), &name, &list];
    let output = bench(&[&[url.as_str()], &flags[..], &json].concat());
    let stdout = text(&output);
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
fn ssh_runs_the_agent_on_a_host() {
    use std::os::unix::fs::PermissionsExt as _;
    let serve = Serve::start("agents-ssh.log", &[]);
    let folder = scratch("agents-ssh");
    fs::create_dir(&folder).unwrap();
    let program = env!("CARGO_BIN_EXE_tollgate-ladder");
    let ssh = format!(
        "#!/bin/sh\n[ \"$*\" = '-T -o BatchMode=yes me@load1 tollgate agent' ] || exit 9\n\
         exec {program} agent\n"
    );
    let path = folder.join("ssh");
    fs::write(&path, ssh).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let paths = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = tollgate();
    command.args(CONSTANT.split(' ')).args(["--log", serve.log.name(), &serve.url("/bytes/100")]);
    let output = command.args(["--agents", "ssh:me@load1"]).env("PATH", paths).output().unwrap();
    assert_eq!(agreed(&text(&output), "tollgate").1, 75 + 1);
}

/// A load by two agents that runs until something happens.
struct Loaded {
    serve: Serve,
    bench: Child,
    agents: Vec<u32>,
}

/// Starts such a load, and waits until the server has answered a few hundred times.
fn loaded(name: &str) -> Loaded {
    let serve = Serve::start(name, &[]);
    let [flag, list] = agents(2);
    let more = [&serve.url("/bytes/100"), "--log", serve.log.name(), &flag, &list];
    let bench = start("bench --seconds 200 --rounds 1 --repeats 0", &more);
    wait_for_load(&serve);
    let children = fs::read_dir(format!("/proc/{}/task", bench.id())).unwrap();
    let lists = children.map(|task| fs::read_to_string(task.unwrap().path().join("children")));
    let agents = lists.map(Result::unwrap).collect::<String>();
    let agents: Vec<u32> =
        agents.split_ascii_whitespace().map(|process| process.parse().unwrap()).collect();
    assert_eq!(agents.len(), 2);
    Loaded { serve, bench, agents }
}

/// Waits until the server has answered a few hundred times.
pub(crate) fn wait_for_load(serve: &Serve) {
    let end = Instant::now() + LONG;
    while fs::read_to_string(&serve.log).unwrap().lines().count() < 400 {
        assert!(Instant::now() < end, "no load");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Returns whether a process has ended; a zombie has.
pub(crate) fn has_ended(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('Z'))
}

#[track_caller]
pub(crate) fn invalid(output: &Output, agent: &str, why: &str) {
    let stdout = text(output);
    assert_eq!(output.status.code(), Some(1), "{stdout}");
    assert!(stdout.contains(": INVALID") && stdout.contains("its share of the plan"), "{stdout}");
    assert!(stdout.contains(agent) && stdout.contains(why), "{stdout}");
    assert!(!stdout.contains("sess/s"), "no figures: {stdout}");
}

#[test]
fn a_killed_agent_makes_the_run_invalid() {
    let Loaded { serve, bench, agents } = loaded("agent-killed.log");
    signal("KILL", agents[1]);
    let output = bench.wait_with_output().unwrap();
    invalid(&output, "agent 2, exec:", "signal: 9");
    assert!(agents.into_iter().all(has_ended));
    drop(serve);
}

#[test]
fn a_silent_agent_makes_the_run_invalid() {
    let Loaded { serve, bench, agents } = loaded("agent-silent.log");
    signal("STOP", agents[0]);
    let output = bench.wait_with_output().unwrap();
    invalid(&output, "agent 1, exec:", "was silent for 3 s");
    assert!(agents.into_iter().all(has_ended));
    drop(serve);
}

#[test]
fn agents_without_controller_end_by_themselves() {
    for name in ["KILL", "STOP"] {
        let Loaded { serve, mut bench, agents } = loaded(&format!("controller-{name}.log"));
        signal(name, bench.id());
        let end = Instant::now() + LONG;
        // the agents of a stopped controller end their load, and cannot tell it while it stands
        let log = || fs::read_to_string(&serve.log).unwrap().lines().count();
        let is_over = || match name {
            "KILL" => agents.iter().all(|agent| has_ended(*agent)),
            _ => {
                let before = log();
                thread::sleep(Duration::from_secs(4));
                log() == before
            }
        };
        while !is_over() {
            assert!(Instant::now() < end, "the agents go on");
            thread::sleep(Duration::from_millis(50));
        }
        if name == "STOP" {
            signal("CONT", bench.id());
            let output = bench.wait_with_output().unwrap();
            invalid(&output, "agent 1, exec:", "the controller is gone");
        } else {
            bench.wait().unwrap();
        }
    }
}

#[test]
fn other_programs_are_no_agents() {
    let serve = Serve::start("no-agents.log", &[]);
    for (agent, why) in [
        (
            "exec:echo Welcome to load1",
            r#"agent 1, exec:echo Welcome to load1: it sent no frame but "Welcome to load1"#,
        ),
        (r"exec:printf TGA\002\000\000\000\000", "it speaks version 2 of the protocol"),
        (r"exec:printf TGA\001\000\000\000\002{}", "install the same version"),
        (r"exec:printf TGA\001\377\377\377\377", "a frame of 4294967295 bytes"),
        ("exec:head -c 100 /dev/zero", "it sent no frame"),
        ("exec:false", "its command ended with exit status: 1"),
        ("exec:/nowhere/tollgate agent", "it cannot be started"),
    ] {
        refused(&bench(&[&serve.url("/bytes/100"), "--agents", agent]), why);
    }
}

#[test]
fn an_agent_refuses_what_is_no_frame() {
    let mut command = tollgate();
    command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut agent = command.spawn().unwrap();
    agent.stdin.take().unwrap().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let output = agent.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains(r#"it sent no frame but "GET / HTTP"#), "{stderr}");
}

#[test]
fn combinations_that_agents_cannot_run_are_refused() {
    let flags =
        |more: &[&str]| bench(&[&["https://127.0.0.1:1/", "--agents", "ssh:load1"], more].concat());
    refused(&flags(&["--requests", "5"]), "--agents: they run for a time");
    refused(&flags(&["--header", "Authorization: x"]), "--agents: values that may be secret");
    refused(&bench(&["--agents", "ssh:load1"]), "URL");
    refused(&bench(&["https://127.0.0.1:1/", "--agents", "load1"]), "give ssh:HOST");
}
