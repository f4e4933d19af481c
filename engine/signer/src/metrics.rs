//! The counters in the `OpenMetrics` text format.

use core::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use crate::counters::Counts;
use crate::families::{Families, text_of};

pub(crate) fn text(counts: Counts) -> (&'static str, String) {
    text_of("tollgate_signer", |registry| {
        registry.register_collector(Box::new(Snapshot(counts)));
    })
}

#[derive(Debug)]
struct Snapshot(Counts);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self(counts) = self;
        let mut family = Families(&mut encoder);
        let kinds = [("unix", counts.unix_connections), ("tls", counts.tls_connections)];
        family.counters("connections", "Connections accepted", "kind", kinds)?;
        family.gauge("connections_open", "Connections open now", counts.connections_open)?;
        let help = "Connections closed because their peer is no client or there were too many";
        family.counter("connections_refused", help, counts.connections_refused)?;
        let requests = counts.requests.iter().filter(|row| row.2 > 0);
        let rows =
            requests.map(|(kind, outcome, n)| ([("kind", *kind), ("outcome", *outcome)], *n));
        family.rows("requests", "Requests answered", rows)?;
        let (batches, operations) = counts.batches();
        family.counter("batches", "Batches of two operations or more", batches)?;
        family.counter("batched_operations", "Operations in batches", operations)?;
        let help = "Operations not released because the audit log could not be written";
        family.counter("audit_failures", help, counts.audit_failures)?;
        let Some(gpu) = &counts.gpu else { return Ok(()) };
        let help = "1 while batches may go to the GPU, 0 after a failure or a wrong result";
        family.gauge("gpu_in_use", help, gpu.is_in_use.into())?;
        family.counter("gpu_batches", "Batches that ran on the GPU", gpu.batches)?;
        family.counter("gpu_operations", "Operations in these batches", gpu.operations)?;
        let help = "Failures of the GPU, and wrong results, none of which has left the signer";
        let kinds = [("device", gpu.failures), ("result", gpu.wrong_results)];
        family.counters("gpu_failures", help, "kind", kinds)
    }
}
