//! `tollgate bench proxy`, with the installed HAProxy and nginx.

use tollgate_record::vocabulary as word;

use crate::program::{has_result, recorded, text};

#[test]
fn every_proxy_has_a_row_for_each_load() {
    let (output, records) = recorded("bench proxy --rounds 1 --seconds 0.5", &[]);
    if !has_result(&output) {
        return;
    }
    let said = text(&output);
    // runs whose log disagrees with the client are invalid, and then there is no row
    for row in ["HAProxy, async", "tollgate serve ", "HAProxy as installed", "nginx as installed"] {
        assert_eq!(said.lines().filter(|line| line.starts_with(row)).count(), 2, "{row}: {said}");
    }
    let of_ours = records.iter().filter(|record| {
        record.quantity == word::SERVER_CPU_NS_PER_SESSION
            && record.subject.parameter(word::BY) == Some("tollgate-proxy")
    });
    assert_eq!(of_ours.count(), 2, "{said}");
}
