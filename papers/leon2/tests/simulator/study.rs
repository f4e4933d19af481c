//! The tables of the study, and its figures beside the published ones.

use tollgate_leon2::study::{computed, records, study};
use tollgate_published::Value;
use tollgate_record::{Kind, Timestamp};

#[test]
fn the_study_prints_the_cycles_of_every_routine() {
    let text = study().unwrap();
    // Results that were compared with the VHDL: V8 rolled and unrolled by 8, and the extension
    // fully unrolled.
    for part in ["21,740", "17,754", "7,120", "1.89x", "1.86x", "1.64x"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(text.contains("extended 1, unrolled by 4, 5 bits: 12.38M"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn the_figure_beside_the_paper_is_executed() {
    let [plain, extended] = records(Timestamp::UNIX_EPOCH).unwrap();
    let millions =
        |record: &tollgate_record::Record| (record.estimate.point() / 1e5).round() / 10.0;
    assert_eq!((millions(&plain), millions(&extended)), (22.3, 12.4));
    assert!(matches!(extended.kind, Kind::Predicted { .. }));
    let number = Value::Number(extended.estimate.point());
    assert_eq!(computed("exponentiation/extended"), Some(number));
    // Four more than Spike's count, which has other ends.
    assert_eq!(computed("rv64/base"), Some(Value::Number(5250.0)));
    assert_eq!(computed("rv64/extended"), Some(Value::Number(3202.0)));
    assert_eq!(computed("rv64"), None);
}
