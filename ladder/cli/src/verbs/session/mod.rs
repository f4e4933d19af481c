//! `tollgate session`: the cost of a TLS session to a server. Predicts each part, and
//! measures the whole.

pub(crate) mod parts;

use std::process::ExitCode;

use tollgate_load::Protocol;
use tollgate_report::{heading, session as session_table};
use tollgate_server::KeyKind;

use crate::error::CliError;
use crate::interrupt;
use crate::options::Bench;
use crate::options::values::defaults;
use crate::progress::Progress;
use crate::run::Run;
use crate::verbs::bench;

pub(crate) use parts::{Session, collect};
use parts::{asked, is_ladder};

pub(crate) fn run(options: &Session) -> Result<ExitCode, CliError> {
    let mut run = Run::measuring(options.written.json.as_deref())?;
    let progress = Progress::new("session");
    let mut records = collect(options, &mut run)?;
    drop(progress);
    if !options.parts_only && !interrupt::asked() {
        let _progress = Progress::new("server");
        for bench in real_server(options) {
            let found = bench::collect(&bench, &mut run)?;
            records.extend(found);
        }
    }
    let heading = heading::lines(&records) + "\n";
    run.end(&(heading + &session_table::table(&records)))
}

/// Returns the `tollgate bench` runs for the sessions of the plan. The sessions that the default
/// plan adds to vary the payload have no run.
fn real_server(options: &Session) -> Vec<Bench> {
    let (keys, protocols, bytes) = asked(options);
    let bench = |key: &[KeyKind], protocol: &[Protocol], bytes| {
        let (key, protocol) = (key.to_vec(), protocol.to_vec());
        Bench { key, protocol, bytes, rounds: 4, seconds: 1.0, ..defaults() }
    };
    let mut runs: Vec<Bench> = bytes.iter().map(|bytes| bench(&keys, &protocols, *bytes)).collect();
    if is_ladder(options) {
        runs.push(bench(&keys[..1], &[Protocol::Tls12Rsa], bytes[0]));
    }
    runs
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::parts::plan;
    use super::*;
    use crate::options::Verb;
    use crate::options::tests::verb;

    /// Returns key, protocol and bytes of each planned session and of each measured one.
    fn planned_and_measured(flags: &str) -> [BTreeSet<(String, String, u64)>; 2] {
        let Verb::Session(options) = verb(&format!("session {flags}")) else { unreachable!() };
        let planned = plan(&options).sessions.into_iter().map(|session| {
            (session.key.to_string(), session.protocol.word().to_owned(), session.bytes)
        });
        let each = |run: Bench| {
            let of_key = |key: &KeyKind| {
                let word = |protocol: &Protocol| protocol.word().to_owned();
                let key = key.to_string();
                run.protocol.iter().map(|one| (key.clone(), word(one), run.bytes)).collect()
            };
            run.key.iter().flat_map(|key| -> Vec<_> { of_key(key) }).collect::<Vec<_>>()
        };
        let measured = real_server(&options).into_iter().flat_map(each);
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
    }
}
