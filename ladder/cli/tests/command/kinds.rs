//! `tollgate bench --server` with several kinds of servers.

use tollgate_record::Record;
use tollgate_record::vocabulary as word;

use crate::bench::{agreed, bench_recorded, is_missing};
use crate::program::{line, refused, text};

#[test]
fn servers_of_several_kinds_take_turns_and_their_logs_agree() {
    let flags = "--server haproxy,nginx,lighttpd,openssl --async --rounds 2 --key-type rsa-2048 \
                 --bytes 100";
    let (output, records) = bench_recorded(flags, &[]);
    if is_missing(&output) {
        return;
    }
    let stdout = text(&output);
    assert!(stdout.contains("server: haproxy as installed"), "{stdout}");
    let names = [
        "haproxy-openssl",
        "haproxy-async-tollgate",
        "nginx-openssl",
        "nginx-tollgate",
        "lighttpd-openssl",
        "lighttpd-tollgate",
        "openssl",
        "tollgate",
    ];
    names.iter().for_each(|name| _ = agreed(&stdout, name));
    if output.status.code() == Some(1) {
        return println!("nothing of this run is valid here:\n{stdout}");
    }
    let is_ratio = |record: &&Record| record.quantity == word::SERVER_CPU_RATIO;
    let pairs: Vec<_> = records.iter().filter(is_ratio).collect();
    assert_eq!(pairs.len(), 8 * 7 / 2, "{stdout}");
    // each ratio is the quotient of the records of its servers, but for the medians
    let cpu = |by: &str| {
        let is_it = |record: &&Record| {
            record.quantity == word::SERVER_CPU_NS_PER_SESSION
                && record.subject.parameter("by") == Some(by)
        };
        records.iter().find(is_it).expect("each server has a CPU time").estimate.point()
    };
    for pair in pairs {
        let name = |parameter| pair.subject.parameter(parameter).unwrap();
        let expected = cpu(name("by")) / cpu(name("against"));
        let ratio = pair.estimate.point() / expected;
        assert!((0.5..2.0).contains(&ratio), "{}: {ratio}", pair.subject);
    }
    let sentences = stdout.replace("\n  ", " ");
    let pairs = sentences.matches(" times the sessions per second of ").count();
    assert_eq!(pairs, 8 * 7 / 2, "{stdout}");
}

#[test]
fn lists_of_servers_that_make_no_sense_are_refused() {
    for (flags, why) in [
        ("bench --server nginx,nginx", "--server: nginx is given twice"),
        ("bench --server nginx,gnutls --engine tollgate", "each server needs an engine"),
        ("bench --server nginx,openssl --rounds 3", "--rounds: give an even number"),
        ("bench --server nginx,openssl --async", "--server haproxy too"),
        ("bench response --server nginx,openssl", "servers of one kind"),
    ] {
        refused(&line(flags, &[]), why);
    }
}
