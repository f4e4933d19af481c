//! `tollgate bench --client`: several clients load the same servers, and the log confirms each.

use tollgate_record::Record;

use crate::bench::{SHORT, by_client};
use crate::program::{figure, records, scratch, text, tollgate};

const CLIENTS: [&str; 4] = ["minimal", "rustls", "curl", "s_time"];

#[test]
fn four_clients_load_the_same_servers_and_the_log_confirms_each() {
    let file = scratch("clients.jsonl");
    // load goes directly to its target, even if the user has set a proxy
    let output = tollgate()
        .args(SHORT.split(' '))
        .args(["--client", "minimal,rustls,curl,s_time", "--protocol", "tls13", "--rounds", "2"])
        .args(["--json", file.name()])
        .env("https_proxy", "http://127.0.0.1:9")
        .output()
        .unwrap();
    let stdout = text(&output);
    for client in CLIENTS {
        let told = by_client(&stdout, client);
        assert_eq!(told.len(), 2, "{client} against both engines\n{stdout}");
        for counts in told {
            let [runs, sessions, failures, handshakes, resumed, responses] = counts[..] else {
                panic!("{counts:?} of {client} in\n{stdout}")
            };
            assert!(runs == 2 && sessions > 0, "{stdout}");
            assert_eq!((failures, resumed), (0, 0), "{client}\n{stdout}");
            assert_eq!((handshakes, responses), (sessions, sessions), "{client}\n{stdout}");
        }
    }
    let records = records(&file);
    if output.status.code() == Some(1) {
        return println!("a run of minimal is not valid here:\n{stdout}");
    }
    let costs = |client: &str| {
        let subject = format!("server/rsa-2048/tls13?by=openssl&bytes=14336&client={client}");
        figure(&records, &subject, "server_cpu_ns_per_session").estimate.point()
    };
    assert!(CLIENTS.iter().all(|client| costs(client) > 0.0));
    let against = |client, quantity: &str| {
        let is = |r: &&Record| {
            r.subject.parameter("against") == Some(client) && r.quantity.as_str() == quantity
        };
        records.iter().filter(is).count()
    };
    assert_eq!(against("rustls", "server_cpu_per_session_ratio"), 6, "three and two engines");
    assert_eq!(against("minimal", "client_cpu_per_session_ratio"), 6, "three and two engines");
}
