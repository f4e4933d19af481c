//! The counters in Prometheus's text format.

use tollgate_keyless::metrics::{Kind, Metric, write};

use crate::counters::Counts;

/// Returns the media type and the text of the counters.
pub(crate) fn text(counts: &Counts) -> (&'static str, String) {
    let mut text = String::new();
    let mut add = |kind, name: &str, help, rows: &[(&[(&str, &str)], u64)]| {
        write(&mut text, &Metric { name: &format!("tollgate_signer_{name}"), kind, help }, rows);
    };
    let (counter, gauge) = (Kind::Counter, Kind::Gauge);
    let (unix, tls): (&[_], &[_]) = (&[("kind", "unix")], &[("kind", "tls")]);
    let kinds = [(unix, counts.unix_connections), (tls, counts.tls_connections)];
    add(counter, "connections", "Connections accepted", &kinds);
    add(gauge, "connections_open", "Connections open now", &[(&[], counts.connections_open)]);
    let help = "Connections closed because their peer is no client or there were too many";
    add(counter, "connections_refused", help, &[(&[], counts.connections_refused)]);
    let requests = counts.requests.iter().filter(|(.., count)| *count > 0);
    let requests =
        requests.map(|(kind, outcome, n)| ([("kind", *kind), ("outcome", *outcome)], *n));
    let requests: Vec<_> = requests.collect();
    let rows: Vec<_> = requests.iter().map(|(labels, n)| (&labels[..], *n)).collect();
    add(counter, "requests", "Requests answered", &rows);
    let (batches, operations) = counts.batches();
    add(counter, "batches", "Batches of two operations or more", &[(&[], batches)]);
    add(counter, "batched_operations", "Operations in batches", &[(&[], operations)]);
    let help = "Operations not released because the audit log could not be written";
    add(counter, "audit_failures", help, &[(&[], counts.audit_failures)]);
    if let Some(gpu) = &counts.gpu {
        let help = "1 while batches may go to the GPU, 0 after a failure or a wrong result";
        add(gauge, "gpu_in_use", help, &[(&[], gpu.is_in_use.into())]);
        add(counter, "gpu_batches", "Batches that ran on the GPU", &[(&[], gpu.batches)]);
        add(counter, "gpu_operations", "Operations in these batches", &[(&[], gpu.operations)]);
        let help = "Failures of the GPU, and wrong results, none of which has left the signer";
        let (device, result): (&[_], &[_]) = (&[("kind", "device")], &[("kind", "result")]);
        let kinds = [(device, gpu.failures), (result, gpu.wrong_results)];
        add(counter, "gpu_failures", help, &kinds);
    }
    ("text/plain; version=0.0.4", text)
}
