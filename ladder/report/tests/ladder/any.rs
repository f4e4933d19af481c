//! For any records, tables are not wider than a terminal, and the report is well formed.

use proptest::prelude::*;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Machine, Record, Unit};
use tollgate_report::{WIDTH, html};

use crate::{all_tables, markup, synthetic};

/// Returns values of parameters, and of conditions that contain numbers.
fn value() -> impl Strategy<Value = String> {
    let odd = ["0", "-1", "1e308", "NaN", "inf", "99999999999999999999", "0.999999", "10", "full"];
    prop_oneof![prop::sample::select(odd.map(str::to_owned).to_vec()), "[A-Za-z0-9_.+:-]{1,60}"]
}

/// Returns subjects in the usual spelling, and unusual ones.
fn subject() -> impl Strategy<Value = String> {
    let path = prop_oneof![
        "operation/(rsa-(512|2048|99999999999)|ecdsa-p256|[a-z]{1,90})/(sign|verify|private)",
        "kernel/[a-z0-9_]{1,60}",
        "[a-z]{1,9}(/[a-z]{1,60}){0,3}",
    ];
    let value = "[A-Za-z0-9_.+:-]{1,40}";
    let parameters = prop::collection::btree_map(
        prop::sample::select(vec![
            word::AGAINST,
            word::BATCH,
            word::BITS,
            word::BY,
            word::CLOCK_MHZ,
            word::EXPONENT,
            word::K,
        ]),
        prop_oneof![value, "[0-9]{1,10}", Just("full".to_owned()), Just("tollgate".to_owned())],
        0..4,
    );
    (path, parameters).prop_map(|(path, parameters)| {
        let pairs: Vec<String> = parameters.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let mark = if pairs.is_empty() { "" } else { "?" };
        format!("{path}{mark}{}", pairs.join("&"))
    })
}

prop_compose! {
    /// Returns a synthetic record with some unusual fields.
    fn any_record()(
        record in prop::sample::select(synthetic::all()),
        point in prop_oneof![
            2 => Just(None),
            1 => any::<f64>().prop_filter("finite", |x| x.is_finite()).prop_map(Some),
            1 => Just(Some(0.0)),
            1 => prop::sample::select(vec![f64::MAX, f64::MIN, f64::MIN_POSITIVE]).prop_map(Some),
        ],
        subject in prop_oneof![
            4 => Just(None),
            2 => subject().prop_map(Some),
        ],
        parameter in prop::option::of((any::<prop::sample::Index>(), value())),
        kind in prop_oneof![
            3 => Just(None),
            1 => Just(Some(Kind::Measured)),
            1 => Just(Some(Kind::Predicted { by: "0-model".into(), from: vec![] })),
            1 => any::<String>().prop_map(|source| Some(Kind::Published { source })),
        ],
        unit in prop_oneof![
            6 => Just(None),
            1 => Just(Some(Unit::Count)),
            1 => Just(Some(Unit::Ratio)),
        ],
        words in prop::option::of((any::<String>(), any::<String>(), value())),
    ) -> Record {
        let mut record = record;
        if let Some(point) = point {
            record.estimate = Estimate::exact(point).unwrap();
        }
        if let Some(subject) = subject {
            record.subject = subject.parse().unwrap();
        }
        if let Some((place, value)) = parameter {
            let keys: Vec<String> = record.subject.parameters().map(|p| p.0.to_owned()).collect();
            if !keys.is_empty() {
                record.subject = record.subject.with(place.get::<String>(&keys), value).unwrap();
            }
        }
        record.kind = kind.unwrap_or(record.kind);
        record.unit = unit.unwrap_or(record.unit);
        if let Some((cpu, text, number)) = words {
            record.machine = Machine::unknown(&cpu);
            record.versions.insert(text.clone() + &"x".repeat(300), cpu);
            record.doubts.push(text.clone());
            for key in [word::KERNEL, word::LIMIT, word::ASSUMPTION, word::MODEL] {
                record.conditions.insert(key.into(), text.clone());
            }
            for key in [word::SERVICE_NS, word::UTILISATION] {
                record.conditions.insert(key.into(), number.clone());
            }
        }
        record
    }
}

proptest! {
    #[test]
    fn tables_fit_and_the_report_is_well_formed(
        records in prop::collection::vec(any_record(), 0..60),
    ) {
        let tables = all_tables(&records);
        for line in tables.iter().flat_map(|table| table.lines()) {
            prop_assert!(line.chars().count() <= WIDTH, "{line:?}");
            let is_latin = |c: char| c <= '\u{24f}' && c.is_alphabetic();
            let plain = |c: char| c == ' ' || c.is_ascii_graphic() || is_latin(c);
            prop_assert!(line.chars().all(plain), "{line:?}");
        }
        let page = html::report(&records);
        if let Err(why) = markup::check(&page) {
            prop_assert!(false, "{why}");
        }
        for text in ["NaN%", "inf%", " x=\"-", " width=\"-"] {
            prop_assert!(!page.contains(text), "{text}");
        }
    }
}
