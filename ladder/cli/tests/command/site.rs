//! `tollgate serve --config` as a service: systemd's sockets, confinement, the combined log.

use core::time::Duration;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;

use crate::program::{Scratch, keys, refused, run, scratch, signal};

/// A file of settings with a certificate.
struct Site {
    settings: Scratch,
    chain: Scratch,
    key: Scratch,
}

impl Site {
    fn new(name: &str, settings: &str) -> Self {
        let file = |end: &str| scratch(&format!("{name}{end}"));
        let this = Self { settings: file(".toml"), chain: file(".pem"), key: file("-key.pem") };
        this.certify("rsa-2048.pem");
        let (chain, key) = (this.chain.name(), this.key.name());
        let certificate = format!("[[certificate]]\nchain = \"{chain}\"\nkey = \"{key}\"\n");
        fs::write(&this.settings, format!("{settings}{certificate}")).unwrap();
        this
    }

    /// Replaces key and certificate.
    fn certify(&self, key: &str) {
        fs::copy(keys().join(key), &self.key).unwrap();
        let args = ["req", "-x509", "-subj", "/CN=localhost", "-out", self.chain.name(), "-key"];
        let made = Command::new("openssl").args(args).arg(self.key.name()).status().unwrap();
        assert!(made.success());
    }
}

/// Reads lines until one begins with `start`, and returns its rest.
#[track_caller]
fn after(start: &str, output: &mut BufReader<ChildStdout>) -> String {
    loop {
        let mut line = String::new();
        assert!(output.read_line(&mut line).unwrap() > 0, "no line begins with {start:?}");
        if let Some(rest) = line.strip_prefix(start) {
            return rest.trim_end().to_owned();
        }
    }
}

/// Asks for a path over HTTPS.
fn get(port: u16, path: &str, trusted: &Scratch) -> String {
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "20", "--cacert", trusted.name()])
        .args(["--referer", "https://a/\"b?secret=1", "--user-agent", "test"])
        .arg(format!("https://localhost:{port}{path}"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn ends(child: Child, output: BufReader<ChildStdout>) {
    signal("TERM", child.id());
    ended(child, output);
}

fn ended(mut child: Child, mut output: BufReader<ChildStdout>) {
    let mut report = String::new();
    output.read_to_string(&mut report).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{report}");
}

/// Starts the program as systemd does, with two sockets of these names.
fn activate(
    settings: &str,
    names: &str,
    [first, second]: [&TcpListener; 2],
) -> (Child, BufReader<ChildStdout>) {
    // The number of the process is that of the program, because the shell becomes it.
    let script = "exec 3<&0 4<&2 </dev/null; LISTEN_PID=$$ exec \"$0\" \"$@\" 2>&1";
    let mut child = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_tollgate-ladder"), "serve", "--config", settings])
        .env("LISTEN_FDS", "2")
        .env("LISTEN_FDNAMES", names)
        .stdin(Stdio::from(OwnedFd::from(first.try_clone().unwrap())))
        .stdout(Stdio::piped())
        .stderr(Stdio::from(OwnedFd::from(second.try_clone().unwrap())))
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

#[test]
fn sockets_of_systemd_are_used_and_keep_clients_during_a_restart() {
    let settings = "address = \"systemd:https\"\nredirect = \"systemd:http\"\nworkers = 2\n";
    let site = Site::new("sockets", settings);
    let name = site.settings.name();
    refused(&run(&["serve", "--config", name]), "systemd has passed no socket of this name");

    let https = TcpListener::bind("127.0.0.1:0").unwrap();
    let http = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = https.local_addr().unwrap().port();
    let activate = |names| activate(name, names, [&https, &http]);
    let (mut child, mut output) = activate("https:https");
    let mut said = String::new();
    output.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{said}");
    assert!(said.contains("have several addresses"), "{said}");

    let begin = || {
        let (child, mut output) = activate("https:http");
        assert_eq!(after("listening on ", &mut output), format!("https://127.0.0.1:{port}/"));
        (child, output)
    };
    let (child, output) = begin();
    for _ in 0..8 {
        assert_eq!(get(port, "/bytes/3", &site.chain), "\0\u{1}\u{2}");
    }
    let mut plain = TcpStream::connect(http.local_addr().unwrap()).unwrap();
    plain.write_all(b"GET /a HTTP/1.1\r\nHost: b\r\n\r\n").unwrap();
    let mut answer = String::new();
    plain.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(&format!("Location: https://b:{port}/a\r\n")), "{answer}");
    ends(child, output);

    // This client connects while no server runs, and waits for the next one.
    let waiting = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let (child, output) = begin();
    assert_eq!(get(port, "/bytes/0", &site.chain), "");
    waiting.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    (&waiting).write_all(b"not TLS").unwrap();
    (&waiting).read_to_end(&mut Vec::new()).expect("the server has accepted it, and closes it");
    ends(child, output);
}

/// Returns whether an event queue of the process contains this socket.
fn is_watched(process: u32, socket: &TcpListener) -> bool {
    let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
    let inode = link.to_str().unwrap().trim_matches(|letter: char| !letter.is_ascii_digit());
    let entry = format!(" ino:{:x} ", inode.parse::<u64>().unwrap());
    let mut files = fs::read_dir(format!("/proc/{process}/fdinfo")).unwrap();
    files.any(|file| {
        fs::read_to_string(file.unwrap().path()).is_ok_and(|about| about.contains(&entry))
    })
}

/// The socket stays open, so it must not wake a server that takes no more clients.
#[test]
fn a_server_that_drains_does_not_watch_the_sockets_of_systemd() {
    // without confinement, other processes can see the event queues
    let settings = "address = \"systemd:https\"\nworkers = 2\nseccomp = false\n";
    let site = Site::new("drains", settings);
    let https = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let (child, mut output) = activate(site.settings.name(), "https:http", [&https, &other]);
    after("listening on ", &mut output);
    assert!(is_watched(child.id(), &https));
    let port = https.local_addr().unwrap().port();
    // a handshake that does not end keeps the server from its end
    let mut half = TcpStream::connect(("127.0.0.1", port)).unwrap();
    half.write_all(&[22, 3, 1, 2, 0, 1, 0]).unwrap();
    // served after the first client was accepted, by the same listener
    for _ in 0..4 {
        assert_eq!(get(port, "/bytes/0", &site.chain), "");
    }
    signal("TERM", child.id());
    while is_watched(child.id(), &https) {
        thread::sleep(Duration::from_millis(10));
    }
    half.set_nonblocking(true).unwrap();
    let open = half.read(&mut [0]).unwrap_err();
    assert_eq!(open.kind(), std::io::ErrorKind::WouldBlock, "the server still drains");
    drop(half);
    ended(child, output); // a second signal would stop it at once
}

/// Prefix of a command without the capabilities with which root may look into other processes.
fn without_capabilities() -> Vec<&'static str> {
    let id = Command::new("id").arg("-u").output().unwrap();
    let is_root = id.stdout == b"0\n";
    let setpriv = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"];
    if is_root { setpriv.to_vec() } else { vec!["env"] }
}

#[test]
fn other_processes_of_the_user_cannot_look_into_a_confined_site() {
    let prefix = without_capabilities();
    for (settings, is_open) in [("seccomp = false\n", true), ("", false)] {
        let site = Site::new("hidden", &format!("address = \"127.0.0.1:0\"\n{settings}"));
        let mut child = Command::new(prefix[0])
            .args(&prefix[1..])
            .args([
                env!("CARGO_BIN_EXE_tollgate-ladder"),
                "serve",
                "--config",
                site.settings.name(),
            ])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let address = after("listening on https://127.0.0.1:", &mut output);
        let port = address.trim_end_matches('/').parse().unwrap();
        for file in ["environ", "mem"] {
            let file = format!("/proc/{}/{file}", child.id());
            let looks = Command::new(prefix[0])
                .args(&prefix[1..])
                .args(["head", "-c", "0", &file])
                .output()
                .unwrap();
            // `mem` may be closed even then, by Yama
            if !is_open || file.ends_with("environ") {
                assert_eq!(looks.status.success(), is_open, "{file}: {looks:?}");
            }
        }
        assert!(get(port, "/metrics", &site.chain).contains("tollgate_worker_cpu_seconds"));
        ends(child, output);
    }
}

#[test]
fn a_site_is_confined_and_still_does_everything() {
    let back_end = TcpListener::bind("127.0.0.1:0").unwrap();
    let log = scratch("confined.log");
    let settings = format!(
        "address = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\nresumption = \"cache\"\n\
         access_log = \"{}\"\nlog_format = \"combined\"\n[proxy]\nbackends = [\"{}\"]\n",
        log.name(),
        back_end.local_addr().unwrap()
    );
    let site = Site::new("confined", &settings);
    let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate-ladder"))
        .args(["serve", "--config", site.settings.name()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let address = after("listening on https://127.0.0.1:", &mut output);
    let port = address.trim_end_matches('/').parse().unwrap();
    let metrics = after("metrics: http://", &mut output);
    after("access log: ", &mut output);

    let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    let mut threads = 0;
    for task in tasks {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        assert!(status.contains("\nSeccomp:\t2\n") && status.contains("\nNoNewPrivs:\t1\n"));
        threads += 1;
    }
    assert!(threads >= 4, "{threads} threads: main, workers, log, metrics");

    thread::spawn(move || {
        for socket in back_end.incoming() {
            let mut socket = socket.unwrap();
            thread::spawn(move || {
                let mut head = [0; 4096];
                while socket.read(&mut head).unwrap() > 0 {
                    socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
                }
            });
        }
    });
    assert_eq!(get(port, "/a?secret=1", &site.chain), "ok");
    // curl trusts only the new certificate then
    site.certify("rsa-3072.pem");
    signal("HUP", child.id());
    let mut said = String::new();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    errors.read_line(&mut said).unwrap();
    assert!(said.contains("new connections use the certificates read now"), "{said}");
    assert_eq!(get(port, "/b", &site.chain), "ok");
    let counts = || {
        let mut page = TcpStream::connect(metrics.trim_end_matches('/')).unwrap();
        page.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let mut counts = String::new();
        page.read_to_string(&mut counts).unwrap();
        counts
    };
    // a client may have its response before it is counted
    while !counts().contains("tollgate_requests_total 2\n") {
        thread::sleep(Duration::from_millis(10));
    }
    ends(child, output);

    let lines = fs::read_to_string(&log).unwrap();
    let mut lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    // the lines of two workers may change places
    lines.sort_by_key(|line| line.contains("GET /b "));
    assert!(lines[0].starts_with("127.0.0.1 - - [") || lines[0].starts_with("::1 - - ["));
    let (_, rest) = lines[0].split_once("] ").unwrap();
    let expected = r#""GET /a HTTP/2.0" 200 2 "https://a/\x22b" "test""#;
    assert_eq!(rest, expected);
}
