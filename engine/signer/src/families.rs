//! Families of metrics in the `OpenMetrics` text format.

use core::fmt;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// The media type of [`text_of`].
const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns the media type and the text of the metrics that `register` adds. Their names begin with
/// this prefix.
pub(crate) fn text_of(
    prefix: &str,
    register: impl FnOnce(&mut Registry),
) -> (&'static str, String) {
    let mut registry = Registry::with_prefix(prefix);
    register(&mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).expect("a String takes any text");
    (MEDIA_TYPE, text)
}

/// Writes metric families.
#[derive(Debug)]
pub(crate) struct Families<'a, 'b>(pub(crate) &'a mut DescriptorEncoder<'b>);

impl Families<'_, '_> {
    /// Writes a counter.
    pub(crate) fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let metric = ConstCounter::new(value);
        metric.encode(self.0.encode_descriptor(name, help, None, MetricType::Counter)?)
    }

    /// Writes a gauge.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let metric = ConstGauge::new(value);
        metric.encode(self.0.encode_descriptor(name, help, None, MetricType::Gauge)?)
    }

    /// Writes counters with values of a label.
    pub(crate) fn counters<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &'a str,
        values: impl IntoIterator<Item = (&'a str, u64)>,
    ) -> fmt::Result {
        self.rows(name, help, values.into_iter().map(|(word, value)| ([(label, word)], value)))
    }

    /// Writes counters with labels and their values.
    pub(crate) fn rows<'a, const LABELS: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = ([(&'a str, &'a str); LABELS], u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in rows {
            ConstCounter::new(value).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// Writes gauges with values of a label.
    pub(crate) fn gauges<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'a str, u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (word, value) in values {
            let labels = [(label, word)];
            ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
