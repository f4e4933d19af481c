//! Human-readable names of subjects.

use tollgate_record::{Key, Operation, Protocol, Record, Service, Subject, Topic};

use tollgate_record::vocabulary::{
    BATCH, BY, BYTES, DETAIL_KEM, DETAIL_KEM_KEY, EXPONENT, FULL, GROUP, PART_KEY_EXCHANGE,
    PART_KEY_SCHEDULE, PART_LIBRARY, PART_MAC, PART_RECORDS, PART_RSA, PART_SIGNATURE, PART_SYSTEM,
    REQUESTS, RESUMED_BY, RESUMED_SHARE, SIZES, SUITE,
};

/// The smallest secure key size.
pub(crate) const SECURE_BITS_MIN: u32 = 2048;

/// The mark of an insecure size.
pub(crate) const INSECURE: char = '!';

/// The explanation of the mark.
pub(crate) const INSECURE_NOTE: &str =
    "! insecure size, not for use; shown for comparison with published results";

/// Returns `true` if the subject's key is too small to be secure.
pub(crate) fn is_insecure(subject: &Subject) -> bool {
    rsa_bits(subject).is_some_and(|bits| bits < SECURE_BITS_MIN)
}

/// Returns the size of the subject's RSA key in bits.
pub(crate) fn rsa_bits(subject: &Subject) -> Option<u32> {
    subject.key()?.rsa_bits()
}

/// Returns a key by name: `rsa-2048` is RSA-2048, `ecdsa-p256` is ECDSA P-256.
pub(crate) fn key(key: &Key) -> String {
    match key {
        Key::EcdsaP256 => "ECDSA P-256".to_owned(),
        Key::EcdsaP384 => "ECDSA P-384".to_owned(),
        Key::Ed25519 => "Ed25519".to_owned(),
        Key::EcdhP256 => "ECDH P-256".to_owned(),
        Key::None => "no key".to_owned(),
        other => other.to_string().to_ascii_uppercase(),
    }
}

/// Returns a key and an operation: `RSA-1024! sign`, `RSA-512! e=7`, `RSA-512! no CRT`.
pub(crate) fn operation(subject: &Subject) -> String {
    key_and_operation(subject).join(" ")
}

/// Returns the parts of [`operation`].
pub(crate) fn key_and_operation(subject: &Subject) -> [String; 2] {
    let mark = if is_insecure(subject) { "!" } else { "" };
    let (name, operation) = match subject.topic() {
        // short, for the column; the table explains it
        Topic::Operation { key: of, operation: Operation::VerifyOnce } => {
            (key(of), "once".to_owned())
        }
        Topic::Operation { key: of, operation } | Topic::Queue { key: of, operation } => {
            (key(of), operation.to_string())
        }
        other => (other.to_string(), String::new()),
    };
    let what = match subject.parameter(EXPONENT) {
        None => operation,
        Some(FULL) => "no CRT".to_owned(),
        Some(value) => format!("e={value}"),
    };
    [format!("{name}{mark}"), what]
}

/// The parameter `by` of the baseline in \[ETI10\].
const BEFORE: &str = "unimproved";

/// Returns the name of the implementation in the parameter `by`.
pub(crate) fn who(by: &str) -> &str {
    match by {
        "aws-lc" => "AWS-LC",
        "openssl" => "OpenSSL",
        "pkeu" => "[FSL05]",
        "eti10" => "published",
        "eti10-before" => BEFORE,
        "gpu" => "GPU",
        other => other,
    }
}

/// Returns the parameter `by`: the implementation. Empty if the subject does not have it.
pub(crate) fn by(subject: &Subject) -> &str {
    subject.parameter(BY).unwrap_or_default()
}

/// Returns the implementation and its batch size: `tollgate`, `tollgate x8`, `OpenSSL`.
pub(crate) fn contender(subject: &Subject) -> String {
    let who = who(subject.parameter(BY).unwrap_or("-"));
    match subject.parameter(BATCH) {
        None => who.to_owned(),
        Some(batch) => format!("{who} x{batch}"),
    }
}

/// Returns the key and the implementation of a session, server or fleet: `RSA-2048, OpenSSL`.
pub(crate) fn key_and_by(subject: &Subject) -> String {
    format!("{}, {}", subject.key().map(key).unwrap_or_default(), who(by(subject)))
}

/// Returns the name of a protocol.
pub(crate) fn protocol(protocol: &Protocol) -> &str {
    match protocol {
        Protocol::Tls13 => "TLS 1.3",
        Protocol::Tls12X25519 => "TLS 1.2 ECDHE",
        Protocol::Tls12P256 => "TLS 1.2 P-256",
        Protocol::Tls12P384 => "TLS 1.2 P-384",
        Protocol::Tls12Dhe => "TLS 1.2 DHE",
        Protocol::Tls12Rsa => "TLS 1.2 RSA",
        Protocol::TlsRsa => "TLS RSA",
        Protocol::Ssl3Rsa => "SSL 3 RSA",
        Protocol::Http => "HTTP",
        Protocol::Other(word) => word,
    }
}

/// Returns the name of a subject's protocol.
pub(crate) fn protocol_of(subject: &Subject) -> &str {
    subject.protocol().map_or("", protocol)
}

/// Returns the protocol and key, `TLS 1.3, RSA-2048`, or the suite of a paper. Any other name is
/// unchanged.
pub(crate) fn service(subject: &Subject) -> String {
    match subject.topic().service() {
        Some(Service::Tls { key: of, protocol: by }) => format!("{}, {}", protocol(by), key(of)),
        Some(Service::Named(name)) if name.starts_with("tls-") => suite(subject),
        Some(Service::Named(name)) => name.clone(),
        None => subject.topic().to_string(),
    }
}

/// Returns the service, and what differs from the protocol's defaults: `TLS 1.3, RSA-2048,
/// X25519MLKEM768`.
pub(crate) fn handshake(subject: &Subject) -> String {
    let offered = offered(subject).map_or_else(String::new, |offered| format!(", {offered}"));
    service(subject) + &offered
}

/// Returns the key or the suite of a paper: `tls-rsa-1024-aes-128-gcm` becomes
/// RSA-1024-AES-128-GCM.
pub(crate) fn suite(subject: &Subject) -> String {
    let word = match subject.topic().service() {
        Some(Service::Tls { key, .. }) => key.to_string(),
        Some(Service::Named(name)) => name.strip_prefix("tls-").unwrap_or(name).to_owned(),
        None => String::new(),
    };
    word.to_ascii_uppercase()
}

/// Returns what differs from a full handshake with the protocol's default suite and one request:
/// `AES_256_CBC_SHA, ffdhe2048`; `resumed, psk`. The protocol's name has the key exchange.
pub(crate) fn offered(subject: &Subject) -> Option<String> {
    let cipher = |name: &str| match name.split_once("_WITH_") {
        Some((_, cipher)) => cipher.to_owned(),
        None => name.trim_start_matches("TLS_").to_owned(),
    };
    let suite = subject.parameter(SUITE).map(cipher);
    let requests = subject.parameter(REQUESTS).map(|count| format!("{count} requests"));
    let group = subject.parameter(GROUP).map(str::to_owned);
    let names = [suite, group, resumed(subject), requests];
    let names: Vec<String> = names.into_iter().flatten().collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Returns the share and mechanism of resumption, `resumed 0.8, ticket`; without the share if all
/// sessions are resumed, and `None` if none is.
pub(crate) fn resumed(subject: &Subject) -> Option<String> {
    let share = match subject.parameter(RESUMED_SHARE)? {
        "1" => String::new(),
        share => format!(" {share}"),
    };
    Some(format!("resumed{share}, {}", subject.parameter(RESUMED_BY)?))
}

/// Returns the sizes of bodies, `sizes 15-511-974`; `None` if all bodies have the same size.
pub(crate) fn sizes(subject: &Subject) -> Option<String> {
    Some(format!("sizes {}", subject.parameter(SIZES)?))
}

/// Returns the name of a part of a session's cost.
pub(crate) fn part(word: &str) -> &str {
    match word {
        PART_RSA => "RSA",
        PART_SIGNATURE => "signature",
        PART_KEY_EXCHANGE => "key exchange",
        PART_KEY_SCHEDULE => "key schedule",
        PART_RECORDS => "records",
        PART_MAC => "MAC",
        PART_LIBRARY => "TLS library",
        PART_SYSTEM => "system",
        other => other,
    }
}

/// Returns the name of a detail of a part.
pub(crate) fn detail(word: &str) -> String {
    match word {
        DETAIL_KEM => "ML-KEM secret".to_owned(),
        DETAIL_KEM_KEY => "ML-KEM key".to_owned(),
        "ml-kem-matrix" => "ML-KEM matrix".to_owned(),
        "sha-3" => "SHA-3".to_owned(),
        "kem" => "EVP of the KEM".to_owned(),
        other => other.replace('-', " "),
    }
}

/// Returns the payload of a session in bytes; 0 for a handshake alone.
pub(crate) fn bytes(subject: &Subject) -> u64 {
    subject.parameter(BYTES).and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

/// Returns a payload: `14 KB` for 14336 bytes, `140 KB` for 140000, `handshake` for 0.
pub(crate) fn payload(bytes: u64) -> String {
    match bytes {
        0 => "handshake".to_owned(),
        1..1000 => format!("{bytes} bytes"),
        _ if bytes.is_multiple_of(1024) => format!("{} KB", bytes / 1024),
        _ => format!("{} KB", bytes / 1000),
    }
}

/// Returns the subject of a paper's figure without the paper's key: `OpenSSL 1.0` for
/// `eti10-openssl-1.0`, empty for `eti10`. For \[HP01\], returns the machine's name, since the rows
/// of that paper are machines.
pub(crate) fn of_paper(record: &Record) -> String {
    let by = by(&record.subject);
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
