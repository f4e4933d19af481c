//! Tests that wrong options are refused in one line, which names the option and the help of its
//! verb.

use super::Options;

#[track_caller]
fn assert_refused(words: &[&str], why: &str) {
    let message = Options::new(words).unwrap_err().to_string();
    assert!(message.contains(why), "{words:?}: {message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn wrong_options_are_refused_with_their_names_and_the_help_of_their_verb() {
    for (line, why) in [
        ("bench --rate 0", "--rate"),
        ("bench --rate 1 --arrivals gamma", "gamma:5"),
        ("bench --rate 1 --arrivals normal", "poisson"),
        ("bench --requests-per-connection 0.5", "--requests-per-connection"),
        ("bench --rate 1 --think 1ms", "--think"),
        ("bench --think 10", "random:10ms"),
        ("bench --patience 0s", "--patience"),
        ("bench --retries 1", "--patience"),
        ("bench --http-share 2", "--http-share"),
        ("bench search --slo p99", "--slo"),
        ("bench search", "--slo"),
        ("bench search --slo p99=1ms --rate 5", "--rate"),
        ("bench response --rate 5", "--rate"),
        ("bench response --loads 0%", "1% to 99%"),
        ("bench response --loads 1.5", "1% to 99%"),
        ("bench response --resume 10%", "--resume"),
        ("bench response https://localhost/", "localhost"),
        ("bench --arrivals constant", "--rate"),
        ("bench --resume 101%", "--resume"),
        ("bench --resume 80% --resume-by cookie", "session-id, ticket"),
        ("bench --key-type ecdsa-p384", "both engines"),
        ("bench --key-type rsa-512", "rsa-2048"),
        ("bench --workload hp2001 --bytes 1", "--bytes"),
        ("bench --workload hp2001 --rate 1", "--rate"),
        ("bench --workload hp2001 --resume 1%", "--resume"),
        ("bench --protocol tls11", "tls12-rsa"),
        ("bench --close never", "--close"),
        ("bench --verify 0", "one in N"),
        ("bench --drift-max 2", "0 to 1"),
        ("bench --rounds 0", "1..=1000"),
        ("bench --log x", "<URL>"),
        ("bench --bytes 1 --handshake-only", "--handshake-only"),
        ("bench -n 0", "1..=1000000000"),
        ("bench localhost", "https://HOST"),
        ("bench https://localhost/ --bytes 1", "--bytes"),
        ("bench https://localhost/ --key-type rsa-2048", "--key-type"),
        ("bench https://localhost/ --log-format nginx", "--log"),
        ("bench https://h/ --log x --log-format iis", "haproxy"),
        ("bench https://[fe80::1%lo]/", "no IPv6 address"),
        ("bench --i-may-test h", "<URL>"),
        ("bench --method POST", "<URL>"),
        ("bench https://h/ --method HEAD", "no body"),
        ("bench https://h/ -H Accept", "NAME: VALUE"),
        ("bench https://h/ -d x --handshake-only", "--handshake-only"),
        ("bench --server iis", "nginx"),
        ("bench --engine gnutls", "openssl, tollgate"),
        ("bench --async https://127.0.0.1:1", "--async"),
        ("bench --pid= https://127.0.0.1:1", "is the server running?"),
        ("bench --pid 0 https://127.0.0.1:1", "give process IDs"),
        ("bench --server-cores 0-1", "give whole numbers, as in 1,2"),
        ("bench --server nginx https://127.0.0.1:1", "--server"),
        ("bench --seconds -1", "'-1' for '--seconds <S>'"),
        ("compare", "<FILE>"),
        ("compare a --fail-if better", "slower"),
        ("drive", "'drive'; try 'tollgate --help'"),
        ("kernel model --kernel amm", "no such kernel"),
        ("kernel model --what-if clock=3", "no such field"),
        ("kernel model --what-if mulx", "FIELD=VALUE"),
        ("kernel model --what-if mulx=fast", "a number"),
        ("kernel model --bits 512-8192", "128 to 8192"),
        ("kernel model --calibrate x --machine host", "cannot be used with"),
        ("serve --address here", "give IP:PORT"),
        ("explain --bytes x", "give whole numbers, as in 1,2; try 'tollgate explain --help'"),
        ("speed --bits 9000", "--key FILE"),
        ("speed --bits two", "--key FILE"),
        ("speed --bits 512,", "--key FILE"),
        ("speed --exponent 4", "odd"),
        ("speed --exponent 1", "odd"),
        ("speed --exponent -7", "-7"),
        ("speed --exponent 18446744073709551617", "2^64"),
        ("speed --batch 0", "1..=1024"),
        ("speed --batch 1025", "1..=1024"),
        ("speed --against gnutls", "gnutls"),
        ("speed --seconds 0", "seconds"),
        ("speed --seconds nan", "seconds"),
        ("speed --seconds inf", "seconds"),
        ("papers leon3", "leon2"),
        ("papers --profile", "<FILE>"),
        ("speed --multi 0", "1..=1024"),
        ("speed --bits 512 --key x.pem", "--key"),
        ("speed --unit card", "gpu"),
        ("speed --unit gpu --multi 2", "cannot be used with"),
        ("speed --speed", "--speed"),
        ("workload from-log a.log", "--name"),
        ("workload from-log a.log --name ../x", "a-z"),
        ("workload from-log --name x", "<LOG>"),
    ] {
        assert_refused(&line.split(' ').collect::<Vec<_>>(), why);
    }
}

#[test]
fn methods_and_header_fields_are_refused_with_their_reason() {
    for (words, why) in [
        (["https://h/", "--method", "GET /x"], "such as POST"),
        (["https://h/", "-H", "Host: x"], "the client sets Host"),
        (["https://h/", "-H", "A: b\r\nC: d"], "in one line"),
        (["https://h/", "-H", "A b: c"], "no space"),
    ] {
        assert_refused(&[&["bench"], &words[..]].concat(), why);
    }
}
