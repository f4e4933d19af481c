//! A short run of a whole measurement: checks that all figures exist and add up, but not their
//! values.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "tests")]

use core::cell::Cell;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use tollgate_load::Protocol;
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Machine, Quantity, Record, Unit, jsonl};
use tollgate_server::{Engine, KeyKind};
use tollgate_session::{Context, Error, Handshake, Session, SessionPlan, measure};
use tollgate_tls_client::Group;

const KEY: KeyKind = KeyKind::Rsa { bits: 2048 };
const ENGINES: [Engine; 2] = [Engine::OpenSsl, Engine::Tollgate];
const SECOND: Duration = Duration::from_secs(1);

fn context() -> Context {
    Context {
        machine: Machine::unknown("Some Processor 9000"),
        versions: BTreeMap::from([("openssl".to_owned(), "3.0.19".to_owned())]),
        commit: Some("0123abcd".to_owned()),
        conditions: BTreeMap::from([("governor".to_owned(), "performance".to_owned())]),
    }
}

fn measured(server: Option<&str>, plan: &SessionPlan) -> Result<Figures, Error> {
    Ok(Figures(measure(server, plan, &context(), &|| false, &mut |_| {})?))
}

struct Figures(Vec<Record>);

impl Figures {
    fn of(&self, subject: &str, quantity: Quantity) -> &Record {
        let wanted =
            |record: &&Record| record.subject.to_string() == subject && record.quantity == quantity;
        let found: Vec<_> = self.0.iter().filter(wanted).collect();
        assert_eq!(found.len(), 1, "{subject} {quantity}");
        found[0]
    }

    fn cycles(&self, subject: &str) -> f64 {
        self.of(subject, word::CYCLES_PER_SESSION).estimate.point()
    }
}

fn is_prediction(record: &Record) -> bool {
    matches!(&record.kind, Kind::Predicted { by, .. } if by == word::SESSION_RUNG)
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs()
}

/// Asserts that the parts of a session add up to the replay of its calls; returns the parts.
fn parts<'a>(subject: &str, figures: &'a Figures) -> BTreeMap<&'a str, &'a Record> {
    let is_of = |record: &&Record| {
        let subject_of = record.subject.without(&[word::PART]).to_string();
        subject_of == subject && record.subject.parameter(word::PART).is_some()
    };
    let parts: BTreeMap<&str, &Record> = figures
        .0
        .iter()
        .filter(is_of)
        .map(|record| (record.subject.parameter(word::PART).unwrap(), record))
        .collect();
    assert!(parts.values().all(|part| is_prediction(part) && part.unit == Unit::Cycles));
    let sum: f64 = parts.values().map(|part| part.estimate.point()).sum();
    let total = figures.of(subject, word::CYCLES_PER_SESSION);
    assert!(is_prediction(total) && close(total.estimate.point(), sum), "{subject}");
    let replayed = |name: &str| {
        figures.cycles(&subject.replacen("session", &format!("session/primitive/{name}"), 1))
    };
    assert!(close(sum, replayed("libssl") + replayed("system")), "{subject}");
    parts
}

#[test]
fn every_session_has_all_parts_and_they_add_up() {
    let mut plan = SessionPlan::product(&[KEY], &Protocol::ALL, &ENGINES, &[14_336], SECOND);
    let long = SessionPlan::product(&[KEY], &[Protocol::Tls13], &ENGINES, &[0, 143_360], SECOND);
    plan.sessions.extend(long.sessions);
    let last = Cell::new(0.0);
    let records = measure(None, &plan, &context(), &|| false, &mut |done| last.set(done)).unwrap();
    assert!(close(last.get(), 1.0));
    let figures = Figures(records);
    for session in &plan.sessions {
        let subject = session.subject().unwrap().to_string();
        let parts = parts(&subject, &figures);
        let part = |name| parts[name].estimate.point();
        for positive in [word::PART_RSA, word::PART_KEY_SCHEDULE, word::PART_RECORDS] {
            assert!(part(positive) > 0.0, "{subject}: {positive}");
        }
        let has_agreement = session.protocol != Protocol::Tls12Rsa;
        assert_eq!(part(word::PART_KEY_EXCHANGE) > 0.0, has_agreement, "{subject}");
        assert_eq!(part(word::PART_MAC), 0.0, "{subject}");
        assert!(parts.contains_key(word::PART_LIBRARY) && parts.contains_key(word::PART_SYSTEM));
        // Lanes pay on some processors only.
        let total = figures.of(&subject, word::CYCLES_PER_SESSION);
        assert_eq!(total.conditions[word::CONNECTIONS], "16");
        let is_ours = session.engine == Engine::Tollgate;
        assert!(is_ours || !total.conditions.contains_key(word::BATCH), "{subject}");
        let Kind::Predicted { from, .. } = &parts[word::PART_RSA].kind else { unreachable!() };
        assert!(is_ours || !from[0].contains("batch="), "{from:?}");
    }

    // The inputs of each prediction exist, and every line can be written and read.
    let subjects: BTreeSet<String> = figures.0.iter().map(|r| r.subject.to_string()).collect();
    let mut file = Vec::new();
    for record in &figures.0 {
        if let Kind::Predicted { from, .. } = &record.kind {
            assert!(from.iter().all(|source| subjects.contains(source)), "{from:?}");
        }
        assert_eq!(record.conditions["governor"], "performance");
        jsonl::Writer::new(&mut file).write(record).unwrap();
    }
    assert_eq!(jsonl::read_all(file.as_slice()).unwrap(), figures.0);
}

#[test]
fn a_resumed_session_has_no_signature() {
    let usual = Session::new(KeyKind::EcdsaP256, Protocol::Tls12X25519, Engine::OpenSsl, 1000);
    let tls13 = Session { protocol: Protocol::Tls13, ..usual };
    let resumed = |session, handshake| Session { handshake, ..session };
    let sessions = vec![
        usual,
        resumed(usual, Handshake::Ticket),
        resumed(usual, Handshake::SessionId),
        resumed(tls13, Handshake::Ticket),
    ];
    let figures = measured(None, &SessionPlan::new(sessions.clone(), SECOND)).unwrap();
    for session in sessions {
        let subject = session.subject().unwrap().to_string();
        let parts = parts(&subject, &figures);
        let signature = parts[word::PART_SIGNATURE].estimate.point();
        assert_eq!(signature > 0.0, session.handshake == Handshake::Full, "{subject}");
    }
}

#[test]
fn a_session_with_a_kem_has_a_key_exchange() {
    let group = Some(Group::X25519MlKem768);
    let session = |engine| Session { group, ..Session::new(KEY, Protocol::Tls13, engine, 0) };
    let plan = SessionPlan::new(ENGINES.map(session).into(), SECOND);
    let figures = match measured(None, &plan) {
        Err(Error::Plan(why)) => {
            println!("not run: {why}");
            return assert!(why.contains("before version 3.5"), "{why}");
        }
        figures => figures.unwrap(),
    };
    for session in plan.sessions {
        let subject = session.subject().unwrap().to_string();
        let exchange = parts(&subject, &figures)[word::PART_KEY_EXCHANGE].estimate.point();
        assert!(exchange > 0.0, "{subject}: {exchange}");
        let detail = |name: &str| {
            let part = session.subject().unwrap().with(word::PART, word::PART_KEY_EXCHANGE);
            figures.cycles(&part.unwrap().with(word::DETAIL, name).unwrap().to_string())
        };
        let halves = [word::DETAIL_CURVES, word::DETAIL_KEM_KEY, word::DETAIL_KEM].map(detail);
        assert!(halves.iter().all(|cycles| *cycles > 0.0), "{subject}: {halves:?}");
        assert!(close(halves.iter().sum::<f64>() + detail(word::DETAIL_EVP), exchange));
    }
}

#[test]
fn a_stock_servers_parts_add_up_to_its_calls() {
    let plan = SessionPlan::product(&[KEY], &[Protocol::Tls13], &ENGINES, &[14_336], SECOND);
    let mut plan = SessionPlan { pauses: false, ..plan };
    plan.sessions.push(Session::new(KeyKind::EcdsaP256, Protocol::Tls13, Engine::OpenSsl, 0));
    let nginx = measured(Some("nginx"), &plan).unwrap();
    for session in &plan.sessions {
        let subject = session.subject().unwrap().to_string().replace("by=", "by=nginx-");
        let parts = parts(&subject, &nginx);
        let key = if session.key.is_rsa() { word::PART_RSA } else { word::PART_SIGNATURE };
        assert!(parts[key].estimate.point() > 0.0, "{subject}");
        assert!(parts[word::PART_SYSTEM].estimate.point() > 0.0, "{subject}");
        assert!(!parts[key].conditions.contains_key(word::BATCH), "{subject}");
    }
    // without the calls of a server, those of the embedded one
    let other = measured(Some("a server whose calls are unknown"), &plan).unwrap();
    plan.sessions.iter().for_each(|session| {
        let _ = parts(&session.subject().unwrap().to_string(), &other);
    });
}

#[test]
fn the_caller_can_stop() {
    let plan =
        SessionPlan::product(&[KEY], &[Protocol::Tls13], &ENGINES, &[0], Duration::from_secs(60));
    let stopped = measure(None, &plan, &context(), &|| true, &mut |_| {});
    assert!(matches!(stopped, Err(Error::Measurement(tollgate_bench::Error::Stopped))));
    let nothing = SessionPlan { sessions: Vec::new(), ..plan };
    assert!(matches!(measured(None, &nothing), Err(Error::Plan(_))));
}
