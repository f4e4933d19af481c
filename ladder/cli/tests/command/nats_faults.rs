//! Agents on NATS: messages that are lost, and controllers that want the same agents.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::bench::agreed;
use crate::nats::constant;
use crate::nats_rig::{Agent, NatsServer, certificates, has_nats, password};
use crate::program::{Serve, scratch, text};

/// The messages that are lost when they come for the first time, and whether their connection is
/// cut.
const LOST: [(&str, bool); 5] = [
    (r#"{"enrolled":"#, false),
    (r#"{"target":"#, false),
    (r#"{"arm":"#, true),
    (r#"{"ready":"#, true),
    (r#"{"part":{"text":"#, false),
];

/// The number of times that each of these messages came to the proxy.
type Seen = Arc<Mutex<BTreeMap<&'static str, u32>>>;

/// Returns whether the proxy loses the message, and whether it cuts the connection.
fn loses(seen: &Seen, message: &[u8]) -> Option<bool> {
    let (start, cuts) = LOST.iter().find(|(start, _)| message.starts_with(start.as_bytes()))?;
    let mut seen = seen.lock().unwrap();
    let count = seen.entry(start).or_insert(0);
    *count += 1;
    (*count == 1).then_some(*cuts)
}

/// Copies the protocol of NATS from one socket to the other, without the messages that are lost.
fn copy(from: &TcpStream, mut to: &TcpStream, seen: &Seen) -> std::io::Result<()> {
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        if from.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&line).into_owned();
        let mut message = Vec::new();
        if words.starts_with("PUB ") || words.starts_with("MSG ") {
            let length: u64 = words.split_whitespace().next_back().unwrap().parse().unwrap();
            (&mut from).take(length + 2).read_to_end(&mut message)?;
        }
        match loses(seen, &message) {
            None => to.write_all(&[line, message].concat())?,
            Some(false) => {}
            Some(true) => {
                to.write_all(&[&line, &message[..message.len() / 2]].concat())?;
                return Ok(());
            }
        }
    }
}

/// Returns the URL of the server behind a proxy that loses messages.
fn lossy(server: &NatsServer, seen: &Seen) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    let (address, seen) = (server.address().to_owned(), Arc::clone(seen));
    thread::spawn(move || {
        for near in listener.incoming() {
            let (near, far) = (near.unwrap(), TcpStream::connect(&address).unwrap());
            let ends = [(near.try_clone(), far.try_clone()), (Ok(far), Ok(near))];
            for (from, to) in ends.map(|(from, to)| (from.unwrap(), to.unwrap())) {
                let seen = Arc::clone(&seen);
                thread::spawn(move || {
                    let _ = copy(&from, &to, &seen); // either side may have closed it
                    for end in [from, to] {
                        let _ = end.shutdown(Shutdown::Both);
                    }
                });
            }
        }
    });
    url
}

#[test]
fn messages_that_are_lost_are_sent_again_and_the_run_is_whole() {
    if !has_nats() {
        return;
    }
    let folder = scratch("nats-faults");
    std::fs::create_dir(&folder).unwrap();
    let server = NatsServer::plain(&folder);
    let seen = Seen::default();
    let flags = |url: &str| ["--nats".to_owned(), url.to_owned()];
    let _near = Agent::start(&flags(&server.url));
    let _far = Agent::start(&flags(&lossy(&server, &seen)));
    let serve = Serve::start("nats-faults.log", &[]);
    let stdout = text(&constant(&serve, 2, &flags(&server.url)));
    // as without a loss: 0.25 s of warm-up and 0.5 s, and one transaction alone of each agent
    assert_eq!(agreed(&stdout, "tollgate").1, 75 + 2, "{stdout}");
    assert!(stdout.contains(", 0 never began"), "{stdout}");
    let seen = seen.lock().unwrap();
    for (start, _) in LOST {
        assert!(seen[start] >= 2, "{start} came {} times", seen[start]);
    }
}

/// Returns the names of the agents of a run that is whole.
fn agents_of(output: &Output) -> BTreeSet<String> {
    let stdout = text(output);
    assert_eq!(agreed(&stdout, "tollgate").1, 75 + 2, "{stdout}");
    let lines = stdout.lines().filter(|line| line.starts_with("- agent "));
    let names = lines.filter_map(|line| line.split_once("nats:lab/")?.1.split_once(": "));
    let names: BTreeSet<String> = names.map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names.len(), 2, "{stdout}");
    names
}

#[test]
fn two_controllers_have_different_agents_or_none() {
    if !has_nats() {
        return;
    }
    let folder = certificates("nats-two");
    let server = NatsServer::with_passwords(&folder);
    let _agents = Agent::several(4, &password(&server, &folder, "agent"));
    let flags = password(&server, &folder, "controller");
    let servers = ["nats-two-a.log", "nats-two-b.log"].map(|log| Serve::start(log, &[]));
    let run = |serve: &Serve| constant(serve, 2, &flags);
    let (mut rounds, mut whole) = (0, 0);
    while rounds < 3 || whole == 0 {
        rounds += 1;
        assert!(rounds <= 20, "each refuses the other");
        let outputs = thread::scope(|scope| {
            let runs = servers.each_ref().map(|serve| scope.spawn(|| run(serve)));
            runs.map(|run| run.join().unwrap())
        });
        let mut used = BTreeSet::new();
        for output in &outputs {
            if output.status.code() == Some(2) {
                let stderr = String::from_utf8_lossy(&output.stderr);
                let why = "it serves another controller";
                let last = stderr.lines().last().unwrap();
                assert!(last.contains("nats:lab/") && last.contains(why), "{stderr}");
                assert!(!text(output).contains("sess/s"), "{}", text(output));
            } else {
                let agents = agents_of(output);
                assert!(used.is_disjoint(&agents), "{used:?} {agents:?}");
                used.extend(agents);
                whole += 1;
            }
        }
    }
    // no agent is lost for later runs
    servers.iter().for_each(|serve| drop(agents_of(&run(serve))));
}
