//! Every format of a key, and the messages of refused files.

use proptest::prelude::*;

use super::der::RSA_KEY;
use super::*;
use crate::pem::blocks;

const PKCS8: &[u8] = include_bytes!("../../../../vectors/keys/rsa-2048.pem");
const PKCS1: &[u8] = include_bytes!("../../../../vectors/keys/rsa-2048-pkcs1.pem");
const SPKI: &[u8] = include_bytes!("../../../../vectors/keys/rsa-2048.pub.pem");
const ENCRYPTED: &[u8] = include_bytes!("../../../../vectors/keys/rsa-2048-encrypted.pem");
const PRIMES: &[u8] = include_bytes!("../../../../vectors/keys/rsa-2048-3primes.pem");
const EC: &[u8] = include_bytes!("../../../../vectors/keys/ec-p256.pem");
const ED25519: &[u8] = include_bytes!("../../../../vectors/keys/ed25519.pem");

/// Returns the DER of the first block, with any label.
fn der(pem: &[u8]) -> Vec<u8> {
    blocks(pem).next().unwrap().der().unwrap().to_vec()
}

fn pem(label: &str, der: &[u8]) -> Vec<u8> {
    ::der::pem::encode_string(label, ::der::pem::LineEnding::LF, der).unwrap().into_bytes()
}

/// Returns one DER element; bodies below 2^16 bytes.
fn tlv(tag: u8, body: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(body.len()).unwrap().to_be_bytes();
    let head = match (high, low) {
        (0, 0..=0x7f) => vec![tag, low],
        (0, _) => vec![tag, 0x81, low],
        _ => vec![tag, 0x82, high, low],
    };
    [head.as_slice(), body].concat()
}

fn rejected<T: core::fmt::Debug>(result: Result<T, Error>) -> Rejected {
    match result.unwrap_err() {
        Error::Rejected(rejected) => {
            let text = rejected.to_string();
            assert!(!text.contains('\n'), "one line: {text}");
            rejected
        }
        other => panic!("{other:?}"),
    }
}

fn field_of<T: core::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    match rejected(result) {
        Rejected::Der { field, .. } => field,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_strict_reader_takes_der_only() {
    let key = private(PKCS8).unwrap();
    assert_eq!(private_der(&der(PKCS8)).unwrap().n, key.n);
    assert_eq!(public_der(&der(SPKI)).unwrap().0, key.n);
    for file in [PKCS8, b""] {
        assert_eq!(rejected(private_der(file)), Rejected::NotDer);
        assert_eq!(rejected(public_der(file)), Rejected::NotDer);
    }
}

#[test]
fn other_files_are_named() {
    use Expected::{PrivateKey, PublicKey};
    use Found::{Certificate, EcPrivateKey};
    let unexpected = |found, expected| Rejected::Unexpected { found, expected };

    for file in [&b""[..], b"\n", b"hello", b"\xff\x00-\0-", b"-----BEGINPRIVATE KEY-----"] {
        assert_eq!(rejected(private(file)), Rejected::NotAKey);
        assert_eq!(rejected(public(file)), Rejected::NotAKey);
    }
    let chain = pem("CERTIFICATE", b"a certificate");
    assert_eq!(rejected(private(&chain)), unexpected(Certificate, PrivateKey));
    assert_eq!(rejected(public(&chain)), unexpected(Certificate, PublicKey));
    for file in [SPKI, &der(SPKI), &pem("RSA PRIVATE KEY", &der(SPKI))] {
        assert_eq!(rejected(private(file)), unexpected(Found::PublicKey, PrivateKey));
    }
    for file in [PKCS8, PKCS1, &der(PKCS8), &der(PKCS1), &pem("PUBLIC KEY", &der(PKCS8))] {
        assert_eq!(rejected(public(file)), unexpected(Found::PrivateKey, PublicKey));
    }
    // SEC 1: INTEGER 1, OCTET STRING. `openssl ecparam -genkey` writes this block after the curve.
    let sec1 = tlv(0x30, &[tlv(2, &[1]), tlv(4, &[7; 32])].concat());
    let after_curve = [pem("EC PARAMETERS", b"a curve"), pem("EC PRIVATE KEY", &sec1)].concat();
    for file in [&sec1, &after_curve] {
        assert_eq!(rejected(private(file)), unexpected(EcPrivateKey, PrivateKey));
        assert_eq!(rejected(public(file)), unexpected(EcPrivateKey, PublicKey));
    }
    // tbsCertificate, signatureAlgorithm, signature
    let certificate = tlv(0x30, &[tlv(0x30, &[]), tlv(0x30, &[]), tlv(3, &[0, 1])].concat());
    assert_eq!(rejected(private(&certificate)), unexpected(Certificate, PrivateKey));
    assert_eq!(rejected(public(&certificate)), unexpected(Certificate, PublicKey));
    assert_eq!(
        rejected(private(b"-----BEGIN A\x1b[2J KEY-----\nAAAA\n-----END A\x1b[2J KEY-----\n")),
        Rejected::PemLabel { label: "A?[2J KEY".into(), expected: PrivateKey },
        "no control character reaches a terminal"
    );
}

#[test]
fn errors_for_encrypted_keys_tell_how_to_decrypt() {
    let traditional = b"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\
        DEK-Info: AES-256-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
    for file in [ENCRYPTED, &der(ENCRYPTED), traditional] {
        let rejected = rejected(private(file));
        assert_eq!(rejected, Rejected::Encrypted);
        assert!(rejected.to_string().contains("openssl pkey -in FILE -out PLAIN"));
    }
}

#[test]
fn other_algorithms_are_named() {
    for (file, algorithm) in
        [(EC, "elliptic curves (1.2.840.10045.2.1)"), (ED25519, "Ed25519 (1.3.101.112)")]
    {
        assert_eq!(rejected(private(file)), Rejected::NotRsa { algorithm: algorithm.into() });
    }
    // SubjectPublicKeyInfo of RSASSA-PSS and of an unknown algorithm
    for (oid, algorithm) in [
        ("06092a864886f70d01010a", "RSASSA-PSS (1.2.840.113549.1.1.10)"),
        ("06012a", "an unknown algorithm (1.2)"),
    ] {
        let oid = hex::decode(oid).unwrap();
        let file = tlv(0x30, &[tlv(0x30, &oid), tlv(3, &[0, 1])].concat());
        assert_eq!(rejected(public(&file)), Rejected::NotRsa { algorithm: algorithm.into() });
    }
}

#[test]
fn damaged_pem_and_damaged_der_have_different_errors() {
    let text = String::from_utf8_lossy(PKCS8);
    let label = || String::from("PRIVATE KEY");
    for (from, to) in [("MII", "M!I"), ("\n-----END", "A\n-----END")] {
        let file = text.replacen(from, to, 1);
        let expected = Rejected::PemBase64 { label: label() };
        assert_eq!(rejected(private(file.as_bytes())), expected, "{from} -> {to}");
    }
    // A file without a line in its middle: its base64 is valid, its DER is not.
    let lines: Vec<_> = text.lines().enumerate().filter(|(i, _)| *i != 5).collect();
    let file: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
    assert_eq!(field_of(private(file.as_bytes())), "the outer SEQUENCE");
}

#[test]
fn damaged_numbers_are_refused() {
    let one = tlv(2, &[1]);
    let numbers = |first: u8, others: usize| {
        let mut fields = vec![one.clone(); others + 1];
        fields[0] = tlv(2, &[first]);
        fields
    };
    // a number without digits; one with a leading zero, which DER forbids; a negative one
    for damage in [vec![], vec![0, 1], vec![0x80]] {
        for bad in 0..9 {
            let mut fields = numbers(0, 8);
            fields[bad] = tlv(2, &damage);
            assert_eq!(field_of(private(&tlv(0x30, &fields.concat()))), RSA_KEY, "{damage:?}");
        }
        for bad in 0..2 {
            let mut fields = numbers(1, 1);
            fields[bad] = tlv(2, &damage);
            assert_eq!(field_of(public(&tlv(0x30, &fields.concat()))), RSA_KEY, "{damage:?}");
        }
    }
    // too few numbers (two are a public key); a tenth that is no list of primes; the version of
    // several primes without a list
    for (first, others) in [(0, 2), (0, 7), (0, 9), (1, 8)] {
        let file = tlv(0x30, &numbers(first, others).concat());
        assert_eq!(field_of(private(&file)), RSA_KEY, "{others}");
    }
    assert_eq!(rejected(private(PRIMES)), Rejected::MultiPrime);
}

#[test]
fn data_after_the_structure_is_refused() {
    for file in [PKCS8, PKCS1] {
        let longer = [der(file).as_slice(), &[0]].concat();
        assert_eq!(field_of(private(&longer)), "the outer SEQUENCE");
    }
    assert_eq!(field_of(public(&[der(SPKI).as_slice(), &[0]].concat())), "the outer SEQUENCE");
    // errors inside of the OCTET STRING of PKCS#8 and of the BIT STRING of SPKI
    let rsa = hex::decode("06092a864886f70d0101010500").unwrap();
    let inner = [der(PKCS1).as_slice(), &[0]].concat();
    let pkcs8 = [tlv(2, &[0]), tlv(0x30, &rsa), tlv(4, &inner)].concat();
    assert_eq!(field_of(private(&tlv(0x30, &pkcs8))), RSA_KEY);
    let key = tlv(0x30, &[tlv(2, &[1]), tlv(2, &[1])].concat());
    let spki = [tlv(0x30, &rsa), tlv(3, &[&[0], key.as_slice(), &[0]].concat())].concat();
    assert_eq!(field_of(public(&tlv(0x30, &spki))), RSA_KEY);
}

#[test]
fn parameters_are_null_or_absent() {
    let oid = hex::decode("06092a864886f70d010101").unwrap();
    let key =
        tlv(3, &[&[0], tlv(0x30, &[tlv(2, &[7]), tlv(2, &[3])].concat()).as_slice()].concat());
    let spki = |parameters: &[u8]| {
        tlv(0x30, &[tlv(0x30, &[&oid, parameters].concat()), key.clone()].concat())
    };
    let expected = (vec![7], vec![3]);
    assert_eq!(public(&spki(&[5, 0])), Ok(expected.clone()));
    assert_eq!(public(&spki(&[])), Ok(expected));
    assert_eq!(field_of(public(&spki(&[2, 1, 1]))), "the algorithm identifier rsaEncryption");
    let bits = tlv(0x30, &[tlv(0x30, &[&oid[..], &[5, 0]].concat()), tlv(3, &[1, 2])].concat());
    assert_eq!(field_of(public(&bits)), "SubjectPublicKeyInfo, subjectPublicKey");
}

#[test]
fn damaged_outer_structures_are_named() {
    // an algorithm identifier without an identifier
    let pkcs8 = tlv(0x30, &[tlv(2, &[0]), tlv(0x30, &[]), tlv(4, &[])].concat());
    assert_eq!(field_of(private(&pkcs8)), "PKCS#8 PrivateKeyInfo");
    let spki = tlv(0x30, &[tlv(0x30, &[]), tlv(3, &[0])].concat());
    assert_eq!(field_of(public(&spki)), "SubjectPublicKeyInfo");
    assert_eq!(field_of(private(&tlv(0x30, &[]))), "the outer SEQUENCE");
    assert_eq!(field_of(public(&[0x30])), "the outer SEQUENCE");
}

#[test]
fn long_input_is_refused() {
    let mut file = PKCS8.to_vec();
    file.resize(LIMIT_BYTES, b'\n');
    assert!(private(&file).is_ok());
    file.push(b'\n');
    let found_bytes = LIMIT_BYTES + 1;
    let expected = Rejected::InputLength { found_bytes, limit_bytes: LIMIT_BYTES };
    assert_eq!(rejected(private(&file)), expected);
    assert_eq!(rejected(public(&file)), expected);
}

proptest! {
    #[test]
    fn a_changed_byte_never_panics(
        file in prop::sample::select(
            vec![PKCS8.to_vec(), der(PKCS8), SPKI.to_vec(), der(SPKI)],
        ),
        at: prop::sample::Index,
        byte: u8,
        cut: prop::sample::Index,
    ) {
        let mut file = file;
        *at.get_mut(&mut file) = byte;
        for file in [&file[..], &file[..cut.index(file.len())]] {
            for error in [private(file).err(), public(file).err()].into_iter().flatten() {
                let text = error.to_string();
                prop_assert!(text.chars().all(|c| !c.is_control()), "{text}");
            }
        }
    }
}
