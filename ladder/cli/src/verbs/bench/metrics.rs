//! `--metrics`: counters of the run so far, for Prometheus.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use tollgate_load::{Buckets, Live, LiveCounts, StepTimes};

use crate::cells::float;
use crate::error::CliError;
use crate::output::say;

/// Maximum length of a request, and its timeout.
const REQUEST_BYTES_MAX: usize = 8192;
const PATIENCE: Duration = Duration::from_secs(1);

/// Pause after an error of `accept`.
const PAUSE: Duration = Duration::from_millis(100);

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Default)]
pub(super) struct Watched(Mutex<Vec<Arc<One>>>);

#[derive(Debug)]
struct One {
    scenario: String,
    server: String,
    live: Arc<Live>,
}

impl Watched {
    pub(super) fn add(&self, scenario: &str, server: &str, live: Arc<Live>) {
        let one = One { scenario: scenario.to_owned(), server: server.to_owned(), live };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(one));
    }

    fn text(&self) -> String {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let counted = all.into_iter().map(|one| (one.live.counts(), one));
        let mut registry = Registry::with_prefix("tollgate_bench");
        registry.register_collector(Box::new(Snapshot(counted.collect())));
        let mut text = String::new();
        encode(&mut text, &registry).expect("a String takes any text");
        text
    }
}

#[derive(Debug)]
struct Snapshot(Vec<(LiveCounts, Arc<One>)>);

type Counter = (&'static str, &'static str, fn(&LiveCounts) -> u64);

const COUNTERS: [Counter; 7] = [
    ("connections", "Connections begun", |counts| counts.attempts),
    ("handshakes", "Handshakes that the server confirmed", |counts| counts.confirmed),
    ("sessions", "Sessions completed", |counts| counts.transactions),
    ("failed", "Connections that failed", |counts| counts.failed),
    ("gave_up", "Connections that impatient clients closed", |counts| counts.timed_out),
    ("never_began", "Arrivals that never began", |counts| counts.dropped),
    ("body_bytes", "Bytes of bodies received", |counts| counts.body_bytes),
];

type Histogram = (&'static str, &'static str, fn(&StepTimes) -> &Buckets);

const TIMES: [Histogram; 3] = [
    ("connect_time", "TCP connect times", |times| &times.connect),
    (
        "handshake_time",
        "Times from the ClientHello until the server confirmed the handshake",
        |times| &times.handshake,
    ),
    (
        "transaction_time",
        "Times from connect to the last byte; in an open loop from the intended start",
        |times| &times.transaction,
    ),
];

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, of) in COUNTERS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (counts, one) in &self.0 {
                family
                    .encode_family(&one.labels())?
                    .encode_counter::<NoLabelSet, _, u64>(&of(counts), None)?;
            }
        }
        for (name, help, of) in TIMES {
            let mut family = encoder.encode_descriptor(
                name,
                help,
                Some(&Unit::Seconds),
                MetricType::Histogram,
            )?;
            for (counts, one) in &self.0 {
                let times = of(&counts.times);
                let bounds = Buckets::BOUNDS_US.map(|us| float(us) / 1e6);
                let ends = bounds.into_iter().chain([f64::MAX]); // written as +Inf
                let buckets: Vec<(f64, u64)> = ends.zip(times.counts).collect();
                let sum = float(times.sum_ns) / 1e9;
                let count = times.counts.iter().sum();
                family
                    .encode_family(&one.labels())?
                    .encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
            }
        }
        Ok(())
    }
}

impl One {
    fn labels(&self) -> [(&str, &str); 2] {
        [("scenario", &self.scenario), ("server", &self.server)]
    }
}

/// Starts a thread that answers on an address until the program ends, and prints the address.
pub(super) fn serve(address: SocketAddr, watched: Arc<Watched>) -> Result<(), CliError> {
    let wrong = |error: io::Error| error!("--metrics: {address}: {error}");
    let listener = TcpListener::bind(address).map_err(wrong)?;
    say(&format!("metrics: http://{}/metrics", listener.local_addr().map_err(wrong)?));
    let serve = move || {
        for stream in listener.incoming() {
            match stream {
                // the reader is gone, or will send another request
                Ok(stream) => drop(answer(stream, &watched)),
                // possibly out of file descriptors
                Err(_) => thread::sleep(PAUSE),
            }
        }
    };
    thread::Builder::new().name("metrics".to_owned()).spawn(serve).map_err(wrong)?;
    Ok(())
}

fn answer(mut stream: TcpStream, watched: &Watched) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (mut request, mut length, end) = ([0; REQUEST_BYTES_MAX], 0, Instant::now() + PATIENCE);
    while !request[..length].windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut request[length..])? {
            0 => return Ok(()),                         // closed, or too long
            _ if Instant::now() > end => return Ok(()), // the client blocks others
            more => length += more,
        }
    }
    let is_asked = request.starts_with(b"GET /metrics ");
    let (status, kind, body) = if is_asked {
        ("200 OK", CONTENT_TYPE, watched.text())
    } else {
        ("404 Not Found", "text/plain", "GET /metrics\n".to_owned())
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    let response = head + &body;
    let (mut rest, end) = (response.as_bytes(), Instant::now() + PATIENCE);
    while !rest.is_empty() && Instant::now() < end {
        rest = &rest[stream.write(rest)?..];
    }
    Ok(())
}
