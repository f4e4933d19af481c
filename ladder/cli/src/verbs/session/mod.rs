//! `tollgate session`: the cost of a TLS session to a server. Predicts each part, and
//! measures the whole.

mod choice;
mod options;
pub(crate) mod parts;

use std::process::ExitCode;

use tollgate_load::{Mechanism, Protocol};
use tollgate_report::{curve, heading, per_byte, session as session_table};
use tollgate_server::Engine;
use tollgate_session::{Handshake, amortisations, crossovers};

use crate::error::CliError;
use crate::interrupt;
use crate::options::values::defaults;
use crate::options::{Bench, EngineKind};
use crate::progress::Progress;
use crate::run::Run;
use crate::verbs::bench;
use crate::verbs::bench::options::clients::Clients;

use choice::{Choice, Kind};
pub(crate) use options::{Session, key};
pub(crate) use parts::collect;

pub(crate) fn run(options: &Session) -> Result<ExitCode, CliError> {
    parts::plan(options)?.check()?;
    let mut run = Run::measuring(options.written.json.as_deref())?;
    let left_out = options.choice()?.left_out;
    if !left_out.is_empty() {
        run.notes
            .add(format!("left out, because OpenSSL does not speak them: {}", left_out.join(", ")));
    }
    let progress = Progress::new("session");
    let mut records = collect(options, &mut run)?;
    drop(progress);
    if !options.parts_only && !interrupt::asked() {
        let _progress = Progress::new("server");
        for bench in real_server(options)? {
            let found = bench::collect(&bench, &mut run)?;
            records.extend(found);
        }
    }
    let mut text = heading::lines(&records) + "\n" + &session_table::table(&records);
    if options.curve || options.bytes.len() > 1 || options.requests.len() > 1 {
        let mut found = crossovers(&records)?;
        found.extend(amortisations(&records)?);
        run.output.records(&found)?;
        records.extend(found);
        text += &format!("\n{}", curve::table(&records));
    }
    if options.per_byte {
        text += &format!("\n{}", per_byte::table(&records));
        let has_rc4 = records.iter().any(|record| record.subject.to_string().contains("/rc4/"));
        if !has_rc4 && !interrupt::asked() {
            run.notes.add(
                "left out per byte: RC4, because OpenSSL cannot load its provider `legacy`: install \
                 it (Debian 13: openssl-provider-legacy), or name its folder in OPENSSL_MODULES"
                    .to_owned(),
            );
        }
    }
    run.end(&text)
}

/// Returns the `tollgate bench` runs for the sessions of the plan. The sessions that the default
/// plan adds to vary the payload have no run.
fn real_server(options: &Session) -> Result<Vec<Bench>, CliError> {
    let Choice { mut kinds, bytes, requests, .. } = options.choice()?;
    if options.is_ladder() {
        let first = kinds[0];
        kinds.push(Kind { protocol: Protocol::Tls12Rsa, ..first });
    }
    // A server with many suites takes less time for each.
    let seconds = if options.suites.is_empty() { 1.0 } else { 0.5 };
    let mut runs: Vec<(Kind, Bench)> = Vec::new();
    for kind in kinds {
        for (bytes, requests) in
            bytes.iter().flat_map(|&bytes| requests.iter().map(move |&number| (bytes, number)))
        {
            // A run has several protocols or suites.
            let of_run = Kind { protocol: Protocol::Tls13, suite: None, bytes, requests, ..kind };
            // ECDSA clients offer several groups, and the server prefers that of its only protocol.
            let is_shared = kind.key.is_rsa() || kind.suite.is_some();
            let known = runs.iter().position(|(known, _)| *known == of_run && is_shared);
            let place = known.unwrap_or(runs.len());
            if known.is_none() {
                let mut run = Bench { seconds, ..run_of(of_run) };
                run.load.connections = options.connections;
                runs.push((of_run, run));
            }
            let (_, run) = &mut runs[place];
            match kind.suite {
                Some(suite) => run.suites.push(suite.name().to_owned()),
                None => run.protocol.push(kind.protocol),
            }
        }
    }
    Ok(runs.into_iter().map(|(_, run)| run).collect())
}

/// The `tollgate bench` run of a kind, without protocols and suites.
fn run_of(kind: Kind) -> Bench {
    let only =
        (!choice::engines(kind.key).contains(&Engine::Tollgate)).then_some(EngineKind::Openssl);
    let by_session_id = (kind.handshake == Handshake::SessionId).then_some(Mechanism::SessionId);
    let requests_per_connection = f64::from(kind.requests);
    Bench {
        key: vec![kind.key],
        engine: only.into_iter().collect(),
        group: kind.group.iter().map(|group| group.name().to_owned()).collect(),
        bytes: kind.bytes,
        rounds: if only.is_some() { 2 } else { 4 },
        resumed_share: f64::from(u8::from(kind.handshake.is_resumed())),
        resume_by: by_session_id,
        clients: Clients { requests_per_connection, ..defaults() },
        session: Some(kind),
        ..defaults()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tollgate_server::KeyKind;

    use super::parts::plan;
    use super::*;
    use crate::options::Verb;
    use crate::options::tests::verb;

    /// Returns key, protocol and bytes of each planned session and of each measured one.
    fn planned_and_measured(flags: &str) -> [BTreeSet<(String, String, u64)>; 2] {
        let Verb::Session(options) = verb(&format!("session {flags}")) else { unreachable!() };
        let planned = plan(&options).unwrap().sessions.into_iter().map(|session| {
            let word = session.suite.map_or(session.protocol.word(), |suite| suite.name());
            (session.key.to_string(), word.to_owned(), session.bytes)
        });
        let each = |run: Bench| {
            let of_key = |key: &KeyKind| {
                let protocols = run.protocol.iter().map(|protocol| protocol.word().to_owned());
                let words = protocols.chain(run.suites.iter().cloned());
                words.map(|word| (key.to_string(), word, run.bytes)).collect()
            };
            run.key.iter().flat_map(|key| -> Vec<_> { of_key(key) }).collect::<Vec<_>>()
        };
        let measured = real_server(&options).unwrap().into_iter().flat_map(each);
        [planned.collect(), measured.collect()]
    }

    #[test]
    fn every_session_but_the_sweep_has_a_real_server() {
        let [planned, measured] = planned_and_measured("");
        let sweep: Vec<_> = planned.difference(&measured).collect();
        assert!(sweep.iter().all(|(key, protocol, _)| key == "rsa-2048" && protocol == "tls13"));
        assert_eq!((planned.len(), measured.len(), sweep.len()), (11, 5, 6));
        assert!(measured.is_subset(&planned));
        let [planned, measured] = planned_and_measured("--bytes 0,1024 --key-type rsa-4096");
        assert_eq!((planned.len(), &planned), (4, &measured));
        let [planned, measured] =
            planned_and_measured("--key-type rsa-2048,ed25519 --group ffdhe2048");
        assert_eq!((planned.len(), &planned), (2, &measured), "ECDHE has no ffdhe2048");
        let [planned, measured] = planned_and_measured("--curve --key-type rsa-2048");
        assert_eq!((planned.len(), &planned), (2 * 6, &measured));
        let [planned, measured] = planned_and_measured("--suites all");
        assert_eq!(planned, measured);
        let is = |key: &str| planned.iter().filter(|(of, ..)| of == key).count();
        // RSA, DHE and ECDHE without RC4 and 3DES, and TLS 1.3; ECDHE and TLS 1.3
        assert_eq!((is("rsa-2048"), is("ecdsa-p256")), (6 + 7 + 7 + 3, 7 + 3));
    }

    #[test]
    fn rows_of_handshakes_chains_and_requests_have_a_real_server() {
        let flags = "--handshake full,ticket,session-id,mutual --chain 1,3 --requests 1,10";
        let Verb::Session(options) = verb(&format!("session {flags}")) else { unreachable!() };
        let planned = plan(&options).unwrap().sessions;
        // Full and mutual handshakes have two chains in two versions. Tickets exist in both versions
        // and session IDs in one. All have two numbers of requests and two engines.
        assert_eq!(planned.len(), (2 * 2 * 2 + 2 + 1) * 2 * 2);
        let flags = "--handshake ticket,session-id,mutual --requests 1,10";
        let Verb::Session(options) = verb(&format!("session {flags}")) else { unreachable!() };
        let runs = real_server(&options).unwrap();
        let of = |run: &Bench| {
            let resume = run.resume(false).map(|resume| resume.by.word());
            let number = run.clients.requests_per_connection;
            (resume, run.protocol.len(), number > 1.0)
        };
        let expected = [
            (Some("ticket"), 2, false),
            (Some("ticket"), 2, true),
            (Some("session-id"), 1, false),
            (Some("session-id"), 1, true),
            (None, 2, false),
            (None, 2, true),
        ];
        assert_eq!(runs.iter().map(of).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn lists_that_do_not_fit_are_refused() {
        for (flags, part) in [
            ("--suites TLS_NULL", "no suite is called TLS_NULL"),
            ("--suites TLS_RSA_WITH_RC4_128_SHA", "--server gnutls"),
            ("--suites TLS_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256", "twice"),
            ("--suites TLS_RSA_WITH_AES_128_GCM_SHA256 --key-type ed25519", "--key-type: ed25519"),
            ("--suites TLS_RSA_WITH_AES_128_CBC_SHA --group x25519", "fits none"),
            ("--group x448", "secp384r1"),
            ("--bytes 0,0", "twice"),
            ("--handshake ticket,ticket", "twice"),
            ("--handshake session-id --protocol tls13", "--protocol: tls13 fits none"),
            ("--handshake ticket --chain 2", "--chain: 2 fits none"),
            ("--group ffdhe2048 --protocol tls12-x25519", "fits none"),
            ("--protocol tls12-rsa --key-type ecdsa-p384", "fits none"),
        ] {
            let Verb::Session(options) = verb(&format!("session {flags}")) else { unreachable!() };
            let error = options.choice().unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains('\n'), "{flags}: {error}");
        }
    }
}
