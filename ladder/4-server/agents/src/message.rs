//! The messages of the protocol, in JSON.

use core::net::SocketAddr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_load::{Latency, LiveCounts, Part, Plan, Segment};
use tollgate_record::Machine;

/// Maximum length of a part, in bytes.
pub const TEXT_BYTES_MAX: usize = 32 << 20;

/// Maximum length of a chunk of a part. NATS servers accept messages of 1 MiB by default,
/// and a character of JSON may need two in a string.
const CHUNK_BYTES_MAX: usize = 256 << 10;

/// Maximum of a count.
pub const COUNT_MAX: u64 = Latency::COUNT_MAX;

/// A request of a controller to an agent. Every one may come twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// To all agents of the fleet: those without a controller answer.
    Enrol,
    /// The agent serves this controller from now on. The agent asks the server for its consent.
    Target {
        /// The server's URL.
        url: String,
        /// Its address; the agent does not resolve the name.
        address: SocketAddr,
        /// The host that the user allows to be tested.
        may_test: Option<String>,
    },
    /// Asks for the agent's clock.
    Clock,
    /// The agent prepares its segment of the plan.
    Arm {
        /// The number of the run, above those of earlier runs.
        run: u64,
        /// The plan of the run.
        plan: Box<Plan>,
        /// The agent's part.
        segment: Segment,
    },
    /// The load starts.
    Start {
        /// The run.
        run: u64,
        /// The time on the agent's clock, in nanoseconds.
        at_ns: u64,
    },
    /// Asks for the agent's state.
    Poll,
    /// The load ends early; the agent keeps its part.
    Stop {
        /// The run.
        run: u64,
    },
    /// Asks for a chunk of the agent's part.
    Part {
        /// The length of the chunks before it.
        from: usize,
    },
    /// To all agents: the controller lives.
    Alive,
    /// To all agents: the controller has ended.
    Leave,
}

/// An agent's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Answer {
    /// To [`Request::Enrol`].
    Enrolled(Box<Enrolled>),
    /// To [`Request::Clock`]: monotonic, from any origin.
    Clock {
        /// The time in nanoseconds.
        at_ns: u64,
    },
    /// To [`Request::Part`].
    Part {
        /// The chunk; empty at the end.
        text: String,
    },
    /// To all others: the agent waits for an order.
    Idle,
    /// It examines the target, prepares a run, or runs it.
    Busy {
        /// Its counts in the present run.
        live: LiveCounts,
    },
    /// It waits for the start.
    Ready {
        /// The run.
        run: u64,
    },
    /// Its part is over.
    Ended {
        /// The run.
        run: u64,
    },
    /// It cannot do what was asked.
    Refused {
        /// The reason, in one line.
        why: String,
    },
}

/// An agent, as it presents itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enrolled {
    /// Its name on NATS.
    pub agent: String,
    /// The version of the program, with its commit if that is known.
    pub version: String,
    /// The agent's machine.
    pub machine: Machine,
    /// The system and the network that the agent sees; equal for agents that share them.
    pub place: String,
}

/// Parses a message.
///
/// # Errors
///
/// The reason, in one line.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| {
        format!(
            "it sent a message that this program does not understand ({error}): install the same \
             version of Tollgate on all machines"
        )
    })
}

/// Parses the part of an agent, which came in chunks.
///
/// # Errors
///
/// As [`parse`]; also if a count could overflow a sum.
pub fn parse_part(text: &str) -> Result<Part, String> {
    let value: Value = parse(text.as_bytes())?;
    if !are_counts(&value) {
        return Err("a number of its part is too large: report the case".to_owned());
    }
    parse(text.as_bytes())
}

/// Returns whether no whole number is above [`COUNT_MAX`]. The parser limits the depth.
fn are_counts(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_u64().is_none_or(|number| number <= COUNT_MAX),
        Value::Array(values) => values.iter().all(are_counts),
        Value::Object(values) => values.values().all(are_counts),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// Returns the chunk of the text that begins there; empty at its end.
pub(crate) fn chunk(text: &str, from: usize) -> &str {
    let rest = text.get(from..).unwrap_or_default();
    &rest[..rest.floor_char_boundary(CHUNK_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_together_the_text() {
        for text in ["", "a", &"aé€".repeat(200_000)] {
            let mut whole = String::new();
            loop {
                let next = chunk(text, whole.len());
                if next.is_empty() {
                    break;
                }
                whole.push_str(next);
            }
            assert_eq!(whole, text);
        }
        assert_eq!((chunk("é", 1), chunk("é", 7)), ("", ""));
    }

    #[test]
    fn counts_that_could_overflow_a_sum_are_refused() {
        let why = |count: u64| parse_part(&format!("[{count}]")).unwrap_err();
        assert!(why(COUNT_MAX + 1).contains("too large"), "{}", why(COUNT_MAX + 1));
        assert!(why(COUNT_MAX).contains("same version"), "{}", why(COUNT_MAX));
    }

    #[test]
    fn anything_else_is_no_message() {
        for text in ["", "GET / HTTP/1.1", "{}", "\"poll", "{\"stop\":{}}", "\"dance\""] {
            let why = parse::<Request>(text.as_bytes()).unwrap_err();
            assert!(why.contains("same version") && !why.contains('\n'), "{why}");
        }
        assert_eq!(parse::<Request>(b"\"poll\""), Ok(Request::Poll));
    }
}
