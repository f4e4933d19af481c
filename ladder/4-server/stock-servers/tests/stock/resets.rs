//! Clients that reset their connections during handshakes, at the same time as clients that do not.
//!
//! The measured part takes one second, or ten minutes with `TOLLGATE_TEST_LONG`.
//! `TOLLGATE_TEST_SOAK_SECONDS` sets another duration.

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

use crate::rig::{becomes, confirmed, counted, is_long, load, plan, start, sum_of, with_provider};
use crate::signer::Place;

/// The longest time that a client waits before its reset, in µs: a few signatures.
const WAIT_US_MAX: u64 = 4000;

/// Memory that OpenSSL and HAProxy leak with each job that is never resumed: the used part of its
/// stack, at most a whole stack, and its connection.
const LOST_KIB_PER_JOB: u64 = 32;

/// Maximum number of objects that belong to unfinished handshakes when the counters are read.
const PASSING: u64 = 4;

/// Memory that allocators may keep or return at any time.
const SLACK_KIB: u64 = 4 * 1024;

/// Returns the duration of the measured part.
fn time() -> Duration {
    let named = env::var("TOLLGATE_TEST_SOAK_SECONDS").ok();
    let seconds = named.map(|seconds| seconds.parse().unwrap());
    Duration::from_secs(seconds.unwrap_or(if is_long() { 600 } else { 1 }))
}

/// Returns the first record of a client that offers TLS 1.3.
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

/// Connects, starts a handshake and resets the connection.
pub(crate) fn reset(running: &Running, hello: &[u8]) {
    let mut stream = TcpStream::connect(running.address()).unwrap();
    set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    stream.write_all(hello).unwrap();
    thread::sleep(Duration::from_micros(fastrand::u64(..WAIT_US_MAX)));
}

/// Resets connections until `ended`; returns their number.
fn reset_until(running: &Running, hello: &[u8], ended: &AtomicBool) -> u64 {
    let mut count = 0;
    while !ended.load(Ordering::Relaxed) {
        reset(running, hello);
        count += 1;
    }
    count
}

/// Returns the resident memory of the workers in KiB.
fn resident(running: &Running) -> u64 {
    let of_process = |process: u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    running.workers().unwrap().into_iter().map(of_process).sum()
}

/// Returns the kind of each open file of the workers: its link in `/proc` without numbers.
fn open_files(running: &Running) -> Vec<String> {
    let of_process = |process: u32| fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let files = running.workers().unwrap().into_iter().flat_map(of_process);
    // It fails if the file was closed meanwhile.
    let links = files.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
    links
        .map(|link| link.display().to_string().replace(|letter: char| letter.is_ascii_digit(), ""))
        .collect()
}

/// Returns the elements of a list that another does not have, or not as often.
fn excess(mut list: Vec<String>, other: &[String]) -> Vec<String> {
    for element in other {
        if let Some(index) = list.iter().position(|other| other == element) {
            list.swap_remove(index);
        }
    }
    list
}

/// The work of both kinds of clients.
#[derive(Default)]
struct Endured {
    resets: u64,
    handshakes: u64,
    /// Resident memory in MiB, sampled twelve times.
    curve: Vec<u64>,
}

/// Runs both kinds of clients for this time. Clients that do not reset must not fail.
fn endure(running: &Running, hello: &[u8], time: Duration) -> Endured {
    let ended = AtomicBool::new(false);
    let (start, mut endured) = (Instant::now(), Endured::default());
    thread::scope(|scope| {
        let resetting = [(); 2].map(|()| scope.spawn(|| reset_until(running, hello, &ended)));
        while start.elapsed() < time {
            let outcome = load(running, &Plan { connections: 16, ..plan(Protocol::Tls13, 500) });
            assert_eq!(outcome.whole.failed(), 0, "{outcome}");
            assert!(outcome.whole.confirmed > 3, "{outcome}");
            endured.handshakes += outcome.whole.confirmed;
            if start.elapsed() * 12 > time * u32::try_from(endured.curve.len()).unwrap() {
                endured.curve.push(resident(running) / 1024);
            }
        }
        ended.store(true, Ordering::Relaxed);
        endured.resets = resetting.into_iter().map(|thread| thread.join().unwrap()).sum();
    });
    endured
}

/// The growth of a server under clients that reset.
struct Growth {
    /// Resident memory in KiB.
    kib: u64,
    /// Jobs that were paused and never resumed.
    abandoned: u64,
    /// Keys and contexts of the provider that were not freed.
    objects: u64,
}

/// Returns the counts of objects and abandoned jobs. A handshake makes the provider write them if
/// its last write was at least a second ago.
fn left(running: &Running) -> [u64; 2] {
    thread::sleep(Duration::from_millis(1100));
    confirmed(&load(running, &Plan { connections: 1, ..plan(Protocol::Tls13, 200) }));
    [sum_of(running, "objects"), counted(running, "abandoned_operations")]
}

/// Measures the growth, and checks that no file stays open. After `forget` the next operation
/// closes the idle connections of the provider, whose number depends on the load.
fn growth(settings: &Settings, mut forget: impl FnMut()) -> Option<Growth> {
    let running = start(Product::Haproxy, settings)?;
    let hello = hello();
    endure(&running, &hello, Duration::from_millis(500));
    // The server closes connections that have ended soon.
    thread::sleep(Duration::from_millis(500));
    forget();
    let [objects_before, abandoned_before] = left(&running);
    let (before, files) = (resident(&running), open_files(&running));
    let Endured { resets, handshakes, curve } = endure(&running, &hello, time());
    forget();
    let [objects, abandoned] = left(&running);
    becomes(&Vec::new(), || excess(open_files(&running), &files));
    let kib = resident(&running).saturating_sub(before);
    let objects = objects.saturating_sub(objects_before);
    let abandoned = abandoned - abandoned_before;
    eprintln!("{running:?}: {handshakes} handshakes, {resets} resets, {} files", files.len());
    eprintln!("resident memory grew by {kib} KiB from {before} KiB; samples in MiB: {curve:?}");
    eprintln!("{abandoned} jobs were abandoned, {objects} objects of the provider with them");
    if settings.module.is_some() {
        assert!(counted(&running, "signatures") > 0);
        assert_eq!(counted(&running, "refused_keys"), 0);
    }
    Some(Growth { kib, abandoned, objects })
}

/// Without paused handshakes nothing leaks. With them, HAProxy and OpenSSL leak each job that is
/// not resumed (haproxy#3453) and the provider's context that libcrypto holds for it.
#[test]
fn client_resets_leak_nothing() {
    let with = with_provider();
    let Some(without) = growth(&Settings { module: None, ..with.clone() }, || ()) else { return };
    let grown = growth(&with, || ()).unwrap();
    assert_eq!(grown.abandoned, 0, "none was paused");
    assert!(grown.objects <= PASSING, "{} objects", grown.objects);
    assert!(grown.kib <= without.kib + SLACK_KIB, "{}, {} KiB without", grown.kib, without.kib);
    let Growth { kib, abandoned, objects } =
        growth(&Settings { asynchronous: true, ..with }, || ()).unwrap();
    assert!(objects.abs_diff(abandoned) <= PASSING, "{objects} objects of {abandoned} jobs");
    let allowed = without.kib + SLACK_KIB + LOST_KIB_PER_JOB * abandoned;
    assert!(kib <= allowed, "{kib} KiB of {abandoned} jobs");
}

/// Jobs that are paused for a signer are abandoned too, and their connections to it are closed.
#[test]
fn client_resets_leak_nothing_through_a_signer() {
    let place = Place::new("rsa-2048.pem");
    let mut signing = Some(place.start());
    let settings = place.settings(Settings { asynchronous: true, ..with_provider() });
    let restart = || {
        signing = None;
        signing = Some(place.start());
    };
    let Some(Growth { kib, abandoned, objects }) = growth(&settings, restart) else { return };
    assert!(abandoned > 0, "some were abandoned");
    assert!(objects.abs_diff(abandoned) <= PASSING, "{objects} objects of {abandoned} jobs");
    assert!(kib <= 2 * SLACK_KIB + LOST_KIB_PER_JOB * abandoned, "{kib} KiB of {abandoned} jobs");
}
