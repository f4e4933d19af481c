//! `tollgate fleet what-if`: a session after a change, from a measured one and predictions.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tollgate_fleet::{Change, Error, measured_sessions, what_if};
use tollgate_load::{Mechanism, Protocol};
use tollgate_record::{Protocol as Word, Record, Subject, Timestamp};
use tollgate_report::{heading, what_if as table};
use tollgate_server::KeyKind;

use crate::error::CliError;
use crate::options::values::{Written, share};
use crate::run::Run;
use crate::shelf;
use crate::verbs::bench::options::protocol;
use crate::verbs::bench::options::session::mechanism;
use crate::verbs::explain::key;

#[derive(Args, Clone, Debug)]
pub(crate) struct WhatIf {
    /// Files of records with measured servers (`tollgate bench --json`) and predicted sessions
    /// (`tollgate explain --json`), or with both (`tollgate ladder`)
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Payload of a session in bytes
    #[arg(long, value_name = "N")]
    pub(crate) bytes: Option<u64>,

    /// Engine: openssl or tollgate
    #[arg(long, value_name = "ENGINE", value_parser = ["openssl", "tollgate"])]
    pub(crate) engine: Option<String>,

    /// Type of the server's key, such as rsa-3072 or ecdsa-p256
    #[arg(id = "key-type", long, value_name = "KIND", value_parser = key)]
    pub(crate) key: Option<KeyKind>,

    /// Records of another machine, whose cores serve the sessions; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) on: Vec<PathBuf>,

    /// Protocol version and key exchange: tls12-rsa, tls12-x25519, tls12-p256, tls13
    #[arg(long, value_name = "PROTOCOL", value_parser = protocol)]
    pub(crate) protocol: Option<Protocol>,

    /// Share of the sessions that resume an earlier one, as in 80% or 0.8
    #[arg(long = "resume", value_name = "SHARE", value_parser = share)]
    pub(crate) resumed_share: Option<f64>,

    /// Mechanism of resumption: session-id or ticket in TLS 1.2; psk in TLS 1.3 [default: ticket,
    /// psk]
    #[arg(long, value_name = "HOW", value_parser = mechanism, requires = "resumed_share")]
    pub(crate) resume_by: Option<Mechanism>,

    /// Cipher suite by its IANA name
    #[arg(long = "suites", value_name = "NAME")]
    pub(crate) suite: Option<String>,

    #[command(flatten)]
    pub(crate) written: Written,
}

pub(super) fn run(options: &WhatIf) -> Result<ExitCode, CliError> {
    let known = shelf::read(&options.files)?;
    let there = match options.on.as_slice() {
        [] => None,
        files => Some(shelf::read(files)?),
    };
    let mut run = Run::new(options.written.json.as_deref())?;
    let (mut rows, mut records, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for from in measured_sessions(&known) {
        let to = target(options, &from.subject)?;
        if to == from.subject && there.is_none() {
            continue;
        }
        let made = (run.host.context.commit.clone(), Timestamp::now());
        match what_if(&known, from, &to, there.as_deref(), made) {
            Ok(found) => {
                rows.push(table::Row {
                    from: from.subject.clone(),
                    to,
                    before: from.estimate,
                    after: found.record.estimate,
                    parts: found.parts,
                    measured: found.measured,
                });
                records.push(found.record);
            }
            Err(error) => refused.push((from.subject.clone(), error)),
        }
    }
    if records.is_empty() {
        return Err(nothing(options, refused));
    }
    if let Some((subject, error)) = refused.first() {
        let more = match refused.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more sessions)"),
        };
        run.notes.add(format!("left out: {subject}: {error}{more}"));
    }
    run.output.records(&records)?;
    let measured: Vec<Record> = measured_sessions(&known).into_iter().cloned().collect();
    let text = heading::lines(&measured) + "\n" + &table::table(&rows);
    run.end(&text)
}

/// Returns the session that the options describe.
fn target(options: &WhatIf, from: &Subject) -> Result<Subject, Error> {
    let protocol = options.protocol.map(|protocol| Word::from(protocol.word()));
    let is_tls13 = protocol.as_ref().or(from.protocol()) == Some(&Word::Tls13);
    let usual = if is_tls13 { "psk" } else { "ticket" };
    let by = options.resume_by.map_or(usual, Mechanism::word);
    let change = Change {
        key: options.key.map(|key| key.to_string().as_str().into()),
        protocol,
        engine: options.engine.clone(),
        bytes: options.bytes,
        suite: options.suite.clone(),
        resumed: options.resumed_share.map(|share| (share, by.to_owned())),
    };
    change.target(from)
}

/// Returns the reason why no session changed.
fn nothing(options: &WhatIf, refused: Vec<(Subject, Error)>) -> CliError {
    if let Some((_, error)) = refused.into_iter().next() {
        return error.into();
    }
    let WhatIf { bytes, engine, key, protocol, resumed_share, suite, .. } = options;
    let is_change = bytes.is_some()
        || engine.is_some()
        || key.is_some()
        || protocol.is_some()
        || resumed_share.is_some()
        || suite.is_some();
    match is_change {
        true => error!("no other session: every measured TLS session of the files is like this"),
        false => error!("no change: give some of --key-type, --engine, --resume, --protocol, --on"),
    }
}
