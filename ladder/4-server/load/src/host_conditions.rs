//! Conditions of the host during a run: clock drift, TCP retransmissions, full listen queues.

use core::time::Duration;
use std::fs;

use rustix::time::ClockId;
use serde::{Deserialize, Serialize};

use crate::counts::share;
use crate::cpu::clock;
use crate::finding::{Finding, Findings};
use crate::limits::Limits;
use crate::ports::Ports;

/// Disagreement of the clocks divided by the time of the run: a run above the first limit is
/// invalid, above the second doubtful.
const CLOCK: (f64, f64) = (0.01, 0.001);

/// Retransmitted TCP segments divided by all sent segments; the limits as above.
const RETRANSMITS: (f64, f64) = (0.05, 0.001);

/// Connections dropped by full listen queues, divided by attempts; a run above this is doubtful.
const LISTEN_DROPS_DOUBT: f64 = 0.001;

/// Sockets in `TIME_WAIT` divided by the ports to connect from; a run above this is doubtful.
const PORTS_DOUBT: f64 = 0.8;

/// Three clocks, read at nearly the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clocks {
    /// The clock of all measurements.
    monotonic: Duration,
    /// The monotonic clock without adjustments by NTP.
    raw: Duration,
    /// Wall-clock time, which may be set.
    real: Duration,
}

/// TCP counters of this network namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tcp {
    sent: u64,
    sent_again: u64,
    listen_drops: u64,
}

/// A reading of clocks and counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    clocks: Clocks,
    tcp: Option<Tcp>,
}

/// Conditions of the host during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostConditions {
    /// Largest disagreement of the clocks about the duration of the run, as a share of the
    /// duration. Causes: the time was set, the machine was suspended, or NTP adjusts the clock.
    pub clock_drift: f64,
    /// TCP segments that this machine sent; `None` if the system does not report it.
    pub segments: Option<u64>,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Connections dropped by full listen queues on this machine.
    pub listen_drops: u64,
    /// Local ports at the end of the run.
    pub ports: Ports,
}

impl Reading {
    pub(crate) fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        let tcp = read("/proc/net/snmp").zip(read("/proc/net/netstat"));
        Self {
            clocks: Clocks::now(),
            tcp: tcp.and_then(|(snmp, netstat)| Tcp::read(&snmp, &netstat)),
        }
    }

    pub(crate) fn until_now(&self) -> HostConditions {
        let now = Self::now();
        let change = |of: fn(&Tcp) -> u64| {
            now.tcp.zip(self.tcp).map(|(now, then)| of(&now).saturating_sub(of(&then)))
        };
        HostConditions {
            clock_drift: self.clocks.drift(&now.clocks),
            segments: change(|tcp| tcp.sent),
            retransmits: change(|tcp| tcp.sent_again).unwrap_or(0),
            listen_drops: change(|tcp| tcp.listen_drops).unwrap_or(0),
            ports: Ports::now(),
        }
    }
}

impl Clocks {
    /// Takes five readings, and returns the one with the shortest gap between the clocks.
    fn now() -> Self {
        let mut best: Option<(Duration, Self)> = None;
        for _ in 0..5 {
            let before = clock(ClockId::Monotonic);
            let (raw, real) = (clock(ClockId::MonotonicRaw), clock(ClockId::Realtime));
            let width = clock(ClockId::Monotonic).saturating_sub(before);
            let clocks = Self { monotonic: before + width / 2, raw, real };
            if best.is_none_or(|(narrowest, _)| width < narrowest) {
                best = Some((width, clocks));
            }
        }
        best.map(|(_, clocks)| clocks).expect("the loop has turns")
    }

    /// Returns the larger one of the disagreements of the other two clocks with the monotonic
    /// clock, as a share of the elapsed time.
    fn drift(&self, later: &Self) -> f64 {
        let took = |of: fn(&Self) -> Duration| of(later).as_secs_f64() - of(self).as_secs_f64();
        let time = took(|clocks| clocks.monotonic);
        if time <= 0.0 {
            return 0.0;
        }
        let others = [took(|clocks| clocks.raw), took(|clocks| clocks.real)];
        others.iter().map(|other| (other - time).abs() / time).fold(0.0, f64::max)
    }
}

impl Tcp {
    /// Parses `/proc/net/snmp` and `/proc/net/netstat`.
    fn read(snmp: &str, netstat: &str) -> Option<Self> {
        Some(Self {
            sent: counter(snmp, "Tcp:", "OutSegs")?,
            sent_again: counter(snmp, "Tcp:", "RetransSegs")?,
            listen_drops: counter(netstat, "TcpExt:", "ListenDrops")?,
        })
    }
}

/// Reads a counter. Names are in one line, and their values are in the next line.
fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_ascii_whitespace().position(|known| known == name)?;
    values.split_ascii_whitespace().nth(place)?.parse().ok()
}

impl HostConditions {
    /// Returns the conditions of all machines of a run: the largest drift, the sums of the counts,
    /// and the ports of the machine with the most sockets in `TIME_WAIT`.
    pub(crate) fn sum(all: impl Iterator<Item = Self>) -> Self {
        let sum = all.reduce(|sum, more| Self {
            clock_drift: sum.clock_drift.max(more.clock_drift),
            segments: sum.segments.zip(more.segments).map(|(one, other)| one.saturating_add(other)),
            retransmits: sum.retransmits.saturating_add(more.retransmits),
            listen_drops: sum.listen_drops.saturating_add(more.listen_drops),
            ports: if more.ports.waiting > sum.ports.waiting { more.ports } else { sum.ports },
        });
        sum.unwrap_or_default()
    }

    /// Adds findings about a run with this number of connections.
    pub(crate) fn judge(&self, attempts: u64, limits: &Limits, findings: &mut Findings) {
        let drift = self.clock_drift;
        let both = |(reason, doubt)| (limits.shape(reason), limits.shape(doubt));
        findings.above(both(CLOCK), drift, Finding::ClockDrift { share: drift });
        let (count, segments) = (self.retransmits, self.segments.unwrap_or(0));
        let again = Finding::Retransmits { count, segments };
        findings.above(both(RETRANSMITS), share(count, segments), again);
        let count = self.listen_drops;
        if share(count, attempts) > limits.shape(LISTEN_DROPS_DOUBT) {
            findings.doubts.push(Finding::ListenDrops { count, attempts });
        }
    }
}

impl Ports {
    /// Returns a finding if nearly all ports are in `TIME_WAIT`.
    pub(crate) fn scarce(self, limits: &Limits) -> Option<Finding> {
        let (waiting, ports) = (self.waiting?, self.range?);
        #[allow(clippy::cast_precision_loss, reason = "ports are few")]
        let share = waiting as f64 / ports as f64;
        (share > limits.shape(PORTS_DOUBT)).then_some(Finding::PortsWaiting { waiting, ports })
    }
}

#[cfg(test)]
mod tests {
    use core::net::SocketAddr;
    use std::thread;
    use std::time::Instant;

    use socket2::{Domain, Socket, Type};

    use super::*;

    const SNMP: &str = "Ip: a b\nIp: 1 2\nTcp: InSegs OutSegs RetransSegs\nTcp: 7 1000 3\nUdp: x\n";
    const NETSTAT: &str = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 4 5\n";

    #[test]
    fn counters_are_found_by_name() {
        let found = Tcp::read(SNMP, NETSTAT).unwrap();
        assert_eq!(found, Tcp { sent: 1000, sent_again: 3, listen_drops: 5 });
        for bad in ["", "Tcp: OutSegs", "Tcp: OutSegs\nTcp: x", "Tcp: RetransSegs\nTcp: 1"] {
            assert_eq!(Tcp::read(bad, NETSTAT), None, "{bad:?}");
        }
    }

    #[test]
    fn a_clock_that_is_set_or_suspended_drifts() {
        let s = Duration::from_secs;
        let begin = Clocks { monotonic: s(100), raw: s(90), real: s(1_000_000) };
        let after = |raw: u64, real: u64| {
            let ms = Duration::from_millis;
            let (raw, real) = (begin.raw + ms(raw), begin.real + ms(real));
            begin.drift(&Clocks { monotonic: s(110), raw, real })
        };
        assert!(after(10_000, 10_000) < 1e-9);
        assert!((after(10_000, 10_500) - 0.05).abs() < 1e-9, "set forth by half a second");
        assert!((after(10_000, 9_500) - 0.05).abs() < 1e-9, "and back");
        assert!((after(10_005, 10_000) - 0.0005).abs() < 1e-9, "hurried on");
        assert!(begin.drift(&begin) < 1e-9);
        let (first, second) = (Clocks::now(), Clocks::now());
        assert!(second.monotonic > first.monotonic && first.drift(&second).is_finite());
    }

    fn judged(host: HostConditions) -> Findings {
        let mut findings = Findings::default();
        host.judge(1000, &Limits::default(), &mut findings);
        findings
    }

    #[test]
    fn each_condition_has_its_limit() {
        let good =
            HostConditions { segments: Some(10_000), retransmits: 10, ..HostConditions::default() };
        assert_eq!(judged(good), Findings::default());
        for (host, is_reason, words) in [
            (HostConditions { retransmits: 11, ..good }, false, "11 of 10000"),
            (HostConditions { retransmits: 501, ..good }, true, "retransmitted"),
            (HostConditions { clock_drift: 0.002, ..good }, false, "0.20 %"),
            (HostConditions { clock_drift: 0.02, ..good }, true, "2.00 %"),
            (HostConditions { listen_drops: 2, ..good }, false, "full 2 times, in 1000"),
        ] {
            let Findings { reasons, doubts } = judged(host);
            let (found, none) = if is_reason { (reasons, doubts) } else { (doubts, reasons) };
            assert!(found[0].to_string().contains(words) && none.is_empty(), "{found:?}");
        }
    }

    #[test]
    fn a_server_that_does_not_accept_is_detected() {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let before = Reading::now();
        let clients = [(); 4].map(|()| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None).unwrap();
            let _ = socket.connect(&address); // not yet connected
            socket
        });
        let end = Instant::now() + Duration::from_secs(20);
        // after a second without answer the first segment is retransmitted
        let found = loop {
            let found = before.until_now();
            if found.retransmits > 0 && found.listen_drops > 0 || Instant::now() > end {
                break found;
            }
            thread::sleep(Duration::from_millis(50));
        };
        drop(clients);
        assert!(found.retransmits > 0 && found.listen_drops > 0, "{found:?}");
        assert!(found.segments.unwrap() >= found.retransmits, "{found:?}");
    }

    #[test]
    fn nearly_all_ports_in_time_wait_are_a_finding() {
        let limits = Limits::default();
        let of = |waiting| Ports { range: Some(100), waiting: Some(waiting) }.scarce(&limits);
        assert_eq!((of(80), of(81).is_some()), (None, true));
        assert!(of(81).unwrap().to_string().contains("81 of 100"));
    }
}
