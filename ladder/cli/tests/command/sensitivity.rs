//! `tollgate bench sensitivity`, with the installed nginx.

use tollgate_record::vocabulary as word;

use crate::program::{has_result, recorded, text};

/// Each run takes a second: ten of them.
#[test]
fn every_change_has_a_row_and_another_key_shows_an_effect() {
    let (output, records) = recorded("bench sensitivity --rounds 1 --seconds 0.5", &[]);
    if !has_result(&output) {
        return;
    }
    let said = text(&output);
    let row = |change: &str| {
        said.lines().find(|line| line.starts_with(change)).unwrap_or_else(|| panic!("{said}"))
    };
    for change in ["memory: none for", "disk: none", "link: segments", "log: each", "log: also"] {
        assert!(row(change).contains(['[', '%']), "{said}");
    }
    // of one round the interval is a point, so every change shows an effect
    assert!(row("control: RSA-3072").ends_with("more"), "{said}");
    let ratios = records.iter().filter(|record| {
        record.quantity == word::SERVER_CPU_RATIO
            && record.subject.parameter(word::AGAINST) == Some("nginx-sensitivity-baseline")
    });
    assert_eq!(ratios.count(), 9, "{said}");
}
