//! `tollgate bench response`: predictions and measurements of response times.

use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Record};

use crate::bench::SHORT;
use crate::program::{recorded, text};

/// Each predicted figure has a measured one of the same subject, which came later.
#[test]
fn response_times_are_predicted_and_then_measured() {
    let words = SHORT.replace("bench", "bench response");
    let flags = "--protocol tls13 --key-type rsa-2048 --rounds 2 --loads 20%,40% --same-rates";
    let flags: Vec<&str> = flags.split(' ').collect();
    let (output, records) = recorded(&words, &flags);
    let stdout = text(&output);
    if stdout.contains("INVALID") {
        return; // this machine is unsteady
    }
    assert!(stdout.contains("rsa-2048 tls13, openssl: capacity"), "{stdout}");
    assert!(stdout.contains("p99 of openssl is"), "{stdout}");
    let at = |load| move |record: &&Record| record.subject.parameter("load") == Some(load);
    for load in ["0.2", "0.4"] {
        let of = |record: &&Record| record.quantity == word::SERVER_CPU_NS_PER_SESSION;
        let records: Vec<&Record> = records.iter().filter(of).filter(at(load)).collect();
        let (predicted, measured): (Vec<&Record>, Vec<&Record>) =
            records.into_iter().partition(|record| matches!(record.kind, Kind::Predicted { .. }));
        assert_eq!((predicted.len(), measured.len()), (2, 2), "{load}: {stdout}");
        for (predicted, measured) in predicted.iter().zip(measured) {
            assert_eq!(predicted.subject, measured.subject);
            assert!(predicted.taken_at <= measured.taken_at);
            let Kind::Predicted { from, .. } = &predicted.kind else { unreachable!() };
            assert_eq!(from.len(), 2, "the closed loop and the idle run: {from:?}");
        }
    }
}
