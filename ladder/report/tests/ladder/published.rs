//! Tests of the published figures, and of relations between them.

use tollgate_record::{Kind, Timestamp, jsonl};
use tollgate_report::published::{
    ETI10_RSA_1024, ETI10_SESSION, ETI10_SESSION_CYCLES, HP01_TABLE, of, records,
};

#[test]
fn the_parts_of_a_session_are_its_total() {
    let sum: f64 = ETI10_SESSION.iter().map(|(_, cycles)| cycles).sum();
    assert!((sum - ETI10_SESSION_CYCLES).abs() < 1.0, "{sum}");
}

/// At 3 GHz, the RSA part of 2.17 million cycles allows 1382 operations per second. All rates of
/// the paper for a core at that clock are higher. So the RSA part is more than one of these
/// operations.
#[test]
fn the_rsa_part_is_more_than_an_operation() {
    let (_, cycles) = ETI10_SESSION[0];
    let rate = 3e9 / cycles;
    assert_eq!(rate.round(), 1382.0);
    assert!(ETI10_RSA_1024[..3].iter().all(|(_, _, operations)| *operations > rate));
}

/// The paper's text says that a transfer of 2 KB is "+25 %" faster than one of 14 KB.
#[test]
fn a_short_transfer_is_faster_by_what_the_paper_says() {
    let [long, short] = [HP01_TABLE[0], HP01_TABLE[1]];
    assert_eq!((long.by, long.bytes, short.bytes), (short.by, 14_336, 2048));
    let gain = short.sessions_per_s / long.sessions_per_s - 1.0;
    assert!((0.23..0.26).contains(&gain), "{gain}");
}

#[test]
fn every_figure_is_published_has_its_own_name_and_can_be_written() {
    let records = records(Timestamp::UNIX_EPOCH);
    assert_eq!(records.len(), ETI10_RSA_1024.len() + ETI10_SESSION.len() + 1 + HP01_TABLE.len());
    let mut file = Vec::new();
    let mut writer = jsonl::Writer::new(&mut file);
    let mut names = Vec::new();
    for record in &records {
        let Kind::Published { source } = &record.kind else { panic!("{}", record.subject) };
        assert!(source.contains("SIGCOMM 2010") || source.contains("Hewlett-Packard"));
        assert!(record.subject.parameter("by").is_some());
        names.push(format!("{} {}", record.subject, record.quantity));
        writer.write(record).unwrap();
    }
    assert_eq!(jsonl::read_all(file.as_slice()).unwrap(), records);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), records.len());
}

#[test]
fn a_papers_figures_are_found_by_its_key() {
    let of = |paper| of(paper, Timestamp::UNIX_EPOCH).len();
    assert_eq!(of("hp01"), HP01_TABLE.len());
    assert_eq!(of("hp01") + of("eti10"), records(Timestamp::UNIX_EPOCH).len());
    assert_eq!((of("hp0"), of("")), (0, 0));
}

#[test]
fn subjects_are_spelled_as_ours_are() {
    let records = records(Timestamp::UNIX_EPOCH);
    for (subject, quantity, point) in [
        ("operation/rsa-1024/private?by=eti10", "operations_per_s", 2143.0),
        ("operation/rsa-1024/private?by=eti10-openssl-1.0", "operations_per_s", 1893.0),
        (
            "session/rsa-1024/tls-rsa?by=eti10-before&bytes=140000&part=rsa",
            "cycles_per_session",
            2.17e6,
        ),
        ("session/rsa-1024/tls-rsa?by=eti10-before&bytes=140000", "cycles_per_session", 6.38e6),
        ("server/rsa-1024/ssl3-rsa?by=hp01-itanium-800&bytes=14336", "sessions_per_s", 315.0),
        ("server/rsa-1024/ssl3-rsa?by=hp01-sa7120&bytes=14336", "sessions_per_s", 270.0),
    ] {
        let subject = subject.parse().unwrap();
        let found = records.iter().find(|r| r.subject == subject).unwrap();
        assert_eq!((found.quantity.as_str(), found.estimate.point()), (quantity, point));
    }
}
