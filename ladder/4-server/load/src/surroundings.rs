//! What happens around a run: clocks that are set, segments that are sent twice, connections that
//! a server's queue has no room for.

use core::time::Duration;
use std::fs;

use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::counts::share;
use crate::finding::Finding;
use crate::limits::Limits;
use crate::ports::Ports;

/// A reading of three clocks, as if at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clocks {
    /// What runs are timed with.
    monotonic: Duration,
    /// The same without what time servers make of it.
    raw: Duration,
    /// The time of day, which may be set.
    real: Duration,
}

/// What the system has counted, in all connections of this network namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tcp {
    sent: u64,
    sent_again: u64,
    listen_drops: u64,
}

/// A reading of all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    clocks: Clocks,
    tcp: Option<Tcp>,
}

/// What happened around a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Surroundings {
    /// By how much the clocks disagree about the time that it took, as a share of it: the time of
    /// day was set, or the machine was halted, or a time server hurries the clock on.
    pub clock_drift: f64,
    /// TCP segments that this machine sent; `None` where the system does not tell.
    pub segments: Option<u64>,
    /// Those that were sent again, because no answer came in time.
    pub retransmits: u64,
    /// Connections that no queue of a server on this machine had room for.
    pub listen_drops: u64,
    /// Ports at the end of it.
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

    pub(crate) fn until_now(&self) -> Surroundings {
        let now = Self::now();
        let change = |of: fn(&Tcp) -> u64| {
            now.tcp.zip(self.tcp).map(|(now, then)| of(&now).saturating_sub(of(&then)))
        };
        Surroundings {
            clock_drift: self.clocks.drift(&now.clocks),
            segments: change(|tcp| tcp.sent),
            retransmits: change(|tcp| tcp.sent_again).unwrap_or(0),
            listen_drops: change(|tcp| tcp.listen_drops).unwrap_or(0),
            ports: Ports::now(),
        }
    }
}

impl Clocks {
    /// Who is interrupted between two clocks reads again.
    fn now() -> Self {
        let mut best: Option<(Duration, Self)> = None;
        for _ in 0..5 {
            let before = of(ClockId::Monotonic);
            let (raw, real) = (of(ClockId::MonotonicRaw), of(ClockId::Realtime));
            let width = of(ClockId::Monotonic).saturating_sub(before);
            let clocks = Self { monotonic: before + width / 2, raw, real };
            if best.is_none_or(|(narrowest, _)| width < narrowest) {
                best = Some((width, clocks));
            }
        }
        best.map(|(_, clocks)| clocks).expect("the loop has turns")
    }

    /// The larger disagreement, over the time.
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

fn of(clock: ClockId) -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    let part = |number: i64| u64::try_from(number).unwrap_or_default();
    Duration::from_secs(part(tv_sec)) + Duration::from_nanos(part(tv_nsec))
}

impl Tcp {
    /// Of `/proc/net/snmp` and `/proc/net/netstat`.
    fn read(snmp: &str, netstat: &str) -> Option<Self> {
        Some(Self {
            sent: counter(snmp, "Tcp:", "OutSegs")?,
            sent_again: counter(snmp, "Tcp:", "RetransSegs")?,
            listen_drops: counter(netstat, "TcpExt:", "ListenDrops")?,
        })
    }
}

/// Names stand in one line, their values in the next.
fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_ascii_whitespace().position(|known| known == name)?;
    values.split_ascii_whitespace().nth(place)?.parse().ok()
}

impl Surroundings {
    /// What speaks against a run of so many connections, and what makes it doubtful.
    pub(crate) fn judge(
        &self,
        attempts: u64,
        limits: &Limits,
        reasons: &mut Vec<Finding>,
        doubts: &mut Vec<Finding>,
    ) {
        let drift = Finding::ClockDrift { share: self.clock_drift };
        if self.clock_drift > limits.clock {
            reasons.push(drift);
        } else if self.clock_drift > limits.clock_doubt {
            doubts.push(drift);
        }
        let segments = self.segments.unwrap_or(0);
        let again = Finding::Retransmits { count: self.retransmits, segments };
        if share(self.retransmits, segments) > limits.retransmits {
            reasons.push(again);
        } else if share(self.retransmits, segments) > limits.retransmits_doubt {
            doubts.push(again);
        }
        if share(self.listen_drops, attempts) > limits.listen_drops_doubt {
            doubts.push(Finding::ListenDrops { count: self.listen_drops, attempts });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
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
    fn a_clock_that_is_set_or_halted_drifts() {
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

    fn judged(around: Surroundings) -> (Vec<Finding>, Vec<Finding>) {
        let (mut reasons, mut doubts) = (Vec::new(), Vec::new());
        around.judge(1000, &Limits::default(), &mut reasons, &mut doubts);
        (reasons, doubts)
    }

    #[test]
    fn each_has_its_limit() {
        let good =
            Surroundings { segments: Some(10_000), retransmits: 10, ..Surroundings::default() };
        assert_eq!(judged(good), (vec![], vec![]));
        let (reasons, doubts) = judged(Surroundings { retransmits: 11, ..good });
        assert!(reasons.is_empty() && doubts[0].to_string().contains("11 of 10000"));
        let (reasons, _) = judged(Surroundings { retransmits: 501, ..good });
        assert!(reasons[0].to_string().contains("sent again"), "{reasons:?}");
        let (reasons, doubts) = judged(Surroundings { clock_drift: 0.002, ..good });
        assert!(reasons.is_empty() && doubts[0].to_string().contains("0.20 %"), "{doubts:?}");
        assert!(
            judged(Surroundings { clock_drift: 0.02, ..good }).0[0].to_string().contains("2.00 %")
        );
        let (_, doubts) = judged(Surroundings { listen_drops: 2, ..good });
        assert!(doubts[0].to_string().contains("full 2 times, in 1000"), "{doubts:?}");
    }

    #[test]
    fn a_server_that_does_not_accept_is_seen() {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let before = Reading::now();
        let clients = [(); 4].map(|()| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None).unwrap();
            let _ = socket.connect(&address); // on its way
            socket
        });
        let end = Instant::now() + Duration::from_secs(20);
        // the first second of silence brings the first segment that is sent again
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
}
