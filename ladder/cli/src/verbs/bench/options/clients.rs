//! The options of `tollgate bench` for arrivals and for the behaviour of each client.

use core::time::Duration;

use clap::Args;
use tollgate_load::{Arrivals, ClientTimeout, Mechanism, Pattern, Plan, Think, duration};

use super::session::mechanism;
use super::{LOAD, SESSION};
use crate::options::values::{share, time, within};

/// Arrivals of clients.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Arrivals")]
pub(crate) struct Clients {
    /// Distribution of the arrivals: poisson, constant, gamma:DISPERSION [default: poisson]
    // normalised to one per second: --rate scales it
    #[arg(long, value_name = "KIND", value_parser = pattern)]
    pub(crate) arrivals: Option<Pattern>,

    /// Random seed of arrivals, pauses, sizes and resumptions
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,

    #[arg(skip)]
    pub(crate) pace: Pace,

    #[arg(skip)]
    pub(crate) mix: Mix,
}

/// The pace of clients, where the run does not choose it.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Arrivals")]
pub(crate) struct Pace {
    /// Arrivals per second in an open loop, independent of the completion of earlier ones;
    /// --connections is then the maximum in flight [default: a closed loop]
    #[arg(short = 'q', long, value_name = "R", conflicts_with = "workload")]
    #[arg(value_parser = within(0.001..=Pattern::PER_S_MAX, "give 0.001 to 10000000 per second"))]
    pub(crate) rate: Option<f64>,

    /// Pause of a client between transactions in a closed loop, as in 10ms, or random:10ms for
    /// exponential times
    #[arg(long, value_name = "TIME", value_parser = think)]
    #[arg(conflicts_with_all = ["rate", "arrivals", "workload"])]
    pub(crate) think: Option<Think>,

    /// Requests after which each run ends; it also ends after --seconds (600 by default if
    /// --requests is given); all requests count, and there is no warm-up
    #[arg(short = 'n', long, value_name = "N", help_heading = LOAD)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=Plan::TRANSACTIONS_MAX))]
    pub(crate) requests: Option<u64>,
}

/// How sessions differ from each other. The model of `bench response` needs equal ones.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Arrivals")]
pub(crate) struct Mix {
    /// Requests on each connection, one after the other; 2.5 alternates between two and three
    #[arg(long, value_name = "N", default_value = "1", conflicts_with = "workload")]
    #[arg(value_parser = within(1.0..=Plan::REQUESTS_MAX, "give 1 to 1000000 requests"))]
    pub(crate) requests_per_connection: f64,

    /// Timeout of a whole transaction, as in 500ms [default: none]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) patience: Option<Duration>,

    /// Further attempts after a timeout of --patience
    #[arg(long, value_name = "N", default_value = "0", requires = "patience")]
    pub(crate) retries: u32,

    /// Share of the transactions without TLS, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pub(crate) http_share: f64,

    /// Share of the TLS sessions that resume an earlier one, as in 80% or 0.8
    #[arg(long = "resume", value_name = "SHARE", default_value = "0", conflicts_with = "workload")]
    #[arg(value_parser = share, help_heading = SESSION)]
    pub(crate) resumed_share: f64,

    /// Mechanism of resumption: session-id or ticket in TLS 1.2; psk or early-data (the
    /// request is sent with the client's hello) in TLS 1.3 [default: ticket, psk]
    #[arg(long, value_name = "HOW", value_parser = mechanism, help_heading = SESSION)]
    pub(crate) resume_by: Option<Mechanism>,
}

impl Default for Mix {
    fn default() -> Self {
        Self {
            requests_per_connection: 1.0,
            patience: None,
            retries: 0,
            http_share: 0.0,
            resumed_share: 0.0,
            resume_by: None,
        }
    }
}

impl Clients {
    /// Returns the arrivals of the plan. If the run chooses the rates of an open loop, they arrive
    /// at one per second.
    pub(crate) fn arrivals(&self, chooses_rate: bool) -> Arrivals {
        match self.pace.rate {
            _ if chooses_rate => Arrivals::open(self.pattern()),
            Some(per_s) => Arrivals::open(self.pattern().at(per_s)),
            None => Arrivals::Closed { think: self.pace.think.unwrap_or(Think::None) },
        }
    }

    /// Returns the distribution, at one per second.
    fn pattern(&self) -> Pattern {
        self.arrivals.unwrap_or(Pattern::Poisson { per_s: 1.0 })
    }

    pub(crate) fn patience(&self) -> Option<ClientTimeout> {
        let ms = u64::try_from(self.mix.patience?.as_millis()).unwrap_or(u64::MAX);
        Some(ClientTimeout { ms, retries: self.mix.retries })
    }

    /// Describes the arrivals; `chosen` says how the run chooses their rate, if it does.
    pub(crate) fn words(&self, connections: u32, chosen: Option<&str>) -> String {
        let mut text = match self.pace.rate {
            rate if rate.is_some() || chosen.is_some() => {
                let pattern = self.pattern();
                let word = pattern.word();
                let of = match pattern {
                    Pattern::Gamma { dispersion, .. } => format!(" of dispersion {dispersion:.2}"),
                    _ => String::new(),
                };
                let rate = rate.map(|r| format!("{r} per s"));
                let rate = rate.as_deref().or(chosen).unwrap_or_default();
                format!("open loop, {word} arrivals{of}, {rate}")
            }
            _ => "closed loop".to_owned(),
        };
        let is_open = self.arrivals.is_some() || self.pace.rate.is_some() || chosen.is_some();
        let more = match (is_open, self.pace.think) {
            (true, _) => format!(
                ", times from the intended start, at most {connections} connections in flight"
            ),
            (false, Some(Think::Constant { ms })) => {
                format!(" of {connections} clients that pause for {ms} ms")
            }
            (false, Some(Think::Exponential { mean_ms })) => {
                format!(" of {connections} clients that pause for {mean_ms} ms on average")
            }
            (false, _) => {
                text.insert_str(0, &format!("{connections} connections in flight, "));
                String::new()
            }
        };
        text += &more;
        if self.mix.requests_per_connection > 1.0 {
            text += &format!(", {} requests on each", self.mix.requests_per_connection);
        }
        if self.mix.http_share > 0.0 {
            text += &format!(", {} % of them without TLS", 100.0 * self.mix.http_share);
        }
        if let Some(patience) = self.mix.patience {
            text += &format!(", patience of {patience:?}, then {} more tries", self.mix.retries);
        }
        text
    }
}

fn pattern(text: &str) -> Result<Pattern, String> {
    let per_s = 1.0;
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    match (word, rest) {
        ("constant", "") => Ok(Pattern::Constant { per_s }),
        ("poisson", "") => Ok(Pattern::Poisson { per_s }),
        ("gamma", dispersion) => match dispersion.parse() {
            Ok(dispersion) if Pattern::DISPERSIONS.contains(&dispersion) => {
                Ok(Pattern::Gamma { per_s, dispersion })
            }
            _ => Err("give a dispersion from 0.01 to 1000, as in gamma:5".to_owned()),
        },
        _ => Err("give poisson, constant or gamma:DISPERSION".to_owned()),
    }
}

fn think(text: &str) -> Result<Think, String> {
    let (random, length) = match text.strip_prefix("random:") {
        Some(length) => (true, length),
        None => (false, text),
    };
    let length = duration(length).filter(|length| *length <= Duration::from_secs(3600));
    let ms =
        length.ok_or("give a time up to 3600s, as in 10ms or random:10ms")?.as_secs_f64() * 1e3;
    Ok(if random { Think::Exponential { mean_ms: ms } } else { Think::Constant { ms } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::bench;

    fn clients(flags: &str) -> Clients {
        bench(flags).clients
    }

    #[test]
    fn flags_become_arrivals() {
        let arrivals = |flags: &str| clients(flags).arrivals(false);
        assert_eq!(arrivals(""), Arrivals::Closed { think: Think::None });
        let think = Think::Exponential { mean_ms: 10.0 };
        assert_eq!(arrivals("--think random:10ms"), Arrivals::Closed { think });
        let of = |kind: &str| match arrivals(&format!("--rate 500 --arrivals {kind}")) {
            Arrivals::Open { pattern, .. } => pattern,
            Arrivals::Closed { .. } => unreachable!("a rate was given"),
        };
        let per_s = 500.0;
        assert_eq!(of("poisson"), Pattern::Poisson { per_s });
        assert_eq!(of("constant"), Pattern::Constant { per_s });
        assert_eq!(of("gamma:2.5"), Pattern::Gamma { per_s, dispersion: 2.5 });
        let patient = clients("--patience 2s --retries 3").patience();
        assert_eq!(patient, Some(ClientTimeout { ms: 2000, retries: 3 }));
    }
}
