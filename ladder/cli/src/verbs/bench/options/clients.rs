//! The options of `tollgate bench` for arrivals and for the behaviour of each client.

use core::time::Duration;
use std::path::Path;

use clap::Args;
use tollgate_load::{Arrivals, ClientTimeout, Mechanism, Pattern, Plan, Think, duration};

use super::session::mechanism;
use super::{LOAD, SESSION};
use crate::options::values::{share, time, within};
use crate::read;

/// When clients arrive.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Arrivals")]
pub(crate) struct Clients {
    /// Distribution of the arrivals: poisson, constant, gamma:DISPERSION, pareto:SHAPE,
    /// bursts:ON/OFF (two durations, such as 50ms/2s), or trace:FILE [default: poisson]
    // normalised to one per second: --rate scales it
    #[arg(long, value_name = "KIND", value_parser = pattern)]
    pub(crate) arrivals: Option<Pattern>,

    /// Number of loopback source addresses, from 127.0.0.2 on, that connections to a server on
    /// 127.0.0.1 use in turn; each has its own ports [default: the system chooses]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=i64::from(Plan::SOURCE_ADDRESSES_MAX)))]
    pub(crate) source_addresses: u8,

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
        match (&self.arrivals, self.pace.rate) {
            (Some(trace @ Pattern::Trace(_)), _) => Arrivals::open(trace.clone()),
            _ if chooses_rate => Arrivals::open(self.pattern()),
            (_, Some(per_s)) => Arrivals::open(self.pattern().at(per_s)),
            (_, None) => Arrivals::Closed { think: self.pace.think.unwrap_or(Think::None) },
        }
    }

    /// Returns the distribution, at one per second.
    fn pattern(&self) -> Pattern {
        self.arrivals.clone().unwrap_or(Pattern::Poisson { per_s: 1.0 })
    }

    pub(crate) fn patience(&self) -> Option<ClientTimeout> {
        let ms = u64::try_from(self.mix.patience?.as_millis()).unwrap_or(u64::MAX);
        Some(ClientTimeout { ms, retries: self.mix.retries })
    }

    /// Describes the arrivals; `chosen` says how the run chooses their rate, if it does.
    pub(crate) fn words(&self, connections: u32, chosen: Option<&str>) -> String {
        let mut text = match (&self.arrivals, self.pace.rate) {
            (Some(Pattern::Trace(trace)), _) => {
                format!("open loop, {} recorded arrivals", trace.arrivals().len())
            }
            (_, rate) if rate.is_some() || chosen.is_some() => {
                let pattern = self.pattern();
                let word = pattern.word();
                let of = match pattern {
                    Pattern::Gamma { dispersion, .. } => format!(" of dispersion {dispersion:.2}"),
                    Pattern::Pareto { shape, .. } => format!(" of shape {shape}"),
                    Pattern::Bursts { on_ms, off_ms, .. } => {
                        format!(" of {on_ms} in {} ms", on_ms + off_ms)
                    }
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
        if self.source_addresses > 0 {
            text += &format!(", from {} addresses in turn", self.source_addresses);
        }
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
        ("pareto", shape) => match shape.parse() {
            Ok(shape) if shape > 1.0 && shape <= Pattern::SHAPE_MAX => {
                Ok(Pattern::Pareto { per_s, shape })
            }
            _ => Err("give a shape above 1 and at most 100, as in pareto:1.5".to_owned()),
        },
        ("bursts", times) => {
            let ms = |text| {
                let ms = duration(text)?.as_millis();
                u32::try_from(ms).ok().filter(|&ms| ms <= 3_600_000)
            };
            let times = times.split_once('/').and_then(|(on, off)| Some((ms(on)?, ms(off)?)));
            match times {
                Some((on_ms, off_ms)) if on_ms > 0 => Ok(Pattern::Bursts { per_s, on_ms, off_ms }),
                _ => Err("give the durations of bursts and pauses, 1ms to 1h each, as in \
                     bursts:50ms/200ms"
                    .to_owned()),
            }
        }
        ("trace", file) if !file.is_empty() => {
            let text = read::text(Path::new(file)).map_err(|error| error.to_string())?;
            text.parse().map(Pattern::Trace).map_err(|error| format!("{file}: {error}"))
        }
        _ => Err("give poisson, constant, gamma:DISPERSION, pareto:SHAPE, bursts:ON/OFF or \
                  trace:FILE"
            .to_owned()),
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
    use crate::options::Options;
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
        assert_eq!(of("pareto:1.5"), Pattern::Pareto { per_s, shape: 1.5 });
        assert_eq!(of("bursts:50ms/0.2s"), Pattern::Bursts { per_s, on_ms: 50, off_ms: 200 });
        let patient = clients("--patience 2s --retries 3").patience();
        assert_eq!(patient, Some(ClientTimeout { ms: 2000, retries: 3 }));
    }

    #[test]
    fn a_trace_is_read_and_its_bad_lines_are_reported() {
        let folder = tollgate::temporary_folder().unwrap();
        let path = folder.path().join("trace");
        let flag = format!("trace:{}", path.display());
        std::fs::write(&path, "0.0\n0.5\n").unwrap();
        let found = clients(&format!("--arrivals {flag}")).arrivals(false);
        assert!(found.is_open());
        std::fs::write(&path, "0.5\n0.0\n").unwrap();
        let error = Options::of(&["bench", "--arrivals", &flag]).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }
}
