//! Traces of arrivals.

use core::str::FromStr;
use core::time::Duration;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Recorded arrivals: one line for each, with the time in seconds, optionally the bytes of the
/// body, and optionally `full` or `reuse` for the session.
///
/// Times may be absolute or relative; the first one is the start of the run, and they must not
/// decrease. Empty lines and lines that begin with `#` are ignored.
///
/// ```
/// use tollgate_load::Trace;
///
/// let trace: Trace = "# time bytes\n1700000000.25 14336\n1700000000.75 1024 full".parse()?;
/// assert_eq!((trace.arrivals().len(), trace.length().as_millis()), (2, 500));
/// assert_eq!("1.0\n0.5".parse::<Trace>().unwrap_err(),
///     "line 2: its time is before the line above: sort the trace by time");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Recorded>", into = "Vec<Recorded>")]
pub struct Trace(Arc<[Recorded]>);

/// One line of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// The time since the first line in nanoseconds.
    pub at_ns: u64,
    /// The length of the body in bytes. If it is `None`, the plan sets the length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// True if the session was resumed.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub reuse: bool,
}

impl Trace {
    /// Maximum number of arrivals.
    pub const ARRIVALS_MAX: usize = 10_000_000;

    /// Returns the arrivals, in order; at least one.
    #[must_use]
    pub fn arrivals(&self) -> &[Recorded] {
        &self.0
    }

    /// Returns the time from the first arrival to the last.
    #[must_use]
    pub fn length(&self) -> Duration {
        Duration::from_nanos(self.0.last().map_or(0, |last| last.at_ns))
    }

    /// Returns the share of lines with `reuse`; `None` if no line has it.
    #[must_use]
    pub fn reused_share(&self) -> Option<f64> {
        let reused = self.0.iter().filter(|arrival| arrival.reuse).count();
        #[allow(clippy::cast_precision_loss, reason = "at most ten million")]
        let share = reused as f64 / self.0.len() as f64;
        (reused > 0).then_some(share)
    }

    /// Returns the mean arrivals per second; 1 for a single arrival.
    pub(crate) fn per_s(&self) -> f64 {
        let gaps = self.0.len() - 1;
        #[allow(clippy::cast_precision_loss, reason = "at most ten million")]
        let rate = gaps as f64 / self.length().as_secs_f64();
        if rate.is_finite() && gaps > 0 { rate } else { 1.0 }
    }

    pub(crate) fn broken_rule(&self, run_ms: u64) -> Option<&'static str> {
        let short = self.length() < Duration::from_millis(run_ms);
        short.then_some("the trace ends before the run: measure for less time")
    }
}

impl FromStr for Trace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut arrivals = Vec::new();
        let mut first = None;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bad = |why| format!("line {number}: {why}");
            let mut recorded = recorded(line).map_err(bad)?;
            let begin = *first.get_or_insert(recorded.at_ns);
            recorded.at_ns = recorded.at_ns.checked_sub(begin).ok_or(BACKWARDS).map_err(bad)?;
            if arrivals.last().is_some_and(|last: &Recorded| last.at_ns > recorded.at_ns) {
                return Err(bad(BACKWARDS));
            }
            arrivals.push(recorded);
        }
        arrivals.try_into()
    }
}

const BACKWARDS: &str = "its time is before the line above: sort the trace by time";

impl TryFrom<Vec<Recorded>> for Trace {
    type Error = String;

    fn try_from(arrivals: Vec<Recorded>) -> Result<Self, String> {
        let first = arrivals.first().ok_or("the trace is empty: give a line for each arrival")?;
        if first.at_ns > 0 {
            return Err("the first time is not 0: subtract it from all times".to_owned());
        }
        if arrivals.len() > Self::ARRIVALS_MAX {
            return Err("more than 10000000 arrivals: shorten the trace".to_owned());
        }
        let back = arrivals.windows(2).position(|two| two[0].at_ns > two[1].at_ns);
        match back {
            Some(above) => Err(format!("line {}: {BACKWARDS}", above + 2)),
            None => Ok(Self(arrivals.into())),
        }
    }
}

impl From<Trace> for Vec<Recorded> {
    fn from(trace: Trace) -> Self {
        trace.0.to_vec()
    }
}

fn recorded(line: &str) -> Result<Recorded, &'static str> {
    let mut words = line.split_ascii_whitespace();
    let at_ns = words.next().and_then(nanos).ok_or(
        "the time is no number of seconds: give one like 12.345, below ten thousand million",
    )?;
    let (mut bytes, mut reuse) = (None, None);
    for word in words {
        match (word, word.parse()) {
            ("full" | "reuse", _) if reuse.is_none() => reuse = Some(word == "reuse"),
            (_, Ok(count)) if bytes.is_none() && reuse.is_none() => bytes = Some(count),
            _ => return Err("after the time stand bytes, then full or reuse, and nothing else"),
        }
    }
    Ok(Recorded { at_ns, bytes, reuse: reuse.unwrap_or(false) })
}

/// Converts seconds in decimal notation to nanoseconds, exact to nine digits. Clock times have too
/// many digits for a float.
fn nanos(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 10 || !digits(whole) || !digits(part) {
        return None;
    }
    let part = format!("{:0<9.9}", part);
    Some(whole.parse::<u64>().ok()? * 1_000_000_000 + part.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_exact_and_begin_at_the_first() {
        let text = "1700000000.000000001 5 reuse\n\n# a pause\n1700000001\n1700000001.5 full\n";
        let trace: Trace = text.parse().unwrap();
        let expected = [
            Recorded { at_ns: 0, bytes: Some(5), reuse: true },
            Recorded { at_ns: 999_999_999, bytes: None, reuse: false },
            Recorded { at_ns: 1_499_999_999, bytes: None, reuse: false },
        ];
        assert_eq!(trace.arrivals(), expected);
        assert_eq!(trace.reused_share(), Some(1.0 / 3.0));
        let trace: Trace = "0\n1\n3".parse().unwrap();
        assert!((trace.per_s() - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(trace.broken_rule(3000), None);
        assert!(trace.broken_rule(3001).is_some());
        assert_eq!(trace.reused_share(), None);
    }

    #[test]
    fn errors_have_the_number_of_the_line() {
        let told = |text: &str| text.parse::<Trace>().unwrap_err();
        for line in ["x", "-1", "1e3", ".5", "1.2.3", "12345678901", "NaN"] {
            let text = told(&format!("0\n{line}"));
            assert!(text.starts_with("line 2: the time is no number"), "{line}: {text}");
        }
        for line in ["1 -5", "1 2 3", "1 full 3", "1 full reuse", "1 2 maybe"] {
            let text = told(&format!("# head\n{line}\n"));
            assert!(text.starts_with("line 2: after the time"), "{line}: {text}");
        }
        assert!(told("5\n7\n6\n").starts_with("line 3: its time is before"));
        assert!(told("# nothing\n").contains("trace is empty"));
        for json in
            [r#"[{"at_ns":0},{"at_ns":5},{"at_ns":4}]"#, r#"[{"at_ns":5},{"at_ns":7}]"#, "[]"]
        {
            assert!(serde_json::from_str::<Trace>(json).is_err(), "{json}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "[0-9a-z. #\n-]{0,80}") {
            let _ = text.parse::<Trace>();
        }
    }
}
