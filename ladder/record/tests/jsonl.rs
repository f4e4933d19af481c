//! Records on disk: written records are read unchanged, and other lines are refused.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use tollgate_record::{Estimate, Kind, Machine, Record, Timestamp, Unit, jsonl};

fn unit() -> impl Strategy<Value = Unit> {
    use Unit::{Bytes, Count, Cycles, Nanos, PerCycle, PerSecond, Ratio};
    prop::sample::select(vec![Cycles, Nanos, PerSecond, PerCycle, Bytes, Count, Ratio])
}

/// Returns any three finite numbers in ascending order, including subnormals, zeros of both signs
/// and the largest.
fn estimate() -> impl Strategy<Value = Estimate> {
    let finite = any::<f64>().prop_filter("finite", |x| x.is_finite());
    ([finite.clone(), finite.clone(), finite], 1..=u64::MAX).prop_map(|(mut x, samples)| {
        x.sort_by(f64::total_cmp);
        Estimate::new(x[1], (x[0], x[2]), samples).unwrap()
    })
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Measured),
        (any::<String>(), vec(any::<String>(), 0..4))
            .prop_map(|(by, from)| Kind::Predicted { by, from }),
        any::<String>().prop_map(|source| Kind::Published { source }),
    ]
}

fn words() -> impl Strategy<Value = BTreeSet<String>> {
    btree_set("[a-z]{1,6}", 0..4)
}

fn notes() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map(any::<String>(), any::<String>(), 0..4)
}

fn machine() -> impl Strategy<Value = Machine> {
    let rest = (
        option::of(any::<u32>()),
        option::of(any::<String>()),
        option::of(any::<bool>()),
        option::of(estimate()),
    );
    (any::<String>(), words(), words(), rest).prop_map(
        |(cpu, features, vetoed, (logical_cores, kernel, virtualised, core_clock_hz))| Machine {
            cpu,
            features,
            vetoed,
            logical_cores,
            kernel,
            virtualised,
            core_clock_hz,
        },
    )
}

fn taken_at() -> impl Strategy<Value = Timestamp> {
    let (first, last) = (Timestamp::MIN.as_nanosecond(), Timestamp::MAX.as_nanosecond());
    (first..=last).prop_map(|ns| Timestamp::from_nanosecond(ns).unwrap())
}

prop_compose! {
    fn record()(
        subject in "[a-z0-9_.-]{1,8}(/[a-z0-9_.-]{1,8}){0,3}\
                    (\\?K=[A-Za-z0-9_.+:-]{1,5}(&by=[a-z]{1,8})?)?",
        quantity in "[a-z][a-z0-9_]{0,20}",
        unit in unit(),
        estimate in estimate(),
        kind in kind(),
        machine in machine(),
        versions in notes(),
        commit in option::of("[0-9a-f]{40}"),
        conditions in notes(),
        doubts in vec(any::<String>(), 0..3),
        taken_at in taken_at(),
    ) -> Record {
        Record {
            subject: subject.parse().unwrap(),
            quantity: quantity.parse().unwrap(),
            unit, estimate, kind, machine, versions, commit, conditions, doubts,
            taken_at,
        }
    }
}

fn write(records: &[Record]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = jsonl::Writer::new(&mut file);
    for record in records {
        writer.write(record).unwrap();
    }
    writer.flush().unwrap();
    file
}

proptest! {
    #[test]
    fn written_records_are_read_unchanged(records in vec(record(), 0..5)) {
        let file = write(&records);
        prop_assert_eq!(file.iter().filter(|byte| **byte == b'\n').count(), records.len());
        prop_assert_eq!(jsonl::read_all(file.as_slice()).unwrap(), records);
    }

    /// No bytes make the reader panic, and a record that it accepts can be written and read again.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..2000)) {
        if let Ok(records) = jsonl::read_all(bytes.as_slice()) {
            prop_assert_eq!(jsonl::read_all(write(&records).as_slice()).unwrap(), records);
        }
    }

    /// The same test with nearly valid lines: one byte changed, or the line truncated.
    #[test]
    fn damaged_lines_are_read_or_refused(
        record in record(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut file = write(&[record]);
        let place = place.index(file.len());
        if cut { file.truncate(place) } else { file[place] = byte }
        if let Ok(records) = jsonl::read_all(file.as_slice()) {
            prop_assert_eq!(jsonl::read_all(write(&records).as_slice()).unwrap(), records);
        }
    }
}

/// A valid line.
const GOOD: &str = concat!(
    r#"{"schema":2,"subject":"kernel/amm52_mb8_ifma?K=20","quantity":"cycles_per_call","#,
    r#""unit":"cycles","estimate":{"point":803.0,"interval":[801.5,806.0],"samples":51},"#,
    r#""kind":{"predicted":{"by":"0-model","from":["machines/zen5.toml"]}},"#,
    r#""machine":{"cpu":"AMD EPYC","features":["adx","ifma"],"vetoed":[],"logical_cores":2,"#,
    r#""kernel":"6.1.0","virtualised":true,"core_clock_hz":null},"versions":{"rustc":"1.95.0"},"#,
    r#""commit":null,"conditions":{},"taken_at":"2025-11-20T18:37:00Z"}"#,
);

fn refusal(file: &str) -> String {
    jsonl::read_all(file.as_bytes()).unwrap_err().to_string()
}

#[test]
fn the_spelling_on_disk_is_fixed() {
    let records = jsonl::read_all(GOOD.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(write(&records)).unwrap(), format!("{GOOD}\n"));
}

/// In schema 1, doubts were one condition.
#[test]
fn doubts_are_a_list_in_both_schemas() {
    let with = |schema: &str, conditions: &str, doubts: &str| {
        let line = GOOD.replace(r#""schema":2"#, schema).replace(r#""conditions":{}"#, conditions);
        line.replace(r#","taken_at""#, &format!(r#"{doubts},"taken_at""#))
    };
    let old = with(r#""schema":1"#, r#""conditions":{"a":"b","doubts":"it scatters | few"}"#, "");
    let new =
        with(r#""schema":2"#, r#""conditions":{"a":"b"}"#, r#","doubts":["it scatters","few"]"#);
    let records = jsonl::read_all(old.as_bytes()).unwrap();
    assert_eq!(records[0].doubts, ["it scatters", "few"]);
    assert_eq!(String::from_utf8(write(&records)).unwrap(), format!("{new}\n"));
    assert_eq!(jsonl::read_all(new.as_bytes()).unwrap(), records);
}

#[test]
fn a_newer_schema_is_refused_with_its_line() {
    // The reader ignores the other fields of a newer line.
    let newer = r#"{"schema":7,"figures":[1,2]}"#;
    assert_eq!(
        refusal(&format!("{GOOD}\n\n{newer}\n{GOOD}\n")),
        "line 3: schema 7 is newer than this program knows (2): update tollgate"
    );
    assert!(refusal(r#"{"schema":0}"#).starts_with("line 1: schema 0 never existed"));
    assert!(refusal(r#"{"subject":"a"}"#).starts_with("line 1: no \"schema\" in it"));
}

#[test]
fn unknown_fields_are_refused_wherever_they_stand() {
    for (place, spoiled) in [
        (r#""schema":2,"#, r#""schema":2,"mood":"good","#),
        (r#""samples":51"#, r#""samples":51,"mood":"good""#),
        (r#""by":"0-model","#, r#""by":"0-model","mood":"good","#),
        (r#""vetoed":[],"#, r#""vetoed":[],"mood":"good","#),
    ] {
        let message = refusal(&GOOD.replace(place, spoiled));
        assert!(message.contains("unknown field `mood`"), "{message}");
        assert!(message.starts_with("line 1: column "), "{message}");
    }
}

#[test]
fn invalid_values_are_refused() {
    for (place, spoiled, why) in [
        ("803.0", "NaN", "expected value"),
        ("803.0", "null", "invalid type: null"),
        ("803.0", "1e999", "number out of range"),
        ("803.0", "900.0", "outside its interval"),
        (r#""samples":51"#, r#""samples":0"#, "at least one sample"),
        (r#""samples":51"#, r#""samples":-1"#, "invalid value"),
        ("amm52_mb8_ifma", "amm52 mb8", "a path is segments"),
        ("cycles_per_call", "Cycles", "a quantity is"),
        (r#""unit":"cycles""#, r#""unit":"parsecs""#, "unknown variant `parsecs`"),
        ("2025-11-20T18:37:00Z", "yesterday", "failed to parse"),
        (r#""commit":null,"#, r#""commit":null,"commit":"a","#, "duplicate field"),
        (r#""taken_at""#, r#""taken""#, "unknown field"),
        (r#","taken_at":"2025-11-20T18:37:00Z""#, "", "missing field `taken_at`"),
    ] {
        assert!(GOOD.contains(place));
        let message = refusal(&GOOD.replacen(place, spoiled, 1));
        assert!(message.contains(why), "{spoiled}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn a_message_is_one_line_without_control_characters() {
    let message = refusal("{\"schema\":1,\"a\\nb\\u001b[2J\":1}\n");
    assert!(!message.chars().any(char::is_control), "{message:?}");
    assert!(message.contains("a\\nb\\u{1b}[2J"), "{message}");
}

#[test]
fn long_lines_are_bounded_both_ways() {
    let endless = std::io::BufReader::new(std::io::repeat(b' '));
    let message = jsonl::read_all(endless).unwrap_err().to_string();
    assert!(message.starts_with("line 1: longer than 65536 bytes"), "{message}");

    let mut record = jsonl::read_all(GOOD.as_bytes()).unwrap().remove(0);
    // The longest record that fits, then a record that is one byte longer.
    let room = jsonl::LINE_MAX_BYTES - GOOD.len() + "AMD EPYC".len();
    record.machine.cpu = "x".repeat(room);
    let file = write(&[record.clone()]);
    assert_eq!(file.len(), jsonl::LINE_MAX_BYTES + 1);
    assert_eq!(jsonl::read_all(file.as_slice()).unwrap(), [record.clone()]);
    record.machine.cpu.push('x');
    let mut none = Vec::new();
    assert!(jsonl::Writer::new(&mut none).write(&record).is_err());
    assert!(none.is_empty());
}
