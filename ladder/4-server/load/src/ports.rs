//! Ports to connect from: how many there are, how many wait, whether they will do.

use core::fmt;
use std::fs;

use crate::arrivals::Arrivals;
use crate::finding::Finding;
use crate::plan::{Close, Plan};

/// How long a port waits in `TIME_WAIT`, in seconds (`TCP_TIMEWAIT_LEN` of Linux).
const WAIT_S: f64 = 60.0;

/// What the system says of its ports; unknown is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ports {
    /// Ports that the system gives to who connects (`ip_local_port_range`), for each pair of
    /// addresses.
    pub range: Option<u64>,
    /// Sockets in `TIME_WAIT`, of clients and servers.
    pub waiting: Option<u64>,
}

impl Ports {
    /// As they are now.
    pub(crate) fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        Self {
            range: read("/proc/sys/net/ipv4/ip_local_port_range").and_then(|text| range(&text)),
            waiting: read("/proc/net/sockstat").and_then(|text| waiting(&text)),
        }
    }

    /// Ports of all source addresses of a plan.
    fn of_plan(self, plan: &Plan) -> Option<u64> {
        Some(self.range? * u64::from(plan.source_addresses.max(1)))
    }

    /// Whether the plan has more connections at once than there are ports: then how many of both.
    pub(crate) fn short(self, plan: &Plan) -> Option<(u64, u64)> {
        let (needed, ports) = (u64::from(plan.connections), self.of_plan(plan)?);
        (needed > ports).then_some((needed, ports))
    }

    /// Whether ports will run out while others still wait, as far as a plan tells its rate.
    pub(crate) fn forecast(self, plan: &Plan) -> Option<Finding> {
        let Arrivals::Open { pattern, .. } = &plan.arrivals else { return None };
        if plan.close != Close::Fin {
            return None; // a reset leaves nothing behind
        }
        #[allow(clippy::cast_precision_loss, reason = "at most a day in milliseconds")]
        let seconds = ((plan.warm_up_ms + plan.sustain_ms) as f64 / 1000.0).min(WAIT_S);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most 10^7 per second for a minute"
        )]
        let used = (pattern.per_s() * seconds) as u64;
        let needed = used + u64::from(plan.connections) + self.waiting.unwrap_or(0);
        let ports = self.of_plan(plan)?;
        (needed > ports).then_some(Finding::PortsForecast { needed, ports })
    }

    /// Whether nearly all wait.
    pub(crate) fn scarce(self, plan: &Plan) -> Option<Finding> {
        let (waiting, ports) = (self.waiting?, self.of_plan(plan)?);
        #[allow(clippy::cast_precision_loss, reason = "ports are few")]
        let share = waiting as f64 / ports as f64;
        (share > plan.limits.ports_doubt).then_some(Finding::PortsWaiting { waiting, ports })
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.waiting, self.range) {
            (Some(waiting), Some(range)) => {
                write!(f, "of {range} for each address; {waiting} wait in TIME_WAIT")
            }
            _ => f.write_str("nobody knows how many wait"),
        }
    }
}

/// `32768 60999`: both ends are in it.
fn range(text: &str) -> Option<u64> {
    let (first, last) = text.trim().split_once(|c: char| c.is_ascii_whitespace())?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.trim().parse().ok()?);
    last.checked_sub(first)?.checked_add(1)
}

/// The word behind `tw` in the line of TCP.
fn waiting(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("TCP: "))?;
    let mut words = line.split_ascii_whitespace();
    words.find(|word| *word == "tw")?;
    words.next()?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::arrivals::Pattern;
    use crate::plan::Protocol;

    #[test]
    fn files_of_the_system_are_read() {
        assert_eq!(range("32768\t60999\n"), Some(28_232));
        assert_eq!((range("9"), range("9 1"), range("a b")), (None, None, None));
        let text = "sockets: used 12\nTCP: inuse 1 orphan 0 tw 7 alloc 1 mem 109\nUDP: inuse 0\n";
        assert_eq!(waiting(text), Some(7));
        assert_eq!((waiting(""), waiting("TCP: inuse 1 tw")), (None, None));
    }

    #[test]
    fn a_plan_that_needs_more_ports_than_there_are_is_known_before() {
        let ports = Ports { range: Some(100), waiting: Some(10) };
        let plan = Plan { connections: 100, ..Plan::new(Protocol::Tls13) };
        assert_eq!(ports.short(&plan), None);
        let more = Plan { connections: 101, ..plan.clone() };
        assert_eq!(ports.short(&more), Some((101, 100)));
        assert_eq!(ports.short(&Plan { source_addresses: 2, ..more }), None);
        assert_eq!(Ports::default().short(&plan), None, "unknown is not zero");

        // 5 s of sustain and 1 s of warm-up, 10 per second, 100 in flight, 10 that wait
        let arrivals = Arrivals::open(Pattern::Poisson { per_s: 10.0 });
        let open = Plan { arrivals, connections: 30, close: Close::Fin, ..plan.clone() };
        assert_eq!(ports.forecast(&open), None, "60 + 30 + 10 are 100");
        let more = Plan { connections: 31, ..open };
        let found = Finding::PortsForecast { needed: 101, ports: 100 };
        assert!(found.to_string().contains("ip_local_port_range"), "{found}");
        assert_eq!(ports.forecast(&more), Some(found));
        let reset = Plan { close: Close::RstAfterConfirm, ..more };
        assert_eq!((ports.forecast(&reset), ports.forecast(&plan)), (None, None));
    }

    #[test]
    fn ports_that_nearly_all_wait_are_told() {
        let plan = Plan::new(Protocol::Tls13);
        let of = |waiting| Ports { range: Some(100), waiting: Some(waiting) }.scarce(&plan);
        assert_eq!((of(80), of(81).is_some()), (None, true));
        assert!(of(81).unwrap().to_string().contains("81 of 100"));
    }
}
