//! How subjects read to people.

use tollgate_record::Subject;

use tollgate_record::vocabulary::{BATCH, BY, EXPONENT, FULL};

/// Sizes below this are insecure.
pub(crate) const SECURE_BITS_MIN: u32 = 2048;

/// The mark of an insecure size.
pub(crate) const INSECURE: char = '!';

/// What the mark means.
pub(crate) const INSECURE_NOTE: &str =
    "! insecure size, not for use; shown because the papers used it";

/// The size in bits of an RSA key's path segment, `rsa-2048`.
pub(crate) fn rsa_bits(key: &str) -> Option<u32> {
    key.strip_prefix("rsa-")?.parse().ok()
}

/// The key's path segment, `rsa-2048` of `operation/rsa-2048/sign`.
pub(crate) fn key_of(subject: &Subject) -> &str {
    subject.segments().nth(1).unwrap_or_default()
}

/// Whether the subject's key is too small to be secure.
pub(crate) fn is_insecure(subject: &Subject) -> bool {
    rsa_bits(key_of(subject)).is_some_and(|bits| bits < SECURE_BITS_MIN)
}

/// A key by name: `rsa-2048` is RSA-2048, `ecdsa-p256` is ECDSA P-256.
pub(crate) fn key(segment: &str) -> String {
    match segment {
        "ecdsa-p256" => "ECDSA P-256".to_owned(),
        "ed25519" => "Ed25519".to_owned(),
        other => other.to_ascii_uppercase(),
    }
}

/// A key and an operation: `RSA-1024! sign`, `RSA-512! e=7`, `RSA-512! no CRT`.
pub(crate) fn operation(subject: &Subject) -> String {
    let mark = if is_insecure(subject) { "!" } else { "" };
    let what = match subject.parameter(EXPONENT) {
        None => subject.segments().skip(2).collect::<Vec<_>>().join(" "),
        Some(FULL) => "no CRT".to_owned(),
        Some(value) => format!("e={value}"),
    };
    format!("{}{mark} {what}", key(key_of(subject)))
}

/// Who, by name.
pub(crate) fn who(by: &str) -> &str {
    match by {
        "aws-lc" => "AWS-LC",
        "openssl" => "OpenSSL",
        "pkeu" => "[FSL05]",
        other => other,
    }
}

/// Who and in which company: `tollgate`, `tollgate x8`, `OpenSSL`.
pub(crate) fn contender(subject: &Subject) -> String {
    let who = who(subject.parameter(BY).unwrap_or("-"));
    match subject.parameter(BATCH) {
        None => who.to_owned(),
        Some(batch) => format!("{who} x{batch}"),
    }
}
