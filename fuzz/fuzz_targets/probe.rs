//! Reads any bytes as a URL, as a certificate and as a consent file. Errors have one line. A valid
//! URL survives a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_load::Target;
use tollgate_probe::{Certificate, Url};

fuzz_target!(|bytes: &[u8]| {
    let _ = Certificate::read(bytes);
    let Ok(text) = str::from_utf8(bytes) else { return };
    match text.parse::<Url>() {
        Ok(url) => assert_eq!(url.to_string().parse(), Ok(url)),
        Err(bad) => one_line(&bad.to_string()),
    }
    let far = "192.0.2.1:443".parse().expect("an address of documentation");
    let fetch = |_| Ok(text.to_owned());
    if let Err(refusal) = Target::admit(far, "example.org", Some("example.org"), &fetch) {
        one_line(&refusal.to_string());
    }
});

fn one_line(text: &str) {
    assert!(!text.is_empty() && !text.chars().any(char::is_control), "{text:?}");
}
