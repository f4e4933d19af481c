//! Passes requests on to back ends over HTTP/1.1.
//!
//! Each worker has its own connections to the back ends, and keeps idle ones for later requests.
//! Workers share the state of a back end: whether it is up, and how many requests it has.

mod backends;
mod health;
mod upstreams;

use core::net::SocketAddr;
use core::time::Duration;

pub use backends::BackendCounters;
pub(crate) use backends::Backends;
pub(crate) use health::Checker;
pub(crate) use upstreams::{Owner, Upstreams};

use crate::error::{BACKENDS_MAX, Misuse};

/// Where a server passes requests on to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// The addresses of the back ends, 1 to [`BACKENDS_MAX`]. A request goes to the one with the
    /// fewest requests of those that are up.
    pub backends: Vec<SocketAddr>,
    /// Regular checks of the back ends. Without them, each back end counts as up, and a request
    /// that cannot be connected to one goes to the next.
    pub health: Option<HealthCheck>,
    /// The longest time to connect to a back end.
    pub connect: Duration,
    /// The longest time in which a back end neither accepts bytes of the request nor sends bytes
    /// of the response.
    pub response: Duration,
    /// The longest time without a byte in either direction after both sides have changed to another
    /// protocol, such as WebSocket.
    pub tunnel: Duration,
    /// The maximum number of idle connections that a worker keeps to a back end.
    pub idle_max: usize,
    /// The longest time that an idle connection is kept. Choose it shorter than the back end's own
    /// limit, so that the back end does not close the connection while a request is on its way.
    pub idle: Duration,
}

/// Regular checks of back ends by a GET, which must have a status of 200 to 399.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// The target, `/health`.
    pub target: String,
    /// The time between two checks of a back end.
    pub interval: Duration,
    /// The longest time that a check may take.
    pub limit: Duration,
}

impl Proxy {
    /// Passes requests on to these back ends, without checks.
    #[must_use]
    pub fn to(backends: Vec<SocketAddr>) -> Self {
        Self {
            backends,
            health: None,
            connect: Duration::from_secs(2),
            response: Duration::from_secs(30),
            tunnel: Duration::from_secs(60 * 60),
            idle_max: 32,
            idle: Duration::from_secs(10),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Misuse> {
        if !(1..=BACKENDS_MAX).contains(&self.backends.len()) {
            return Err(Misuse::Backends(self.backends.len()));
        }
        let mut times = vec![
            ("proxy.connect", self.connect),
            ("proxy.response", self.response),
            ("proxy.tunnel", self.tunnel),
            ("proxy.idle", self.idle),
        ];
        if let Some(health) = &self.health {
            times.extend([
                ("proxy.health.interval", health.interval),
                ("proxy.health.limit", health.limit),
            ]);
            let sound = |byte: u8| byte.is_ascii_graphic();
            if !health.target.starts_with('/') || !health.target.bytes().all(sound) {
                return Err(Misuse::HealthTarget(health.target.clone()));
            }
        }
        Misuse::of_times(&times)
    }
}
