use super::*;

/// Every message is one line of printable characters.
#[test]
fn messages_are_one_line_that_says_what_to_do() {
    let label = || String::from("PRIVATE KEY");
    let expected = Expected::PrivateKey;
    let all = [
        Error::Fault,
        Misuse::BufferLength { found_bytes: 1, expected_bytes: 2 }.into(),
        Misuse::NewKeyBits { bits: 1024, least_bits: 2048 }.into(),
        Misuse::NewKeyExponent.into(),
        Misuse::SaltAuto.into(),
        Unavailable::CallerRandom.into(),
        Unavailable::Primes { tried: 9 }.into(),
        Unavailable::Random.into(),
        Rejected::D.into(),
        Rejected::DP.into(),
        Rejected::DQ.into(),
        Rejected::Der { field: "modulus n", what: "negative".into() }.into(),
        Rejected::DecryptionFailed.into(),
        Rejected::DigestLength { found_bytes: 1, expected_bytes: 2 }.into(),
        Rejected::Encrypted.into(),
        Rejected::EqualPrimes.into(),
        Rejected::ExponentEven.into(),
        Rejected::ExponentLarge { bits: 257 }.into(),
        Rejected::ExponentSmall.into(),
        Rejected::HashBroken(Hash::Sha1).into(),
        Rejected::InputLength { found_bytes: 2, limit_bytes: 1 }.into(),
        Rejected::MessageLong { found_bytes: 2, limit_bytes: 1 }.into(),
        Rejected::MessageRange.into(),
        Rejected::ModulusEven.into(),
        Rejected::ModulusSmall { found_bytes: 1, needed_bytes: 2 }.into(),
        Rejected::MultiPrime.into(),
        Rejected::NotAKey.into(),
        Rejected::NotRsa { algorithm: "DSA".into() }.into(),
        Rejected::PemBase64 { label: label() }.into(),
        Rejected::PemLabel { label: label(), expected }.into(),
        Rejected::PemTruncated { label: label() }.into(),
        Rejected::PrimeComposite(Prime::P).into(),
        Rejected::PrimeEven(Prime::P).into(),
        Rejected::PrimeOne(Prime::Q).into(),
        Rejected::PrimeSmall(Prime::Q).into(),
        Rejected::Product.into(),
        Rejected::QInv.into(),
        Rejected::Size { bits: 9000 }.into(),
        Rejected::Unexpected { found: Found::Certificate, expected }.into(),
    ];
    for error in &all {
        let text = error.to_string();
        assert!(text.chars().all(|c| matches!(c, ' '..='~')), "{text}");
        assert!(!text.contains("  "), "a line break of the source is one space: {text}");
        // the failure, then the remedy
        assert!(text.contains(": "), "{text}");
        assert!(!text.ends_with('.'), "{text}");
    }
    let texts: std::collections::BTreeSet<_> = all.iter().map(Error::to_string).collect();
    assert_eq!(texts.len(), all.len(), "each has its own text");
}

#[test]
fn an_invalid_signature_is_not_explained() {
    let error = Error::from(Rejected::SignatureInvalid);
    assert_eq!(error.to_string(), "the signature is not valid");
}
