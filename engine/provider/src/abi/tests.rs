//! Compares the constants with the headers of the installed OpenSSL.

use std::collections::BTreeMap;
use std::path::Path;

/// Returns the name and the first word of the value of each `#define` in the headers.
fn defines() -> Option<BTreeMap<String, String>> {
    let folder = Path::new("/usr/include/openssl");
    let mut defines = BTreeMap::new();
    for header in ["core.h", "core_dispatch.h", "core_names.h", "core_object.h"] {
        let text = std::fs::read_to_string(folder.join(header)).ok()?.replace("\\\n", " ");
        for line in text.lines() {
            let mut words = line.trim_start_matches('#').split_whitespace();
            if words.next() == Some("define") {
                let name = words.next().unwrap_or_default().to_owned();
                defines.insert(name, words.next().unwrap_or_default().to_owned());
            }
        }
    }
    Some(defines)
}

/// Follows definitions until the value is not a defined name.
fn resolve<'a>(defines: &'a BTreeMap<String, String>, mut value: &'a str) -> &'a str {
    while let Some(next) = defines.get(value) {
        value = next;
    }
    value
}

fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "a check that cannot run says so")]
fn constants_equal_the_headers() {
    let Some(defines) = defines() else {
        let ci = std::env::var_os("CI").is_some_and(|value| value == "true");
        assert!(!ci, "no OpenSSL headers in /usr/include/openssl: install libssl-dev");
        eprintln!("constants NOT CHECKED: no OpenSSL headers in /usr/include/openssl");
        return;
    };
    // The headers define some keys by concatenation, and older headers lack others.
    let composed = ["RSA_FACTOR", "RSA_EXPONENT", "RSA_COEFFICIENT"];
    let later = [
        "OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION",
        "OSSL_KEM_PARAM_IKME",
        "OSSL_PKEY_PARAM_DHKEM_IKM",
        "OSSL_PKEY_PARAM_ML_KEM_SEED",
        "OSSL_PKEY_PARAM_SECURITY_CATEGORY",
        "OSSL_SIGNATURE_PARAM_NONCE_TYPE",
    ];
    let mut checked = 0;
    for line in include_str!("../abi.rs").replace(" =\n   ", " =").lines() {
        let Some(rest) = line.strip_prefix("pub(crate) const ") else {
            continue;
        };
        let (name, rest) = rest.split_once(':').unwrap();
        let (_, value) = rest.split_once('=').unwrap();
        let value = value.trim().trim_end_matches(';');
        let value =
            value.strip_prefix("Id::new(").and_then(|id| id.strip_suffix(')')).unwrap_or(value);
        let known = composed.iter().any(|part| name.contains(part));
        if known || value.contains('|') || name == "OSSL_PARAM_UNMODIFIED" || name == "END" {
            continue;
        }
        let Some(theirs) = defines.get(name) else {
            assert!(later.contains(&name), "{name} is in no header");
            continue;
        };
        let theirs = resolve(&defines, theirs);
        match value.strip_prefix('c') {
            Some(text) => assert_eq!(text, theirs, "{name}"),
            None => assert_eq!(number(value), number(theirs), "{name} = {value}, {theirs}"),
        }
        checked += 1;
    }
    assert!(checked > 80, "only {checked} constants were found in abi.rs");
}
