//! How subjects read to people.

use tollgate_record::{Record, Subject};

use tollgate_record::vocabulary::{
    BATCH, BY, BYTES, EXPONENT, FULL, PART_KEY_EXCHANGE, PART_KEY_SCHEDULE, PART_LIBRARY, PART_MAC,
    PART_RECORDS, PART_RSA, PART_SYSTEM,
};

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
        "ecdsa-p384" => "ECDSA P-384".to_owned(),
        "ed25519" => "Ed25519".to_owned(),
        "none" => "no key".to_owned(),
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

/// What \[ETI10\] set out from.
const BEFORE: &str = "unimproved";

/// Who, by name.
pub(crate) fn who(by: &str) -> &str {
    match by {
        "aws-lc" => "AWS-LC",
        "openssl" => "OpenSSL",
        "pkeu" => "[FSL05]",
        "eti10" => "published",
        "eti10-before" => BEFORE,
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

/// A protocol by name, as `load` spells it in subjects.
pub(crate) fn protocol(word: &str) -> &str {
    match word {
        "tls13" => "TLS 1.3",
        "tls12-x25519" => "TLS 1.2 ECDHE",
        "tls12-p256" => "TLS 1.2 P-256",
        "tls12-rsa" => "TLS 1.2 RSA",
        "tls-rsa" => "TLS RSA",
        "ssl3-rsa" => "SSL 3 RSA",
        "http" => "HTTP",
        other => other,
    }
}

/// A suite of a paper: `tls-rsa-1024-aes-128-gcm` is RSA-1024-AES-128-GCM.
pub(crate) fn suite(word: &str) -> String {
    word.strip_prefix("tls-").unwrap_or(word).to_ascii_uppercase()
}

/// A part of a session's cost by name.
pub(crate) fn part(word: &str) -> &str {
    match word {
        PART_RSA => "RSA",
        PART_KEY_EXCHANGE => "key exchange",
        PART_KEY_SCHEDULE => "key schedule",
        PART_RECORDS => "records",
        PART_MAC => "MAC",
        PART_LIBRARY => "TLS library",
        PART_SYSTEM => "system",
        other => other,
    }
}

/// The payload of a session in bytes; none where it is a handshake and nothing else.
pub(crate) fn bytes(subject: &Subject) -> u64 {
    subject.parameter(BYTES).and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

/// A payload: `14 KB` of 14336 bytes, `140 KB` of 140000, `handshake` of none.
pub(crate) fn payload(bytes: u64) -> String {
    match bytes {
        0 => "handshake".to_owned(),
        1..1000 => format!("{bytes} bytes"),
        _ if bytes.is_multiple_of(1024) => format!("{} KB", bytes / 1024),
        _ => format!("{} KB", bytes / 1000),
    }
}

/// The subject without these parameters.
pub(crate) fn without(subject: &Subject, keys: &[&str]) -> Option<Subject> {
    let bare: Subject = subject.path().parse().ok()?;
    let mut kept = subject.parameters().filter(|(name, _)| !keys.contains(name));
    kept.try_fold(bare, |bare, (name, value)| bare.with(name, value).ok())
}

/// What a paper's figure is of, without the paper's key: `OpenSSL 1.0` of `eti10-openssl-1.0`,
/// nothing of `eti10`; of \[HP01\], which has a machine in each row, that machine.
pub(crate) fn of_paper(record: &Record) -> String {
    let by = record.subject.parameter(BY).unwrap_or_default();
    match by.split_once('-') {
        Some(("hp01", _)) => {
            let cpu = record.machine.cpu.split(',').next().unwrap_or_default();
            let clock = record.machine.core_clock_hz.map(|hz| hz.point() / 1e6);
            clock.map_or_else(|| cpu.to_owned(), |mhz| format!("{cpu}, {mhz:.0} MHz"))
        }
        Some((_, code)) => {
            let words = code.split('-').map(|word| match word {
                "before" => BEFORE,
                "karatsuba" => "Karatsuba",
                other => who(other),
            });
            words.collect::<Vec<_>>().join(" ")
        }
        None if by.ends_with(|c: char| c.is_ascii_digit()) => String::new(),
        None => by.to_owned(),
    }
}
