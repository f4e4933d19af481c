//! `tollgate bench share`, with the installed nginx.

use std::fs;

use tollgate_record::vocabulary as word;

use crate::program::{has_result, recorded, scratch, text};

/// 54 runs of about a second.
#[test]
fn each_share_of_tls_is_predicted_measured_and_drawn() {
    if std::env::var_os("TOLLGATE_TEST_LONG").is_none() {
        return println!("not tested: a minute of runs; set TOLLGATE_TEST_LONG");
    }
    let picture = scratch("share.svg");
    let flags = "bench share --rounds 1 --seconds 0.2 --svg";
    let (output, records) = recorded(flags, &[picture.to_str().unwrap()]);
    if !has_result(&output) {
        return;
    }
    let said = text(&output);
    for load in ["1 KB, a request", "14 KB, 10 requests", "140 KB, 10 requests"] {
        assert!(said.contains(load), "{load} in\n{said}");
    }
    assert!(fs::read_to_string(&picture).unwrap().starts_with("<svg"));
    // of each load: three shares with both servers, and HTTP alone
    let has_plain = records.iter().filter(|record| {
        record.quantity == word::SESSIONS_PER_S && record.subject.parameter("plain_share").is_some()
    });
    assert_eq!(has_plain.count(), 6 * 7, "{said}");
    assert_eq!(said.matches("TLS alone costs").count(), 6, "{said}");
}
