//! `tollgate bench sessions`, with the installed Redis and Apache.

use tollgate_record::vocabulary as word;

use crate::program::{has_result, recorded, text};

/// Each run takes a second: fourteen of them, and the starts of as many servers.
#[test]
fn every_place_has_a_row_with_one_and_with_two_processes() {
    if std::env::var_os("TOLLGATE_TEST_LONG").is_none() {
        return println!("not tested: half a minute of runs; set TOLLGATE_TEST_LONG");
    }
    let (output, records) = recorded("bench sessions --rounds 1 --seconds 0.5", &[]);
    if !has_result(&output) {
        return;
    }
    let said = text(&output);
    let share = |row: &str| -> Vec<f64> {
        let rows = said.lines().filter(|line| line.starts_with(row));
        let shares = rows.filter_map(|line| line.split(" %").next()?.split(' ').next_back());
        shares.map(|share| share.parse().unwrap()).collect()
    };
    for row in ["tollgate serve: none", "Apache: none"] {
        assert_eq!(share(row), [0.0, 0.0], "{said}");
    }
    assert!(share("tollgate serve: tickets").iter().all(|share| *share > 90.0), "{said}");
    let [alone, beside] = share("tollgate serve: memory")[..] else { panic!("{said}") };
    assert!(alone > 90.0 && (20.0..80.0).contains(&beside), "{said}");
    let [_, shared] = share("tollgate serve: Redis")[..] else { panic!("{said}") };
    assert!(shared > beside, "{said}");
    for row in ["Apache: shared memory", "Apache: dbm on disk"] {
        assert_eq!(share(row).len(), 2, "{said}");
    }
    let of_redis = records.iter().filter(|record| {
        record.quantity == word::SERVER_CPU_NS_PER_SESSION
            && record.subject.parameter(word::BY) == Some("tollgate-sessions-redis-2")
    });
    assert_eq!(of_redis.count(), 1, "{said}");
}
