//! A histogram of times with a fixed range.

use core::time::Duration;

use base64ct::{Base64, Encoding as _};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use serde::{Deserialize, Serialize};

/// A histogram of times from 1 µs to 100 s with three significant digits. It takes about 160 kB.
///
/// The range is constant, so histograms of threads add up exactly. A value below the range counts
/// as the lowest value in the range. Values above the range are counted separately. No value is
/// dropped.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct Latency {
    times: Histogram<u64>,
    above: u64,
}

impl Latency {
    /// Lower end of the range, in nanoseconds.
    pub const LOW_NS: u64 = 1_000;
    /// Upper end of the range, in nanoseconds.
    pub const HIGH_NS: u64 = 100_000_000_000;
    /// Significant digits.
    pub const DIGITS: u8 = 3;
    /// Maximum of a count that came from another process: sums of many stay far below 2^64.
    pub const COUNT_MAX: u64 = 1 << 53;

    pub(crate) fn new() -> Self {
        let times = Histogram::new_with_bounds(Self::LOW_NS, Self::HIGH_NS, Self::DIGITS)
            .expect("the bounds are constants that the histogram takes");
        Self { times, above: 0 }
    }

    pub(crate) fn record(&mut self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        if nanos > Self::HIGH_NS || self.times.record(nanos).is_err() {
            self.above += 1;
        }
    }

    /// Records an infinite time.
    pub(crate) const fn record_never(&mut self) {
        self.above += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.times.add(&other.times).expect("all histograms have the same bounds");
        self.above += other.above;
    }

    /// Returns the sum of several histograms; `None` if there are none.
    #[must_use]
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut all = all.into_iter();
        let mut sum = all.next()?.clone();
        all.for_each(|more| sum.add(more));
        Some(sum)
    }

    /// Returns the number of recorded times, including times above the range and infinite times.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.times.len() + self.above
    }

    /// Returns the number of times above the range, including infinite times. Arrivals of an open
    /// loop that were dropped or timed out have an infinite time.
    #[must_use]
    pub const fn above(&self) -> u64 {
        self.above
    }

    /// Returns the quantile `q` in [0, 1], in nanoseconds; `None` if there are no times, or the
    /// quantile is above the range.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a count of times in a run is far below 2^52"
        )]
        let rank = ((q.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64).max(1);
        if rank > self.times.len() {
            return None;
        }
        #[allow(clippy::cast_precision_loss, reason = "as above")]
        let within = (rank as f64 - 0.5) / self.times.len() as f64; // rounds up to the rank
        Some(self.times.value_at_quantile(within))
    }

    /// Returns the times within the range in `HdrHistogram`'s format V2 with DEFLATE, in base64.
    /// Times [`above`](Self::above) the range are not included.
    ///
    /// # Panics
    ///
    /// Never: writing to memory does not fail.
    #[must_use]
    pub fn to_base64(&self) -> String {
        encoded(&self.times)
    }

    /// Reads what [`to_base64`](Self::to_base64) wrote, with the number of times above the range.
    /// `None` if it is not such a histogram.
    #[must_use]
    pub fn from_base64(text: &str, above: u64) -> Option<Self> {
        let times = decoded(text)?;
        let is_counted = times.len().checked_add(above).is_some();
        is_counted.then_some(Self { times, above })
    }

    /// Returns the underlying histogram; its values are in nanoseconds.
    #[must_use]
    pub const fn histogram(&self) -> &Histogram<u64> {
        &self.times
    }
}

/// The JSON of a [`Latency`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    histogram: String,
    above: u64,
}

impl From<Latency> for Stored {
    fn from(latency: Latency) -> Self {
        Self { histogram: latency.to_base64(), above: latency.above }
    }
}

impl TryFrom<Stored> for Latency {
    type Error = &'static str;

    fn try_from(Stored { histogram, above }: Stored) -> Result<Self, Self::Error> {
        let read = Self::from_base64(&histogram, above);
        let read = read.filter(|read| read.count() <= Self::COUNT_MAX);
        read.ok_or("not a histogram with the range of this program, or too many times")
    }
}

/// Returns a histogram in `HdrHistogram`'s format V2 with DEFLATE, in base64.
fn encoded(times: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(times, &mut bytes)
        .expect("writing to memory does not fail, and counts are below 2^63");
    Base64::encode_string(&bytes)
}

/// Maximum length of the format without DEFLATE: all counts of a [`Latency`], each at its longest.
const V2_BYTES_MAX: usize = 1 << 18;

/// Length of the header of this format.
const V2_HEADER_BYTES: usize = 40;

/// Reads what [`encoded`] wrote: a histogram with the range and the digits of [`Latency`].
fn decoded(text: &str) -> Option<Histogram<u64>> {
    let bytes = Base64::decode_vec(text).ok()?;
    // After a cookie and a length: the format without DEFLATE. Its header is read first, because
    // another range, or another length of the counts, would take any amount of memory.
    let v2 = decompress_to_vec_zlib_with_limit(bytes.get(8..)?, V2_BYTES_MAX).ok()?;
    let header = |from: usize, bytes: &[u8]| v2.get(from..)?.starts_with(bytes).then_some(());
    let counts_bytes = u32::try_from(v2.len().checked_sub(V2_HEADER_BYTES)?).ok()?;
    header(4, &counts_bytes.to_be_bytes())?;
    header(12, &u32::from(Latency::DIGITS).to_be_bytes())?;
    header(16, &Latency::LOW_NS.to_be_bytes())?;
    header(24, &Latency::HIGH_NS.to_be_bytes())?;
    Deserializer::new().deserialize(&mut v2.as_slice()).ok()
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::V2Serializer;

    use super::*;

    #[test]
    fn quantiles_are_in_nanoseconds_with_three_digits() {
        let mut latency = Latency::new();
        (1..=1000).for_each(|ms| latency.record(Duration::from_millis(ms)));
        let p99 = latency.quantile_ns(0.99).unwrap();
        assert!(p99.abs_diff(990_000_000) <= 990_000, "{p99}");
        assert_eq!(latency.count(), 1000);
        assert_eq!(Latency::new().quantile_ns(0.5), None);
    }

    #[test]
    fn a_written_histogram_is_read_again() {
        let mut latency = Latency::new();
        (1..=1000).for_each(|ms| latency.record(Duration::from_millis(ms)));
        latency.record_never();
        let read = Latency::from_base64(&latency.to_base64(), latency.above()).unwrap();
        for q in [0.0, 0.5, 0.9, 0.99, 1.0] {
            assert_eq!(read.quantile_ns(q), latency.quantile_ns(q), "{q}");
        }
        assert_eq!((read.count(), read.above()), (1001, 1));
        for bad in ["", "HISTFAAA", "SElTVEZBQUE=", "?"] {
            assert!(Latency::from_base64(bad, 0).is_none(), "{bad}");
        }
        // Counts of 4 GiB that are not there.
        let mut v2 = Vec::new();
        V2Serializer::new().serialize(&Latency::new().times, &mut v2).unwrap();
        let of = |v2: &[u8]| {
            let deflated = miniz_oxide::deflate::compress_to_vec_zlib(v2, 6);
            Latency::from_base64(&Base64::encode_string(&[&[0; 8], &*deflated].concat()), 0)
        };
        assert!(of(&v2).is_some());
        v2[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(of(&v2).is_none());
        // Another range, and other digits.
        let wide = Histogram::<u64>::new_with_bounds(1, u64::MAX >> 1, 2).unwrap();
        let narrow = Histogram::new_with_bounds(Latency::LOW_NS, Latency::HIGH_NS, 2).unwrap();
        for other in [wide, narrow] {
            assert!(Latency::from_base64(&encoded(&other), 0).is_none());
        }
    }

    #[test]
    fn the_longest_histogram_is_read_again() {
        let mut latency = Latency::new();
        let mut ns = Latency::LOW_NS;
        while ns <= Latency::HIGH_NS {
            latency.times.record_n(ns, 1 << 40).unwrap();
            ns = latency.times.next_non_equivalent(ns);
        }
        let read = Latency::from_base64(&latency.to_base64(), 0).unwrap();
        assert_eq!(read.times, latency.times);
    }

    #[test]
    fn times_out_of_range_are_counted() {
        let mut latency = Latency::new();
        latency.record(Duration::from_nanos(3));
        latency.record(Duration::from_secs(101));
        assert_eq!((latency.count(), latency.above()), (2, 1));
        assert_eq!(latency.quantile_ns(1.0), None, "the longest is above the range");
        assert!(latency.quantile_ns(0.5).is_some_and(|ns| ns <= Latency::LOW_NS));

        let mut sum = Latency::new();
        sum.add(&latency);
        sum.add(&latency);
        assert_eq!((sum.count(), sum.above()), (4, 2));
    }
}
