//! Rude clients of all kinds beside well-behaved ones, for a long time: memory stays flat, and the
//! log agrees with the clients.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::thread;
use std::time::Instant;

use rustix::net::sockopt::set_socket_linger;
use tollgate_server::log::Outcome;

use crate::apart::Apart;
use crate::load::{ABUSED, Load};
use crate::rig::{Log, connect, tcp};

/// The length of the test in seconds: an hour is for a release.
const SECONDS: &str = "TOLLGATE_SOAK_SECONDS";
const SECONDS_DEFAULT: u64 = 120;

/// The growth of memory that is accepted from the second quarter to the last.
const GROWTH_KIB_MAX: u64 = 8 * 1024;

/// A pause between two connections of one kind.
const PAUSE: Duration = Duration::from_millis(20);

/// Counts of rude clients.
#[derive(Debug, Default)]
struct Rude {
    ended: AtomicBool,
    /// Connections with a complete handshake.
    shaken: AtomicUsize,
    /// Other connections.
    unshaken: AtomicUsize,
    /// Requests whose response began.
    asked: AtomicUsize,
}

impl Rude {
    fn is_over(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Asks for a long body, reads a part, and resets the connection.
    fn resets(&self, address: SocketAddr) {
        while !self.is_over() {
            let mut client = self.ask(address);
            client.read_exact(&mut vec![0; 100_000]).unwrap();
            set_socket_linger(client.get_ref(), Some(Duration::ZERO)).unwrap();
            drop(client);
            thread::sleep(PAUSE);
        }
    }

    /// Reads long bodies slowly.
    fn reads_slowly(&self, address: SocketAddr) {
        let mut clients: Vec<_> = (0..20).map(|_| self.ask(address)).collect();
        while !self.is_over() {
            for client in &mut clients {
                // the kernel may accept nothing for longer than the server's limit
                if client.read_exact(&mut [0; 1000]).is_err() {
                    *client = self.ask(address);
                }
            }
            thread::sleep(PAUSE);
        }
    }

    /// Keeps many handshakes open that never complete.
    fn floods(&self, address: SocketAddr) {
        let mut open = VecDeque::new();
        while !self.is_over() {
            for _ in 0..5 {
                let mut half = tcp(address);
                half.write_all(&[22, 3, 1, 2, 0, 1, 0]).unwrap();
                open.push_back(half);
                self.unshaken.fetch_add(1, Ordering::Relaxed);
            }
            if open.len() > 500 {
                open.drain(..100);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Sends records that are broken, in place of a handshake and after one.
    fn breaks_records(&self, address: SocketAddr) {
        let mut random = fastrand::Rng::with_seed(22);
        while !self.is_over() {
            let garbage: Vec<u8> = (0..random.usize(1..3000)).map(|_| random.u8(..)).collect();
            let mut client = tcp(address);
            let record = [&[22, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3][..], &garbage].concat();
            let _ = client.write_all(&record);
            self.unshaken.fetch_add(1, Ordering::Relaxed);
            let mut client = connect(address);
            self.shaken.fetch_add(1, Ordering::Relaxed);
            let _ = client.get_mut().write_all(&[&[23, 3, 3, 0, 200][..], &garbage].concat());
            thread::sleep(PAUSE);
        }
    }

    /// Connects, asks for a long body, and reads its head.
    fn ask(&self, address: SocketAddr) -> openssl::ssl::SslStream<std::net::TcpStream> {
        let mut client = connect(address);
        self.shaken.fetch_add(1, Ordering::Relaxed);
        client.write_all(format!("GET {ABUSED} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).unwrap();
        crate::rig::head(&mut client);
        self.asked.fetch_add(1, Ordering::Relaxed);
        client
    }
}

#[test]
#[ignore = "two minutes, or an hour: ./x test --long"]
#[allow(clippy::print_stdout, reason = "the figures are the result")]
fn memory_stays_flat_under_rude_clients() {
    let seconds = std::env::var(SECONDS).map_or(SECONDS_DEFAULT, |text| text.parse().unwrap());
    let settings = "engine = \"tollgate\"\nresumption = \"cache\"\n[sessions]\nsessions_max = 1000\n\
                    [limits]\nhandshake = 3";
    let server = Apart::start(settings, &[]);
    let (address, rude) = (server.address, Rude::default());
    let load = Load::start_with_pause(&[address], 4, PAUSE);
    let mut kib = Vec::new();
    let begun = Instant::now();
    thread::scope(|scope| {
        for rudely in [Rude::resets, Rude::reads_slowly, Rude::floods, Rude::breaks_records] {
            let rude = &rude;
            scope.spawn(move || rudely(rude, address));
        }
        while begun.elapsed() < Duration::from_secs(seconds) {
            thread::sleep(Duration::from_millis(250));
            kib.push(server.resident_kib());
        }
        rude.ended.store(true, Ordering::Relaxed);
    });
    let seen = load.end();
    let (ended, folder) = server.stop();
    let highest = |samples: &[u64]| samples.iter().max().copied().unwrap();
    let quarter = kib.len() / 4;
    let (early, late) = (highest(&kib[quarter..2 * quarter]), highest(&kib[3 * quarter..]));
    let [shaken, unshaken, asked] =
        [&rude.shaken, &rude.unshaken, &rude.asked].map(|count| count.load(Ordering::Relaxed));
    println!(
        "{seconds} s: {} connections and {} responses of good clients; of rude ones {shaken} \
         connections with a handshake, {unshaken} without, {asked} responses; log {} lines, {} lost; \
         memory at most {early} KiB in the second quarter, {late} KiB in the last",
        seen.connections,
        seen.whole.len(),
        ended.log_lines,
        ended.log_lines_lost
    );
    assert!(late <= early + GROWTH_KIB_MAX, "memory grows: {early} to {late} KiB");

    assert_eq!((seen.cut.len(), seen.unconnected), (0, 0), "good clients notice nothing");
    assert!(ended.log_complete);
    let log = Log::of(&folder);
    let failed = |failed| {
        log.handshakes().iter().filter(|it| (it.outcome == Outcome::Failed) == failed).count()
    };
    assert_eq!(failed(false), seen.connections + shaken);
    assert_eq!(failed(true), unshaken);
    assert_eq!(log.requests().iter().filter(|line| line.target == ABUSED).count(), asked);
    seen.agrees_with(&[log]);
}
