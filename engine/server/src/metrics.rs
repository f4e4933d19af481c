//! The counters in the `OpenMetrics` text format, for `/metrics`.

use core::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::info::Info;

use crate::counters::Counters;
use crate::families::{Families, text_of};
use crate::proxy::BackendCounters;

/// Returns the text of `/metrics` and its media type.
pub(crate) fn text(
    counters: Counters,
    engine: &'static str,
    key: String,
) -> (&'static str, String) {
    let info = Info::new([
        ("engine", engine.to_owned()),
        ("key", key),
        ("provider", counters.signer.provider.clone()),
    ]);
    text_of("tollgate", |registry| {
        let help = "The configured engine, the provider that signs, the kind of key";
        registry.register("server", help, info);
        registry.register_collector(Box::new(Snapshot(counters)));
    })
}

#[derive(Debug)]
struct Snapshot(Counters);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self(counters) = self;
        let mut family = Families(&mut encoder);
        family.counter("connections", "Connections accepted", counters.connections)?;
        family.gauge("connections_open", "Connections open now", counters.connections_open)?;
        let kinds = [
            ("passed_on", counters.spilled),
            ("target_failed", counters.spill_failures),
            ("closed", counters.refused),
        ];
        family.counters("spilled", "Connections not served because of the load", "kind", kinds)?;
        let kinds = [("full", counters.handshakes_full), ("resumed", counters.handshakes_resumed)];
        family.counters("handshakes", "Handshakes completed", "kind", kinds)?;
        let failed = counters.handshakes_failed.iter().map(|(why, n)| (why.word(), *n));
        family.counters("handshakes_failed", "Handshakes failed", "reason", failed)?;
        family.counter("requests", "Responses sent as a whole", counters.requests)?;
        family.counter("requests_cut", "Responses not sent as a whole", counters.requests_cut)?;
        let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"].into_iter().zip(counters.responses);
        family.counters("responses", "Responses begun", "status", classes)?;
        let http2 = counters.http2_connections;
        family.counter("http2_connections", "Connections with HTTP/2", http2)?;
        let kernel = counters.kernel_tls_connections;
        let help = "Connections whose records the kernel encrypts";
        family.counter("kernel_tls_connections", help, kernel)?;
        family.counter("body_bytes", "Bytes of bodies, before encryption", counters.body_bytes)?;
        let ends = counters.ends.iter().map(|(why, n)| (why.word(), *n));
        family.counters(
            "connections_ended",
            "Connections ended after a handshake",
            "reason",
            ends,
        )?;
        let pauses = counters.descriptor_pauses;
        family.counter(
            "descriptor_pauses",
            "Pauses in accepting without free file descriptors",
            pauses,
        )?;
        family.counter("loop_turns", "Turns of all event loops", counters.loop_turns)?;
        family.seconds("worker_cpu", "CPU time of a worker", &counters.worker_cpu)?;
        let process = &[counters.process_cpu];
        family.seconds("process_cpu", "CPU time of the process", process)?;
        family.counter("log_lines", "Access-log lines written", counters.log_lines)?;
        family.counter("log_lines_lost", "Access-log lines lost", counters.log_lines_lost)?;
        self.backends(&mut family)?;
        self.sessions(&mut family)?;
        if let Some(operations) = counters.signer.operations {
            let kinds = [("sign", operations.signatures), ("decrypt", operations.decryptions)];
            let help = "Private-key operations that the engine's provider counted";
            family.counters("private_operations", help, "kind", kinds)?;
            let help = "Batches of two private-key operations or more";
            family.counter("batches", help, operations.batches)?;
            let help = "Private-key operations in batches";
            family.counter("batched_operations", help, operations.batched)?;
        }
        Ok(())
    }
}

impl Snapshot {
    /// Writes the counts of back ends, if there are any.
    fn backends(&self, family: &mut Families<'_, '_>) -> fmt::Result {
        let backends = &self.0.backends;
        if backends.is_empty() {
            return Ok(());
        }
        let addresses: Vec<String> = backends.iter().map(|one| one.address.to_string()).collect();
        let labelled = |of: fn(&BackendCounters) -> u64| {
            addresses.iter().map(String::as_str).zip(backends.iter().map(of))
        };
        let help = "Requests passed on to a back end";
        family.counters("backend_requests", help, "backend", labelled(|one| one.requests))?;
        let help = "Requests that failed at a back end";
        family.counters("backend_failures", help, "backend", labelled(|one| one.failures))?;
        let help = "Requests that a back end has now";
        family.gauges("backend_active", help, "backend", labelled(|one| one.active as u64))?;
        let help = "1 if a back end passed its last check";
        family.gauges("backend_up", help, "backend", labelled(|one| u64::from(one.is_up)))
    }
}

impl Snapshot {
    /// Writes the counts of the cache of sessions, if there is one.
    fn sessions(&self, family: &mut Families<'_, '_>) -> fmt::Result {
        let Some(counts) = &self.0.sessions else {
            return Ok(());
        };
        family.gauge("sessions", "Sessions in memory", counts.sessions)?;
        let results = [("found", counts.found), ("absent", counts.absent)];
        family.counters("session_lookups", "Sessions that clients offered", "result", results)?;
        family.counter("sessions_stored", "New sessions", counts.stored)?;
        let help = "Sessions that made room for new ones";
        family.counter("sessions_evicted", help, counts.evicted)?;
        let Some(redis) = &counts.redis else {
            return Ok(());
        };
        family.gauge("redis_workers", "Workers that are connected to Redis", redis.workers)?;
        let results = [
            ("found", redis.found),
            ("absent", redis.absent),
            ("unreadable", redis.unreadable),
            ("unanswered", redis.unanswered),
            ("unasked", redis.unasked),
        ];
        family.counters("redis_lookups", "Questions for sessions to Redis", "result", results)?;
        let results = [("stored", redis.stored), ("lost", redis.unstored)];
        family.counters("redis_stores", "New sessions for Redis", "result", results)?;
        family.counter("redis_failures", "Connections to Redis that failed", redis.failures)
    }
}
