//! One line for each term of the report.

use maud::{Markup, html};

const WORDS: [(&str, &str); 18] = [
    ("batch", "several operations in one call, one for each lane of the vector registers"),
    ("bound", "the fewest cycles that the processor's limits allow; no code can go below"),
    ("core clock", "the measured frequency of the core, not the nominal one"),
    ("core cycle", "one tick of the core clock; independent of how fast the clock runs"),
    ("ECDHE", "key exchange with a new key pair on an elliptic curve for each session"),
    ("interval", "95 % interval: it probably contains the true figure"),
    ("kernel", "the innermost routine: one Montgomery product or square"),
    ("key schedule", "how both sides derive the session's keys; with the hashes it needs"),
    ("lane", "one of several independent numbers in a vector register"),
    ("limit", "the resource that sets a bound: issue, port, latency, memory"),
    ("measured", "by running it on this machine"),
    ("p99", "the 99th percentile: 99 of 100 values do not exceed it"),
    ("payload", "the bytes that a session transfers, without headers and encryption"),
    ("predicted", "by arithmetic, from figures of the rung below"),
    ("published", "printed by others, on their machine, in their year"),
    ("record", "in this report: one figure with all that is known about it; in TLS: a packet"),
    ("remainder", "measured minus predicted: the part that the rung below does not explain"),
    ("session", "one TLS connection: TCP, handshake, one request, its answer, the end"),
];

pub(super) fn section() -> Markup {
    html! {
        section id="glossary" {
            h2 { "Words" }
            dl.facts { @for (word, line) in WORDS { dt { (word) } dd { (line) } } }
        }
    }
}
