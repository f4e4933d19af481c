//! Writes histograms as an `HdrHistogram` log.

use core::time::Duration;
use std::io::{self, Write};

use tollgate_record::Timestamp;

use crate::latency::Latency;

/// A log of histograms in the format 1.3 of `HdrHistogram`'s own tools. Each histogram has one
/// line: tag, begin, length, maximum in milliseconds, and the encoded histogram
/// ([`Latency::to_base64`]). The values of the histogram are nanoseconds. A comment before the line
/// gives the number of times above the range.
#[derive(Debug)]
pub struct LatencyLog<W> {
    to: W,
    start: Timestamp,
}

impl<W: Write> LatencyLog<W> {
    /// Returns a log that begins at `start`.
    ///
    /// # Errors
    ///
    /// Writing to `to` failed.
    pub fn new(mut to: W, start: Timestamp) -> io::Result<Self> {
        let seconds = start.as_duration().as_secs_f64();
        writeln!(to, "#[Histogram log format version 1.3]")?;
        writeln!(to, "#[StartTime: {seconds:.3} (seconds since epoch), {start:.3}]")?;
        writeln!(to, "#[BaseTime: {seconds:.3} (seconds since epoch)]")?;
        writeln!(to, "#values are nanoseconds; Interval_Max is in milliseconds")?;
        writeln!(
            to,
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
             \"Interval_Compressed_Histogram\""
        )?;
        Ok(Self { to, start })
    }

    /// Writes a comment.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn comment(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.to, "#{}", text.replace(['\n', '\r'], " "))
    }

    /// Writes the times of an interval. In the tag, commas, whitespace and control characters are
    /// replaced with `_`.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn write(
        &mut self,
        tag: &str,
        (from, length): (Timestamp, Duration),
        times: &Latency,
    ) -> io::Result<()> {
        let tag = tag.replace(|c: char| c == ',' || c.is_whitespace() || c.is_control(), "_");
        if times.above() > 0 {
            self.comment(&format!(
                "{tag}: {} more are above the range or infinite",
                times.above()
            ))?;
        }
        let since = from.duration_since(self.start).as_secs_f64().max(0.0);
        let length = length.as_secs_f64();
        #[allow(clippy::cast_precision_loss, reason = "at most 100 s, in nanoseconds: 10^11")]
        let longest = times.histogram().max() as f64 / 1e6;
        let histogram = times.to_base64();
        writeln!(self.to, "Tag={tag},{since:.3},{length:.3},{longest:.3},{histogram}")
    }

    /// Flushes the writer.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use base64ct::{Base64, Encoding as _};
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;

    #[test]
    fn the_reader_of_hdrhistogram_gets_the_same_histograms() {
        let mut latency = Latency::new();
        (1..=1000).for_each(|ms| latency.record(Duration::from_millis(ms)));
        latency.record_never();
        let start: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let mut bytes = Vec::new();
        let mut log = LatencyLog::new(&mut bytes, start).unwrap();
        log.comment("two\nlines").unwrap();
        let at = start + Duration::from_millis(1500);
        log.write("rsa-2048 tls13,x", (at, Duration::from_secs(2)), &latency).unwrap();
        log.write("again", (start, Duration::from_secs(2)), &Latency::new()).unwrap();
        log.flush().unwrap();

        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(text.starts_with("#[Histogram log format version 1.3]\n#[StartTime: 1767323045"));
        assert!(text.contains("#rsa-2048_tls13_x: 1 more"), "{text}");
        let mut intervals = Vec::new();
        for entry in IntervalLogIterator::new(&bytes) {
            match entry.unwrap() {
                LogEntry::Interval(interval) => intervals.push(interval),
                LogEntry::BaseTime(base) => assert_eq!(base.as_secs(), 1_767_323_045),
                LogEntry::StartTime(_) => {}
            }
        }
        let [first, second] = &intervals[..] else { panic!("{text}") };
        assert_eq!(first.tag().unwrap().as_str(), "rsa-2048_tls13_x");
        assert_eq!(first.start_timestamp(), Duration::from_millis(1500));
        assert_eq!(first.duration(), Duration::from_secs(2));
        assert!((first.max() - 1000.0).abs() < 1.0, "in milliseconds: {}", first.max());
        let read = |text: &str| -> Histogram<u64> {
            let bytes = Base64::decode_vec(text).unwrap();
            Deserializer::new().deserialize(&mut &bytes[..]).unwrap()
        };
        assert_eq!(&read(first.encoded_histogram()), latency.histogram());
        assert!(first.encoded_histogram().len() < 8000);
        assert_eq!(read(second.encoded_histogram()).len(), 0);
    }
}
