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
        upstreams(&mut family, counts)?;
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

fn upstreams(family: &mut Families<'_, '_>, counts: &Counts) -> fmt::Result {
    if counts.upstreams.is_empty() {
        return Ok(());
    }
    let connected = counts.upstreams.iter().map(|it| (it.name.as_str(), it.connected));
    let help = "Workers with a connection to an upstream signer";
    family.gauges("upstream_connected", help, "upstream", connected)?;
    let rows = counts.upstreams.iter().flat_map(|it| {
        let outcomes =
            [("done", it.done), ("refused", it.refused), ("wrong", it.wrong), ("lost", it.lost)];
        let name = it.name.as_str();
        outcomes.map(|(outcome, count)| ([("upstream", name), ("outcome", outcome)], count))
    });
    family.rows("upstream_requests", "Requests to upstream signers", rows)?;
    let help = "Requests to a second upstream signer because the first one was slow";
    let outcomes = [
        ("won", counts.hedges_won),
        ("lost", counts.hedges.saturating_sub(counts.hedges_won)),
        ("withheld", counts.hedges_withheld),
    ];
    family.counters("hedges", help, "outcome", outcomes)?;
    let help = "Operations that no upstream signer did and this signer did with its own key";
    family.counter("fallbacks", help, counts.fallbacks)
}
