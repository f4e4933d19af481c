//! Prometheus's text format, in which front ends and signers show their counts.

use core::fmt::{Display, Write as _};

/// A metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric<'a> {
    /// Its name; that of a counter gets the ending `_total`.
    pub name: &'a str,
    /// A counter, or a gauge, which may fall.
    pub kind: Kind,
    /// Its description.
    pub help: &'a str,
}

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It never falls.
    Counter,
    /// It may fall.
    Gauge,
}

/// Writes a metric, with a row for each of these labels and values.
///
/// ```
/// use tollgate_keyless::metrics::{Kind, Metric, write};
///
/// let metric = Metric { name: "requests", kind: Kind::Counter, help: "Requests answered" };
/// let mut text = String::new();
/// write(&mut text, &metric, &[(&[("kind", "si\"gn")], 3)]);
/// let head = "# HELP requests_total Requests answered\n# TYPE requests_total counter\n";
/// assert_eq!(text, format!("{head}requests_total{{kind=\"si_gn\"}} 3\n"));
/// ```
///
/// # Panics
///
/// Never: a string takes any text.
pub fn write(text: &mut String, metric: &Metric<'_>, rows: &[(&[(&str, &str)], impl Display)]) {
    let (kind, end) = match metric.kind {
        Kind::Counter => ("counter", "_total"),
        Kind::Gauge => ("gauge", ""),
    };
    let (name, help) = (format!("{}{end}", metric.name), metric.help);
    let mut add = |line: core::fmt::Arguments<'_>| {
        text.write_fmt(line).expect("a string takes any text");
    };
    add(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    for (labels, value) in rows {
        let labels = labels.iter().map(|(label, word)| {
            let word = word.replace(|c: char| c == '"' || c == '\\' || c.is_control(), "_");
            format!("{label}=\"{word}\"")
        });
        let labels: Vec<String> = labels.collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        add(format_args!("{name}{labels} {value}\n"));
    }
}
