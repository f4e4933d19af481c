//! Tests of the approximations against an exact M/D/c and a simulated M/G/c.
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tests; counts far below 2^53"
)]

use crate::exact;
use tollgate_fleet::queue::tail::QUANTILE_ERROR_MAX;
use tollgate_fleet::queue::wait::{RESPONSE_ERROR_MAX, WAIT_ERROR_MAX};
use tollgate_fleet::queue::{Discipline, Response, ServiceTime, Station};

/// Mean service time, in nanoseconds.
const MEAN_NS: f64 = 1e6;

/// Distributions of service times, of mean 1.
#[derive(Clone, Copy, Debug)]
enum Service {
    Constant,
    /// Sum of four exponential times: variation 1/4.
    Erlang4,
    Exponential,
    /// One of two exponential times with balanced means: variation 4.
    Two,
}

impl Service {
    const ALL: [Self; 4] = [Self::Constant, Self::Erlang4, Self::Exponential, Self::Two];

    fn draw(self, random: &mut fastrand::Rng) -> f64 {
        let mut exponential = || -(1.0 - random.f64()).ln();
        match self {
            Self::Constant => 1.0,
            Self::Erlang4 => (0..4).map(|_| exponential()).sum::<f64>() / 4.0,
            Self::Exponential => exponential(),
            Self::Two => {
                let time = exponential();
                let p = f64::midpoint(1.0, 0.6_f64.sqrt());
                if random.f64() < p { time / (2.0 * p) } else { time / (2.0 * (1.0 - p)) }
            }
        }
    }

    fn scv(self) -> f64 {
        match self {
            Self::Constant => 0.0,
            Self::Erlang4 => 0.25,
            Self::Exponential => 1.0,
            Self::Two => 4.0,
        }
    }

    fn time(self) -> ServiceTime {
        exact(MEAN_NS, self.scv())
    }
}

/// The result of a simulation, in units of the mean service time.
struct Seen {
    wait: f64,
    response: f64,
    p90: f64,
    p99: f64,
}

/// Simulates first come, first served: each arrival takes the server that is free first.
fn simulate(servers: usize, load: f64, service: Service, sessions: usize, seed: u64) -> Seen {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut free_at = vec![0.0_f64; servers];
    let (mut now, mut waited) = (0.0, 0.0);
    let warm_up = sessions / 10;
    let mut responses = Vec::with_capacity(sessions);
    for i in 0..warm_up + sessions {
        now += -(1.0 - random.f64()).ln() / (load * servers as f64);
        let first = (0..servers).min_by(|&a, &b| free_at[a].total_cmp(&free_at[b])).unwrap();
        let start = free_at[first].max(now);
        let work = service.draw(&mut random);
        free_at[first] = start + work;
        if i >= warm_up {
            waited += start - now;
            responses.push(start - now + work);
        }
    }
    let n = sessions as f64;
    let response = responses.iter().sum::<f64>() / n;
    let mut quantile = |q: f64| {
        let place = (q * n) as usize;
        *responses.select_nth_unstable_by(place, f64::total_cmp).1
    };
    let (p90, p99) = (quantile(0.9), quantile(0.99));
    Seen { wait: waited / n, response, p90, p99 }
}

/// Returns the relative errors of the forecast against the simulation: wait, response, p90, p99.
fn errors(servers: u32, load: f64, service: Service, sessions: usize) -> [f64; 4] {
    let seen = simulate(servers as usize, load, service, sessions, 11);
    let station = Station::new(servers, Discipline::OneQueue).unwrap();
    let Response { wait_ns, response_ns, .. } = station.at_load(load, &service.time()).unwrap();
    let quantile =
        |q| station.quantile_at_load(q, load, &service.time()).unwrap().point() / MEAN_NS;
    [
        wait_ns.point() / MEAN_NS / seen.wait - 1.0,
        response_ns.point() / MEAN_NS / seen.response - 1.0,
        quantile(0.9) / seen.p90 - 1.0,
        quantile(0.99) / seen.p99 - 1.0,
    ]
}

/// Returns the exact mean wait of M/D/c, divided by the service time. After one constant service
/// time, every session that is now in service has left. The system then contains the sessions that
/// wait now and the new arrivals. [Cosmetatos75] approximates this wait.
fn exact_mdc(servers: usize, load: f64) -> f64 {
    const STATES: usize = 400;
    let arrivals = load * servers as f64;
    let mut came = vec![(-arrivals).exp(); STATES];
    for k in 1..STATES {
        came[k] = came[k - 1] * arrivals / k as f64;
    }
    let mut now = vec![0.0; STATES];
    now[0] = 1.0;
    loop {
        let mut next = vec![0.0; STATES];
        for (n, p) in now.iter().enumerate() {
            let left = n.saturating_sub(servers);
            for k in 0..STATES - left {
                next[left + k] += p * came[k];
            }
        }
        let change: f64 = now.iter().zip(&next).map(|(a, b)| (a - b).abs()).sum();
        now = next;
        if change < 1e-10 {
            break;
        }
    }
    let waiting: f64 =
        now.iter().enumerate().map(|(n, p)| n.saturating_sub(servers) as f64 * p).sum();
    waiting / arrivals // Little's law
}

#[test]
fn the_exact_model_agrees_with_one_server() {
    for load in [0.3, 0.7, 0.9] {
        assert!((exact_mdc(1, load) / (load / (2.0 * (1.0 - load))) - 1.0).abs() < 1e-6, "{load}");
    }
}

#[test]
fn constant_service_is_within_two_per_cent_of_the_exact_model() {
    for servers in [2, 4, 8, 16] {
        for load in [0.5, 0.7, 0.8, 0.9] {
            let exact = exact_mdc(servers as usize, load);
            let station = Station::new(servers, Discipline::OneQueue).unwrap();
            let ours = station.at_load(load, &Service::Constant.time()).unwrap();
            let error = ours.wait_ns.point() / MEAN_NS - exact;
            // The error is relative to the wait, or to the service time if the wait is very short.
            assert!(
                error.abs() < 0.02 * exact || error.abs() < 1e-3,
                "{servers} {load}: {error:e}"
            );
        }
    }
}

#[test]
fn the_errors_of_the_forecast_are_within_the_documented_limits() {
    for service in Service::ALL {
        for servers in [1, 2, 4, 16] {
            for load in [0.5, 0.7, 0.85] {
                let of = errors(servers, load, service, 600_000);
                let about = format!("{service:?} on {servers} at {load}: {of:.3?}");
                let station = Station::new(servers, Discipline::OneQueue).unwrap();
                let wait = station.at_load(load, &service.time()).unwrap().wait_ns.point();
                if wait > 0.05 * MEAN_NS {
                    assert!(of[0].abs() < WAIT_ERROR_MAX, "{about}");
                }
                assert!(of[1].abs() < RESPONSE_ERROR_MAX, "{about}");
                assert!(of[2].abs() < QUANTILE_ERROR_MAX, "{about}");
                assert!(of[3].abs() < QUANTILE_ERROR_MAX, "{about}");
            }
        }
    }
}
