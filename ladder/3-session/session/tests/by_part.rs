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
use tollgate_session::{Context, Error, Handshake, Session, SessionPlan, measure, measure_stock};
use tollgate_tls_client::Group;

const KEY: KeyKind = KeyKind::Rsa { bits: 2048 };
const ENGINES: [Engine; 2] = [Engine::OpenSsl, Engine::Tollgate];

fn context() -> Context {
    Context {
        machine: Machine::unknown("Some Processor 9000"),
        versions: BTreeMap::from([("openssl".to_owned(), "3.0.19".to_owned())]),
        commit: Some("0123abcd".to_owned()),
        conditions: BTreeMap::from([("governor".to_owned(), "performance".to_owned())]),
    }
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

    fn point(&self, subject: &str, quantity: Quantity) -> f64 {
        self.of(subject, quantity).estimate.point()
    }
}

fn is_prediction(record: &Record) -> bool {
    matches!(&record.kind, Kind::Predicted { by, .. } if by == word::SESSION_RUNG)
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs()
}

fn check(session: Session, figures: &Figures) {
    let subject = session.subject().unwrap();
    let name = subject.to_string();
    let part = |part: &str| {
        let subject = subject.with(word::PART, part).unwrap().to_string();
        let record = figures.of(&subject, word::CYCLES_PER_SESSION);
        assert!(is_prediction(record) && record.unit == Unit::Cycles, "{subject}");
        record.estimate.point()
    };
    let rsa_kx = session.protocol == Protocol::Tls12Rsa;
    for positive in [word::PART_RSA, word::PART_KEY_SCHEDULE, word::PART_RECORDS] {
        assert!(part(positive) > 0.0, "{name}: {positive}");
    }
    assert_eq!(part(word::PART_KEY_EXCHANGE) > 0.0, !rsa_kx, "{name}");
    assert_eq!(part(word::PART_MAC), 0.0, "{name}");

    let counted = [word::PART_RSA, word::PART_KEY_EXCHANGE, word::PART_KEY_SCHEDULE];
    let rest = [word::PART_RECORDS, word::PART_MAC, word::PART_LIBRARY, word::PART_SYSTEM];
    let sum: f64 = counted.into_iter().chain(rest).map(part).sum();
    let total = figures.of(&name, word::CYCLES_PER_SESSION);
    assert!(is_prediction(total) && close(total.estimate.point(), sum), "{name}");
    let below = |beginning: &str| {
        let subject = name.replacen("session", beginning, 1);
        figures.point(&subject, word::CYCLES_PER_SESSION)
    };
    let memory = below("session/primitive/in-memory");
    assert!(close(sum, memory + part(word::PART_SYSTEM)), "{name}");

    let messages = figures.0.iter().filter(|record| {
        record.quantity == word::CYCLES_PER_MESSAGE
            && record.subject.topic() == subject.topic()
            && record
                .subject
                .parameters()
                .filter(|(key, _)| *key != word::MESSAGE)
                .eq(subject.parameters())
    });
    let messages: Vec<&Record> = messages.collect();
    let handshake = below("session/primitive/handshake");
    let sum: f64 = messages.iter().map(|record| record.estimate.point()).sum();
    assert!(close(sum, handshake) && handshake < memory, "{name}: {sum}, not {handshake}");
    assert!(messages.iter().all(|record| is_prediction(record)), "{name}");
    assert_eq!(messages.len(), if rsa_kx || session.protocol == Protocol::Tls13 { 7 } else { 8 });
}

#[test]
fn every_session_has_all_parts_and_they_add_up() {
    let second = Duration::from_secs(1);
    let mut plan = SessionPlan::product(&[KEY], &Protocol::ALL, &ENGINES, &[14_336], second);
    let long = SessionPlan::product(&[KEY], &[Protocol::Tls13], &ENGINES, &[0, 143_360], second);
    plan.sessions.extend(long.sessions);
    let last = Cell::new(0.0);
    let records = measure(&plan, &context(), &|| false, &mut |done| last.set(done)).unwrap();
    assert_eq!(last.get(), 1.0);
    let figures = Figures(records);
    for &session in &plan.sessions {
        check(session, &figures);
    }

    // Lanes pay on some processors only; the figures of a session agree with that.
    for &session in &plan.sessions {
        let subject = session.subject().unwrap();
        let total = figures.of(&subject.to_string(), word::CYCLES_PER_SESSION);
        assert_eq!(total.conditions[word::CONNECTIONS], "16");
        let batch = total.conditions.get(word::BATCH);
        assert!(batch.is_none() || session.engine == Engine::Tollgate, "{subject}");
        let part = subject.with(word::PART, word::PART_RSA).unwrap().to_string();
        let Kind::Predicted { from, .. } = &figures.of(&part, word::CYCLES_PER_SESSION).kind else {
            unreachable!("checked above")
        };
        let of_primitive = batch.map(|batch| format!("batch={batch}&"));
        let is_in_batches = from[0].contains(of_primitive.as_deref().unwrap_or("?by="));
        assert!(is_in_batches && (batch.is_some() || !from[0].contains("batch=")), "{from:?}");
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
fn both_ends_of_every_handshake_have_parts_that_add_up() {
    let usual = Session::new(KeyKind::EcdsaP256, Protocol::Tls12X25519, Engine::OpenSsl, 1000);
    let session = |handshake| Session { handshake, requests: 3, ..usual };
    let sessions: Vec<Session> = Handshake::ALL.map(session).into();
    let total = Duration::from_secs(1);
    let plan = SessionPlan { both_ends: true, ..SessionPlan::new(sessions, total) };
    let figures = Figures(measure(&plan, &context(), &|| false, &mut |_| {}).unwrap());
    let all = [word::PART_SIGNATURE, word::PART_VERIFY, word::PART_KEY_EXCHANGE];
    let rest = [word::PART_KEY_SCHEDULE, word::PART_RECORDS, word::PART_MAC];
    let differences = [word::PART_LIBRARY, word::PART_SYSTEM];
    for session in plan.sessions {
        let subject = session.subject().unwrap();
        let client = subject.with(word::END, word::CLIENT).unwrap();
        for end in [subject, client.clone()] {
            if end == client && session.handshake.is_resumed() {
                assert!(figures.0.iter().all(|record| record.subject != end), "{end}");
                continue;
            }
            let part = |part: &str| {
                let subject = end.with(word::PART, part).unwrap().to_string();
                figures.point(&subject, word::CYCLES_PER_SESSION)
            };
            let parts = all.into_iter().chain(rest).chain(differences);
            let sum: f64 = parts.map(part).sum();
            let total = figures.of(&end.to_string(), word::CYCLES_PER_SESSION);
            assert!(is_prediction(total) && close(total.estimate.point(), sum), "{end}");
            let signs = end != client && !session.handshake.is_resumed();
            let signs = signs || session.handshake == Handshake::Mutual;
            assert_eq!(part(word::PART_SIGNATURE) > 0.0, signs, "{end}");
            let verifies = end == client || session.handshake == Handshake::Mutual;
            assert_eq!(part(word::PART_VERIFY) > 0.0, verifies, "{end}");
        }
    }
}

#[test]
fn a_session_with_a_kem_has_a_key_exchange_at_both_ends() {
    let group = Some(Group::X25519MlKem768);
    let session = |engine| Session { group, ..Session::new(KEY, Protocol::Tls13, engine, 0) };
    let plan = SessionPlan::new(ENGINES.map(session).into(), Duration::from_secs(1));
    let plan = SessionPlan { both_ends: true, ..plan };
    let records = match measure(&plan, &context(), &|| false, &mut |_| {}) {
        Err(Error::Plan(why)) => {
            println!("not run: {why}");
            return assert!(why.contains("before version 3.5"), "{why}");
        }
        records => Figures(records.unwrap()),
    };
    let point = |name: String| records.point(&name, word::CYCLES_PER_SESSION);
    for engine in ENGINES {
        let of = |rest: &str| {
            point(format!("session/rsa-2048/tls13?by={engine}&bytes=0&{rest}group=X25519MLKEM768"))
        };
        let (server, client) = (of(""), of("end=client&"));
        assert!(server > 0.0 && client > 0.0, "{engine}: {server}, {client}");
    }
}

#[test]
fn a_stock_servers_parts_add_up_to_its_calls() {
    let second = Duration::from_secs(1);
    let plan = SessionPlan::product(&[KEY], &[Protocol::Tls13], &ENGINES, &[14_336], second);
    let plan = SessionPlan { pauses: false, ..plan };
    let embedded = measure(&plan, &context(), &|| false, &mut |_| {}).unwrap();
    assert!(embedded.iter().all(|record| !record.conditions.contains_key(word::BATCH)));
    let stock = |server| {
        let follow: (&dyn Fn() -> bool, &mut dyn FnMut(f64)) = (&|| false, &mut |_| {});
        measure_stock(Some(server), &plan, &embedded, &context(), follow).unwrap()
    };
    assert_eq!(stock("a server whose calls are unknown"), []);
    let stock = Figures(stock("nginx"));
    let embedded = Figures(embedded);
    let cycles =
        |figures: &Figures, subject: &str| figures.point(subject, word::CYCLES_PER_SESSION);
    for engine in ENGINES {
        let of = |by: &str, rest: &str| format!("session/rsa-2048/tls13?by={by}&bytes=14336{rest}");
        let (nginx, engine) = (format!("nginx-{engine}"), engine.to_string());
        let part = |part: &str| cycles(&stock, &of(&nginx, &format!("&part={part}")));
        for shared in [word::PART_RSA, word::PART_KEY_EXCHANGE, word::PART_RECORDS] {
            let own = cycles(&embedded, &of(&engine, &format!("&part={shared}")));
            assert_eq!(part(shared), own, "{engine}: {shared}");
        }
        let names = [word::PART_RSA, word::PART_KEY_EXCHANGE, word::PART_KEY_SCHEDULE];
        let rest = [word::PART_RECORDS, word::PART_MAC, word::PART_LIBRARY, word::PART_SYSTEM];
        let sum: f64 = names.into_iter().chain(rest).map(part).sum();
        assert!(close(sum, cycles(&stock, &of(&nginx, ""))), "{engine}: {sum}");
        let libssl = of(&nginx, "").replacen("session", "session/primitive/libssl", 1);
        let system = part(word::PART_SYSTEM);
        assert!(close(sum, cycles(&stock, &libssl) + system) && system > 0.0, "{engine}");
    }
    assert!(stock.0.iter().all(|record| !record.conditions[word::ASSUMPTION].is_empty()));
}

#[test]
fn a_stock_server_signs_with_a_key_on_a_curve() {
    let session = Session::new(KeyKind::EcdsaP256, Protocol::Tls13, Engine::OpenSsl, 0);
    let plan = SessionPlan::new(vec![session], Duration::from_secs(1));
    let plan = SessionPlan { pauses: false, ..plan };
    let embedded = measure(&plan, &context(), &|| false, &mut |_| {}).unwrap();
    let own = |server| {
        let follow: (&dyn Fn() -> bool, &mut dyn FnMut(f64)) = (&|| false, &mut |_| {});
        Figures(measure_stock(server, &plan, &embedded, &context(), follow).unwrap())
    };
    let part = "session/ecdsa-p256/tls13?by=nginx-openssl&bytes=0&part=signature";
    assert!(own(Some("nginx")).point(part, word::CYCLES_PER_SESSION) > 0.0);
    let total = "session/ecdsa-p256/tls13?by=openssl&bytes=0";
    assert!(own(None).point(total, word::CYCLES_PER_SESSION) > 0.0);
}

#[test]
fn the_caller_can_stop() {
    let plan =
        SessionPlan::product(&[KEY], &[Protocol::Tls13], &ENGINES, &[0], Duration::from_secs(60));
    let stopped = measure(&plan, &context(), &|| true, &mut |_| {});
    assert!(matches!(stopped, Err(Error::Measurement(tollgate_bench::Error::Stopped))));
    let nothing = SessionPlan { sessions: Vec::new(), ..plan };
    assert!(matches!(measure(&nothing, &context(), &|| false, &mut |_| {}), Err(Error::Plan(_))));
}
