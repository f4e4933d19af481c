//! The frames of the protocol.
//!
//! A frame is `TGA`, the version of the protocol in one byte, the length of its content in four
//! bytes (the highest first), and the content in JSON. The version is in each frame, so that a
//! program that speaks another version, or no such protocol, is recognised by its first bytes.

use core::net::SocketAddr;
use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_load::{Latency, LiveCounts, Part, Plan, Segment};
use tollgate_record::Machine;

/// The version of the protocol.
pub const VERSION: u8 = 1;

/// The first bytes of each frame, before the version.
const MAGIC: [u8; 3] = *b"TGA";

/// Maximum length of the content of a frame, in bytes.
pub const FRAME_BYTES_MAX: usize = 32 << 20;

/// The frames of one direction.
pub trait Frame: Serialize + DeserializeOwned + Send + 'static {
    /// The kind of frames with counts that are added to those of other agents. Such frames with
    /// numbers above [`COUNT_MAX`] are refused.
    const COUNTS: Option<&'static str>;
}

/// Maximum of a count.
pub const COUNT_MAX: u64 = Latency::COUNT_MAX;

/// A frame from the controller to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FromController {
    /// The server of all runs. The agent asks for its consent.
    Target {
        /// The server's URL.
        url: String,
        /// Its address; the agent does not resolve the name.
        address: SocketAddr,
        /// The host that the user allows to be tested.
        may_test: Option<String>,
    },
    /// A question for the agent's clock.
    Clock {
        /// The answer has the same number.
        number: u32,
    },
    /// The agent prepares its segment of a plan.
    Arm {
        /// The number of the run; later frames about the run have it too.
        run: u64,
        /// The plan of all agents.
        plan: Box<Plan>,
        /// The agent's part.
        segment: Segment,
    },
    /// The load begins.
    Start {
        /// The run.
        run: u64,
        /// The time on the agent's clock, in nanoseconds.
        at_ns: u64,
    },
    /// The controller lives. It says so every [`HEARTBEAT`](crate::HEARTBEAT) in a run.
    Alive,
    /// The load ends early; the agent sends its part.
    Stop {
        /// The run.
        run: u64,
    },
}

/// A frame from an agent to the controller.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FromAgent {
    /// The first frame.
    Enrol {
        /// The version of the program, with its commit if that is known.
        version: String,
        /// The agent's machine.
        machine: Box<Machine>,
        /// The system and the network that the agent sees; equal for agents that share them.
        place: String,
    },
    /// The agent's clock: monotonic, from an origin of its own.
    Clock {
        /// The number of the question.
        number: u32,
        /// The time in nanoseconds.
        at_ns: u64,
    },
    /// The agent is ready to begin.
    Ready {
        /// The run.
        run: u64,
        /// [`Plan::hash`] of the plan that it has received.
        plan: String,
    },
    /// The agent lives. It says so every [`HEARTBEAT`](crate::HEARTBEAT).
    Alive {
        /// Its counts in the present run.
        live: Option<Box<LiveCounts>>,
    },
    /// The agent's part is over.
    Ended {
        /// The run.
        run: u64,
        /// All counts and times.
        part: Box<Part>,
    },
    /// The agent cannot run its part.
    Refused {
        /// The reason, in one line.
        why: String,
    },
}

impl Frame for FromController {
    const COUNTS: Option<&'static str> = None;
}

impl Frame for FromAgent {
    const COUNTS: Option<&'static str> = Some("ended");
}

tollgate_load::messages! {
    /// The reason why a stream has no further frame.
    #[derive(Debug)]
    FrameError {
        Content(why: String) =>
            "it sent a frame that this program does not understand ({why}): install the same \
             version of Tollgate on all machines";
        Foreign(begin: String) =>
            "it sent no frame but {begin:?}: the command must print nothing itself, and neither \
             may a profile of the shell";
        Io(error: io::Error) => "the connection broke: {error}";
        OtherVersion(version: u8) =>
            "it speaks version {version} of the protocol, and this program version {}: install the \
             same version of Tollgate on all machines", VERSION;
        TooLong(bytes: u64) =>
            "it sent a frame of {bytes} bytes; the most is {}", FRAME_BYTES_MAX;
    }
}

impl core::error::Error for FrameError {}

/// Writes a frame.
///
/// # Errors
///
/// The stream is closed, or the frame is longer than [`FRAME_BYTES_MAX`].
pub fn write(to: &mut impl Write, frame: &impl Frame) -> io::Result<()> {
    let content = serde_json::to_vec(frame)?;
    let length = u32::try_from(content.len()).ok().filter(|_| content.len() <= FRAME_BYTES_MAX);
    let length = length.ok_or_else(|| io::Error::other("the frame is too long"))?;
    let mut bytes = Vec::with_capacity(8 + content.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.push(VERSION);
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(&content);
    to.write_all(&bytes)?;
    to.flush()
}

/// Reads a frame; `None` at the end of the stream. Memory grows with the bytes that came, not with
/// the length that the frame states.
///
/// # Errors
///
/// [`FrameError`]: anything that is not a whole frame.
pub fn read<T: Frame>(from: &mut impl Read) -> Result<Option<T>, FrameError> {
    let mut head = Vec::new();
    from.take(8).read_to_end(&mut head).map_err(FrameError::Io)?;
    if head.is_empty() {
        return Ok(None);
    }
    let begins = head.iter().zip(&MAGIC).all(|(byte, known)| byte == known);
    let [_, _, _, version, length @ ..] = &*head else {
        return Err(FrameError::Foreign(String::from_utf8_lossy(&head).into_owned()));
    };
    if !begins {
        let mut more = [0; 80];
        let count = from.read(&mut more).unwrap_or(0);
        let text = [&head, &more[..count]].concat();
        return Err(FrameError::Foreign(String::from_utf8_lossy(&text).into_owned()));
    }
    if *version != VERSION {
        return Err(FrameError::OtherVersion(*version));
    }
    let Ok(length) = <[u8; 4]>::try_from(length) else { return Err(truncated()) };
    let length = u64::from(u32::from_be_bytes(length));
    if length > FRAME_BYTES_MAX as u64 {
        return Err(FrameError::TooLong(length));
    }
    let mut content = Vec::new();
    from.take(length).read_to_end(&mut content).map_err(FrameError::Io)?;
    if (content.len() as u64) < length {
        return Err(truncated());
    }
    let wrong = |error: serde_json::Error| FrameError::Content(error.to_string());
    let value: Value = serde_json::from_slice(&content).map_err(wrong)?;
    let counts = T::COUNTS.and_then(|kind| value.get(kind));
    if counts.is_some_and(|counts| !are_counts(counts)) {
        return Err(FrameError::Content("a number is too large".to_owned()));
    }
    serde_json::from_value(value).map(Some).map_err(wrong)
}

fn truncated() -> FrameError {
    FrameError::Io(io::ErrorKind::UnexpectedEof.into())
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

#[cfg(test)]
mod tests {
    use tollgate_load::Protocol;

    use super::*;

    fn bytes(frame: &impl Frame) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, frame).unwrap();
        bytes
    }

    fn parsed(bytes: &[u8]) -> Result<Option<FromController>, FrameError> {
        read(&mut &*bytes)
    }

    #[test]
    fn frames_survive_and_follow_each_other() {
        let plan = Plan { seed: u64::MAX, ..Plan::new(Protocol::Tls13) };
        let frames = [
            FromController::Clock { number: 7 },
            FromController::Arm {
                run: 1,
                plan: Box::new(plan),
                segment: Segment { from: 0, to: 1 },
            },
            FromController::Alive,
        ];
        let stream: Vec<u8> = frames.iter().flat_map(bytes).collect();
        let mut stream = &*stream;
        for frame in frames {
            assert_eq!(read(&mut stream).unwrap(), Some(frame));
        }
        assert!(read::<FromController>(&mut stream).unwrap().is_none());
    }

    #[test]
    fn anything_else_is_an_error() {
        let good = bytes(&FromController::Stop { run: 1 });
        for end in 1..good.len() {
            parsed(&good[..end]).unwrap_err();
        }
        let text = |bytes: &[u8]| parsed(bytes).unwrap_err().to_string();
        let told = text(b"Welcome to host\nTGA");
        assert!(told.contains("Welcome to host"), "{told}");
        let mut other = good.clone();
        other[3] = VERSION + 1;
        assert!(text(&other).contains("version 2 of the protocol"), "{}", text(&other));
        let mut long = good.clone();
        long[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(text(&long).contains("4294967295 bytes"));
        let mut inner = good;
        inner[9] = b'?';
        assert!(text(&inner).contains("same version"));
    }

    #[test]
    fn counts_that_could_overflow_a_sum_are_refused() {
        let of = |count: u64| {
            let content = format!(r#"{{"ended":{{"run":1,"part":[{count}]}}}}"#);
            let length = u32::try_from(content.len()).unwrap().to_be_bytes();
            let bytes = [&MAGIC[..], &[VERSION], &length, content.as_bytes()].concat();
            read::<FromAgent>(&mut &*bytes).unwrap_err().to_string()
        };
        assert!(of(COUNT_MAX + 1).contains("too large"), "{}", of(COUNT_MAX + 1));
        assert!(of(COUNT_MAX).contains("invalid type"), "{}", of(COUNT_MAX));
    }
}
