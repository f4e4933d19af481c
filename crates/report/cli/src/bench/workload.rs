//! `tollgate bench --workload`: what a named workload asks of the load generator.

use tollgate_load::Protocol;
use tollgate_server::KeyKind;
use tollgate_workload::{Arrivals, Workload};

use crate::options::Bench as Options;
use crate::stop::Stop;
use crate::workload::find;

/// Suites that plans have: AES-128-GCM with SHA-256.
const SUITES: [&str; 3] = [
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_AES_128_GCM_SHA256",
];

/// The options with what the workload asks for; what it does not know stays as it was.
///
/// # Errors
///
/// There is no such workload, or it asks for what no plan can express yet: which, and what can be
/// done.
pub(super) fn applied(options: &Options) -> Result<Options, Stop> {
    let Some(name) = &options.workload else { return Ok(options.clone()) };
    let workload = find(name)?;
    let refused = |why: String| Stop::new(format!("--workload {name}: {why}"));
    if let Some(why) = obstacle(&workload) {
        return Err(refused(why));
    }
    let mut options = options.clone();
    if let Some(key) = &workload.key {
        options.key = vec![key_of(key.value.word()).ok_or_else(|| {
            refused(format!("no pair of servers has a key {}", key.value.word()))
        })?];
    }
    if let Some(protocol) = &workload.protocol {
        options.protocol = Protocol::ALL
            .into_iter()
            .filter(|known| known.word() == protocol.value.word())
            .collect();
        if options.protocol.is_empty() {
            let word = protocol.value.word();
            return Err(refused(format!("the load generator does not speak {word} yet")));
        }
    }
    if let Some(bytes) = &workload.bytes {
        options.bytes = bytes.value.get();
    }
    if options.bytes > tollgate_server::BODY_BYTES_MAX {
        return Err(refused(format!("no server here has a body of {} bytes", options.bytes)));
    }
    Ok(options)
}

fn key_of(word: &str) -> Option<KeyKind> {
    match word.parse() {
        Ok(kind @ KeyKind::Rsa { .. }) => Some(kind),
        _ => Some(KeyKind::OF_2001).filter(|kind| kind.to_string() == word),
    }
}

/// What no plan can express.
fn obstacle(workload: &Workload) -> Option<String> {
    if let Some(requests) = &workload.requests_per_connection
        && requests.value.get() > 1.0
    {
        let each = requests.value.get();
        return Some(format!("it has {each} requests on a connection; here each has one so far"));
    }
    if let Some(resumed) = &workload.resumed
        && resumed.value.get() > 0.0
    {
        let share = 100.0 * resumed.value.get();
        return Some(format!("{share:.0} % of its sessions are resumed; here none is so far"));
    }
    if workload.sizes.is_some() {
        return Some("its bodies differ in size; here all have one so far".to_owned());
    }
    if let Some(suite) = &workload.suite
        && !SUITES.contains(&suite.value.as_str())
    {
        return Some(format!("the load generator does not offer {} yet", suite.value));
    }
    if matches!(workload.arrivals.as_ref().map(|known| &known.value), Some(Arrivals::Open { .. })) {
        return Some("its arrivals are an open loop; here the loop is closed so far".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::options::{Options as All, Verb};

    fn asked(name: &str) -> Result<Options, Stop> {
        match All::of(&["bench", "--workload", name]).unwrap().verb {
            Verb::Bench(options) => applied(&options),
            other => unreachable!("bench was asked for: {other:?}"),
        }
    }

    #[test]
    fn a_workload_becomes_flags_or_is_refused_with_its_reason() {
        let hp2001 = asked("hp2001").unwrap();
        assert_eq!(hp2001.key, [KeyKind::OF_2001]);
        assert_eq!((hp2001.protocol, hp2001.bytes), (vec![Protocol::Tls12Rsa], 14_336));
        let bank = asked("bank140k").unwrap();
        assert_eq!((bank.protocol, bank.bytes), (vec![Protocol::Tls12X25519], 140_000));
        for (name, why) in [
            ("web2026", "10 requests on a connection"),
            ("pq2026", "tls13-x25519mlkem768"),
            ("nobody", "give hp2001"),
        ] {
            let message = asked(name).unwrap_err().to_string();
            assert!(message.contains(why), "{message}");
        }
    }
}
