//! Clients that reset their connections while the server works for them, beside clients that do
//! not.
//!
//! A second of it; ten minutes in the long suite, or what `TOLLGATE_TEST_SOAK_SECONDS` says.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, fs, thread};

use rustix::net::sockopt::set_socket_linger;
use tollgate_load::{Plan, Protocol};
use tollgate_stock_servers::{Product, Running, Settings};

use crate::rig::{confirmed, counted, eventually, load, plan, start, told, with_provider};

/// The longest that a client waits for an answer, in µs: a few signatures.
const WAIT_US_MAX: u64 = 4000;

/// What OpenSSL and HAProxy lose with each job that is never resumed: the part of its stack that
/// was used, and its connection. No more than a whole stack.
const LOST_KIB_PER_JOB: u64 = 32;

/// Objects that come and go with the handshakes of a moment.
const PASSING: u64 = 4;

/// What allocators keep or give back, whatever happens.
const SLACK_KIB: u64 = 4 * 1024;

fn time() -> Duration {
    let named = env::var("TOLLGATE_TEST_SOAK_SECONDS").ok();
    let is_long = env::var_os("TOLLGATE_TEST_LONG").is_some();
    let seconds = named.map(|seconds| seconds.parse().unwrap());
    Duration::from_secs(seconds.unwrap_or(if is_long { 600 } else { 1 }))
}

/// The first record of a client that offers TLS 1.3.
fn hello() -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = Command::new("openssl")
        .args(["s_client", "-connect", &listener.local_addr().unwrap().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let mut record = vec![0; 5];
    stream.read_exact(&mut record).unwrap();
    let length = usize::from(u16::from_be_bytes([record[3], record[4]]));
    record.resize(5 + length, 0);
    stream.read_exact(&mut record[5..]).unwrap();
    client.kill().unwrap();
    client.wait().unwrap();
    record
}

/// Connects, asks for a handshake, and resets somewhere in it, until it is to end; how often.
fn reset(running: &Running, hello: &[u8], ended: &AtomicBool) -> u64 {
    let mut count = 0;
    while !ended.load(Ordering::Relaxed) {
        let mut stream = TcpStream::connect(running.address()).unwrap();
        set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        stream.write_all(hello).unwrap();
        thread::sleep(Duration::from_micros(fastrand::u64(..WAIT_US_MAX)));
        count += 1;
    }
    count
}

/// Resident memory of the workers in KiB, and their open files.
fn used(running: &Running) -> (u64, usize) {
    let of_process = |process: u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
        (kib, fs::read_dir(format!("/proc/{process}/fd")).unwrap().count())
    };
    let workers = running.workers().unwrap().into_iter().map(of_process);
    workers.fold((0, 0), |(kib, files), (more, others)| (kib + more, files + others))
}

/// What both kinds of clients did to the server.
#[derive(Default)]
struct Endured {
    resets: u64,
    handshakes: u64,
    /// Resident memory in MiB, a dozen times on the way.
    curve: Vec<u64>,
}

/// Both kinds of clients for so long. None of those that do not reset fails.
fn endure(running: &Running, hello: &[u8], time: Duration) -> Endured {
    let ended = AtomicBool::new(false);
    let (start, mut endured) = (Instant::now(), Endured::default());
    thread::scope(|scope| {
        let resetting = [(); 2].map(|()| scope.spawn(|| reset(running, hello, &ended)));
        while start.elapsed() < time {
            let outcome = load(running, &Plan { connections: 16, ..plan(Protocol::Tls13, 500) });
            assert_eq!(outcome.whole().failed(), 0, "{outcome}");
            assert!(outcome.whole().confirmed > 3, "{outcome}");
            endured.handshakes += outcome.whole().confirmed;
            if start.elapsed() * 12 > time * u32::try_from(endured.curve.len()).unwrap() {
                endured.curve.push(used(running).0 / 1024);
            }
        }
        ended.store(true, Ordering::Relaxed);
        endured.resets = resetting.into_iter().map(|thread| thread.join().unwrap()).sum();
    });
    endured
}

/// What clients that reset leave behind.
struct Growth {
    /// Of resident memory.
    kib: u64,
    /// Jobs that were paused and never went on.
    abandoned: u64,
    /// Keys and contexts of the provider that nobody has freed.
    objects: u64,
}

/// Objects and abandoned jobs, as a handshake that is alone finds them: it writes them down, where
/// the last one is a second ago.
fn left(running: &Running) -> [u64; 2] {
    thread::sleep(Duration::from_millis(1100));
    confirmed(&load(running, &Plan { connections: 1, ..plan(Protocol::Tls13, 200) }));
    [told(running, "objects"), counted(running, "abandoned_operations")]
}

/// What is left behind; files are as many as they were.
fn growth(settings: &Settings) -> Option<Growth> {
    let running = start(Product::Haproxy, settings)?;
    let hello = hello();
    endure(&running, &hello, Duration::from_millis(500));
    // A connection that ends is closed within moments.
    thread::sleep(Duration::from_millis(500));
    let [objects_before, abandoned_before] = left(&running);
    let (before, files) = used(&running);
    let Endured { resets, handshakes, curve } = endure(&running, &hello, time());
    eventually("every file is closed", || used(&running).1 <= files);
    let kib = used(&running).0.saturating_sub(before);
    let [objects, abandoned] = left(&running);
    let objects = objects.saturating_sub(objects_before);
    let abandoned = abandoned - abandoned_before;
    eprintln!("{running:?}: {handshakes} handshakes, {resets} resets, {files} files");
    eprintln!("resident memory grew by {kib} KiB from {before} KiB; MiB on the way: {curve:?}");
    eprintln!("{abandoned} jobs were abandoned, {objects} objects of the provider with them");
    if settings.module.is_some() {
        assert!(counted(&running, "signatures") > 0);
        assert_eq!(counted(&running, "refused_keys"), 0);
    }
    Some(Growth { kib, abandoned, objects })
}

/// What is lost with paused handshakes is what HAProxy and OpenSSL lose with any job that nobody
/// resumes (haproxy#3453), and the one context of ours that libcrypto holds for it; where none is
/// paused, nothing is.
#[test]
fn client_resets_leak_nothing() {
    let with = with_provider();
    let Some(without) = growth(&Settings { module: None, ..with.clone() }) else { return };
    let grown = growth(&with).unwrap();
    assert_eq!(grown.abandoned, 0, "none was paused");
    assert!(grown.objects <= PASSING, "{} objects", grown.objects);
    assert!(grown.kib <= without.kib + SLACK_KIB, "{}, {} KiB without", grown.kib, without.kib);
    let Growth { kib, abandoned, objects } =
        growth(&Settings { asynchronous: true, ..with }).unwrap();
    assert!(objects.abs_diff(abandoned) <= PASSING, "{objects} objects of {abandoned} jobs");
    let allowed = without.kib + SLACK_KIB + LOST_KIB_PER_JOB * abandoned;
    assert!(kib <= allowed, "{kib} KiB of {abandoned} jobs");
}
