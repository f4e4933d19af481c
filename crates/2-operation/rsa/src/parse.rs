//! Key files: PEM or DER, PKCS#1 and PKCS#8 for private keys, PKCS#1 and SPKI for public ones.
//!
//! What decides is the structure of the DER; a PEM label only says which block of a file to read.
//! Nothing here knows whether the numbers make a key: that is [`crate::validate`].
//!
//! Lenient where files in the wild are: text around PEM blocks, other blocks before the key (a
//! certificate chain, `EC PARAMETERS`), lines of any width, and an `rsaEncryption` identifier
//! without its parameters, which RFC 8017 A.1 demands to be NULL and OpenSSL accepts absent.
//! Strict elsewhere: data after the DER is refused, and so are numbers that DER writes otherwise.

use core::iter;

use der::asn1::{AnyRef, ObjectIdentifier, UintRef};
use der::pem::Base64Decoder;
use der::{Decode, SliceReader, Tag};
use pkcs1::{RsaPrivateKeyRef, RsaPublicKeyRef};
use pkcs8::PrivateKeyInfoRef;
use spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use zeroize::Zeroizing;

use crate::error::{Error, Expected, Found, Rejected};
use crate::parts::{KeyParts, PublicParts};

/// Reads an RSA private key, PEM or DER, PKCS#1 or PKCS#8, from the contents of a file.
///
/// Of several PEM blocks the first private key is read. Nothing is checked but the format.
///
/// # Errors
///
/// [`Rejected`], with a variant for each reason; see the module.
pub(crate) fn private(file: &[u8]) -> Result<KeyParts, Error> {
    let expected = Expected::PrivateKey;
    check_length(file)?;
    match block(file, expected)? {
        Some(der) => private_der(&der),
        None => private_der(file),
    }
}

/// Reads an RSA public key, PEM or DER, PKCS#1 or SPKI, from the contents of a file.
///
/// Of several PEM blocks the first public key is read. Nothing is checked but the format.
///
/// # Errors
///
/// [`Rejected`], with a variant for each reason; see the module.
pub(crate) fn public(file: &[u8]) -> Result<PublicParts, Error> {
    let expected = Expected::PublicKey;
    check_length(file)?;
    match block(file, expected)? {
        Some(der) => public_der(&der),
        None => public_der(file),
    }
}

fn check_length(file: &[u8]) -> Result<(), Error> {
    if file.len() <= LIMIT_BYTES {
        return Ok(());
    }
    Err(Rejected::InputLength { found_bytes: file.len(), limit_bytes: LIMIT_BYTES }.into())
}

/// The longest input that is read, in bytes: a key of 8192 bits after a long certificate chain.
pub(crate) const LIMIT_BYTES: usize = 1 << 16;

// PEM

/// Returns the DER of the first PEM block that is called what is expected; `None` for DER.
fn block(file: &[u8], expected: Expected) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    let labels = match expected {
        Expected::PrivateKey => ["PRIVATE KEY", "RSA PRIVATE KEY"],
        Expected::PublicKey => ["PUBLIC KEY", "RSA PUBLIC KEY"],
    };
    let mut refused = None;
    let mut rest = file;
    while let Some(begin) = find(rest, BEGIN) {
        let block = Block::read(&rest[begin + BEGIN.len()..])?;
        let is_key = labels.iter().any(|label| label.as_bytes() == block.label);
        if expected == Expected::PrivateKey && (is_key && block.has_encryption_header())
            || block.label == b"ENCRYPTED PRIVATE KEY"
        {
            return Err(Rejected::Encrypted.into());
        }
        if is_key {
            return block.decode().map(Some);
        }
        refused = Some(block.refusal(expected));
        rest = block.rest;
    }
    match refused {
        Some(refusal) => Err(refusal.into()),
        None if file.first() == Some(&SEQUENCE) => Ok(None),
        None => Err(Rejected::NotAKey.into()),
    }
}

/// What stands between a BEGIN line and its END line.
struct Block<'a> {
    label: &'a [u8],
    body: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Block<'a> {
    /// Reads a block from behind its `-----BEGIN `.
    fn read(text: &'a [u8]) -> Result<Self, Error> {
        let Some(label_len) = find(text, DASHES) else {
            let end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
            return Err(Rejected::PemTruncated { label: printable(&text[..end]) }.into());
        };
        let label = &text[..label_len];
        let text = &text[label_len + DASHES.len()..];
        // The next dashes must be those of the END line, with the same label.
        let matching = |body_len: usize| {
            let rest = text[body_len..].strip_prefix(END)?.strip_prefix(label)?;
            Some(Self { label, body: &text[..body_len], rest: rest.strip_prefix(DASHES)? })
        };
        find(text, DASHES)
            .and_then(matching)
            .ok_or_else(|| Rejected::PemTruncated { label: printable(label) }.into())
    }

    /// The header of an encrypted key in OpenSSL's traditional format: RFC 1421 §4.6.1.1.
    fn has_encryption_header(&self) -> bool {
        find(self.body, b"Proc-Type:").is_some() && find(self.body, b"ENCRYPTED").is_some()
    }

    fn decode(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let wrong = |_| Rejected::PemBase64 { label: printable(self.label) };
        // Reserved at once: growing would leave copies of the key behind.
        let mut base64 = Zeroizing::new(Vec::with_capacity(self.body.len()));
        base64.extend(self.body.iter().copied().filter(|byte| !byte.is_ascii_whitespace()));
        let mut decoder = Base64Decoder::new(&base64).map_err(wrong)?;
        let mut der = Zeroizing::new(vec![0; decoder.remaining_len()]);
        decoder.decode(&mut der).map_err(wrong)?;
        Ok(der)
    }

    fn refusal(&self, expected: Expected) -> Rejected {
        let found = match self.label {
            b"CERTIFICATE"
            | b"X509 CERTIFICATE"
            | b"TRUSTED CERTIFICATE"
            | b"CERTIFICATE REQUEST"
            | b"NEW CERTIFICATE REQUEST" => Found::Certificate,
            b"EC PRIVATE KEY" => Found::EcPrivateKey,
            b"PRIVATE KEY" | b"RSA PRIVATE KEY" => Found::PrivateKey,
            b"PUBLIC KEY" | b"RSA PUBLIC KEY" => Found::PublicKey,
            label => {
                return Rejected::PemLabel { label: printable(label), expected };
            }
        };
        Rejected::Unexpected { found, expected }
    }
}

/// A label as it may stand in a message of one line.
fn printable(label: &[u8]) -> String {
    const SHOWN: usize = 40; // twice the longest label in use
    let show = |&byte: &u8| {
        if matches!(byte, b' '..=b'~') { char::from(byte) } else { '?' }
    };
    label.iter().take(SHOWN).map(show).collect()
}

fn find(text: &[u8], pattern: &[u8]) -> Option<usize> {
    text.windows(pattern.len()).position(|window| window == pattern)
}

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";

// DER

fn private_der(der: &[u8]) -> Result<KeyParts, Error> {
    let found = match Shape::of(der)? {
        Shape::Pkcs1 => return private_pkcs1(der),
        Shape::Pkcs8 => return private_pkcs8(der),
        Shape::Encrypted => return Err(Rejected::Encrypted.into()),
        Shape::Pkcs1Public | Shape::Spki => Found::PublicKey,
        Shape::Certificate => Found::Certificate,
        Shape::EcPrivateKey => Found::EcPrivateKey,
    };
    Err(Rejected::Unexpected { found, expected: Expected::PrivateKey }.into())
}

fn public_der(der: &[u8]) -> Result<PublicParts, Error> {
    let found = match Shape::of(der)? {
        Shape::Pkcs1Public => return public_pkcs1(der),
        Shape::Spki => return public_spki(der),
        Shape::Pkcs1 | Shape::Pkcs8 | Shape::Encrypted => Found::PrivateKey,
        Shape::Certificate => Found::Certificate,
        Shape::EcPrivateKey => Found::EcPrivateKey,
    };
    Err(Rejected::Unexpected { found, expected: Expected::PublicKey }.into())
}

fn private_pkcs8(der: &[u8]) -> Result<KeyParts, Error> {
    let info = PrivateKeyInfoRef::from_der(der).map_err(malformed("PKCS#8 PrivateKeyInfo"))?;
    check_algorithm(&info.algorithm)?;
    private_pkcs1(info.private_key.as_bytes())
}

fn private_pkcs1(der: &[u8]) -> Result<KeyParts, Error> {
    let key = RsaPrivateKeyRef::from_der(der)
        .map_err(|error| malformed(first_bad(der, &PRIVATE_FIELDS))(error))?;
    if key.other_prime_infos.is_some() {
        return Err(Rejected::MultiPrime.into());
    }
    let secret = |number: UintRef<'_>| Zeroizing::new(number.as_bytes().to_vec());
    Ok(KeyParts {
        n: key.modulus.as_bytes().to_vec(),
        e: key.public_exponent.as_bytes().to_vec(),
        d: secret(key.private_exponent),
        p: secret(key.prime1),
        q: secret(key.prime2),
        d_p: secret(key.exponent1),
        d_q: secret(key.exponent2),
        q_inv: secret(key.coefficient),
    })
}

fn public_spki(der: &[u8]) -> Result<PublicParts, Error> {
    let info = SubjectPublicKeyInfoRef::from_der(der).map_err(malformed("SubjectPublicKeyInfo"))?;
    check_algorithm(&info.algorithm)?;
    let key = info.subject_public_key.as_bytes().ok_or_else(|| Rejected::Der {
        field: "SubjectPublicKeyInfo, subjectPublicKey",
        what: "a BIT STRING that is not whole bytes".into(),
    })?;
    public_pkcs1(key)
}

fn public_pkcs1(der: &[u8]) -> Result<PublicParts, Error> {
    let key = RsaPublicKeyRef::from_der(der)
        .map_err(|error| malformed(first_bad(der, &PUBLIC_FIELDS))(error))?;
    Ok(PublicParts {
        n: key.modulus.as_bytes().to_vec(),
        e: key.public_exponent.as_bytes().to_vec(),
    })
}

/// Demands `rsaEncryption` with the parameters NULL, or none.
fn check_algorithm(algorithm: &AlgorithmIdentifierRef<'_>) -> Result<(), Error> {
    if algorithm.oid != pkcs1::ALGORITHM_OID {
        return Err(Rejected::NotRsa { algorithm: algorithm_name(algorithm.oid) }.into());
    }
    if algorithm.parameters.is_none_or(|parameters| parameters.is_null()) {
        return Ok(());
    }
    let what = "parameters that are neither NULL nor absent".into();
    Err(Rejected::Der { field: "the algorithm identifier rsaEncryption", what }.into())
}

fn algorithm_name(oid: ObjectIdentifier) -> String {
    let digits = oid.to_string();
    let name = match digits.as_str() {
        "1.2.840.113549.1.1.7" => "RSAES-OAEP",
        "1.2.840.113549.1.1.10" => "RSASSA-PSS",
        "1.2.840.113549.1.3.1" => "DH",
        "1.2.840.10040.4.1" => "DSA",
        "1.2.840.10045.2.1" => "elliptic curves",
        "1.3.101.110" => "X25519",
        "1.3.101.111" => "X448",
        "1.3.101.112" => "Ed25519",
        "1.3.101.113" => "Ed448",
        _ => "an algorithm not known here",
    };
    format!("{name} ({digits})")
}

/// What a structure is, by the tags of its first three fields.
enum Shape {
    Certificate,
    EcPrivateKey,
    Encrypted,
    Pkcs1,
    Pkcs1Public,
    Pkcs8,
    Spki,
}

impl Shape {
    fn of(der: &[u8]) -> Result<Self, Error> {
        let field = "the outer SEQUENCE";
        let outer = AnyRef::from_der(der).map_err(malformed(field))?;
        let mut reader = SliceReader::new(outer.value()).map_err(malformed(field))?;
        let mut fields = iter::from_fn(|| AnyRef::decode(&mut reader).ok());
        let mut tag = || fields.next().map(|field| der::Tagged::tag(&field));
        match (tag(), tag(), tag()) {
            (Some(Tag::Integer), Some(Tag::Integer), None) => Ok(Self::Pkcs1Public),
            (Some(Tag::Integer), Some(Tag::Integer), Some(_)) => Ok(Self::Pkcs1),
            (Some(Tag::Integer), Some(Tag::Sequence), _) => Ok(Self::Pkcs8),
            (Some(Tag::Integer), Some(Tag::OctetString), _) => Ok(Self::EcPrivateKey),
            (Some(Tag::Sequence), Some(Tag::OctetString), None) => Ok(Self::Encrypted),
            (Some(Tag::Sequence), Some(Tag::BitString), None) => Ok(Self::Spki),
            (Some(Tag::Sequence), Some(Tag::Sequence), Some(Tag::BitString)) => {
                Ok(Self::Certificate)
            }
            _ => Err(Rejected::Der { field, what: "not the fields of a key".into() }.into()),
        }
    }
}

/// Names the first field that is no unsigned number, after `der` was found malformed.
fn first_bad(der: &[u8], fields: &[&'static str]) -> &'static str {
    let Ok(outer) = AnyRef::from_der(der) else {
        return "the SEQUENCE of the RSA key";
    };
    let Ok(mut reader) = SliceReader::new(outer.value()) else {
        return "the SEQUENCE of the RSA key";
    };
    let bad = fields.iter().find(|_| UintRef::decode(&mut reader).is_err());
    bad.copied().unwrap_or("the end of the RSA key")
}

/// An error of the DER reader as ours. Its text has tags, lengths and positions, no contents.
fn malformed(field: &'static str) -> impl Fn(der::Error) -> Error {
    move |error| Rejected::Der { field, what: error.to_string() }.into()
}

const SEQUENCE: u8 = 0x30;

const PRIVATE_FIELDS: [&str; 9] = [
    "version",
    "modulus n",
    "publicExponent e",
    "privateExponent d",
    "prime1 p",
    "prime2 q",
    "exponent1 d_p",
    "exponent2 d_q",
    "coefficient q_inv",
];

const PUBLIC_FIELDS: [&str; 2] = ["modulus n", "publicExponent e"];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    const PKCS8: &[u8] = include_bytes!("../../../../vectors/keys/rsa-2048.pem");
    const PKCS1: &[u8] = include_bytes!("../../../../vectors/keys/rsa-2048-pkcs1.pem");
    const SPKI: &[u8] = include_bytes!("../../../../vectors/keys/rsa-2048.pub.pem");
    const ENCRYPTED: &[u8] = include_bytes!("../../../../vectors/keys/rsa-2048-encrypted.pem");
    const PRIMES: &[u8] = include_bytes!("../../../../vectors/keys/rsa-2048-3primes.pem");
    const EC: &[u8] = include_bytes!("../../../../vectors/keys/ec-p256.pem");
    const ED25519: &[u8] = include_bytes!("../../../../vectors/keys/ed25519.pem");

    /// The DER of the first block, whatever its label is.
    fn der(pem: &[u8]) -> Vec<u8> {
        Block::read(&pem[BEGIN.len()..]).unwrap().decode().unwrap().to_vec()
    }

    fn pem(label: &str, der: &[u8]) -> Vec<u8> {
        der::pem::encode_string(label, der::pem::LineEnding::LF, der).unwrap().into_bytes()
    }

    /// One DER element; bodies below 2^16 bytes.
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

    /// The numbers as `openssl rsa -text` shows their ends; n ends where every format agrees.
    #[test]
    fn every_format_gives_the_same_numbers() {
        let key = private(PKCS8).unwrap();
        assert_eq!((key.n.len(), key.e.as_slice()), (256, &[1, 0, 1][..]));
        assert_eq!((key.p.len(), key.q.len()), (128, 128));
        let pkcs1_pem = private(PKCS1).unwrap();
        let pkcs1_der = private(&der(PKCS1)).unwrap();
        let pkcs8_der = private(&der(PKCS8)).unwrap();
        for other in [pkcs1_pem, pkcs1_der, pkcs8_der] {
            assert_eq!((&key.n, &key.e), (&other.n, &other.e));
            assert_eq!((&key.d, &key.p, &key.q), (&other.d, &other.p, &other.q));
            assert_eq!((&key.d_p, &key.d_q), (&other.d_p, &other.d_q));
            assert_eq!(key.q_inv, other.q_inv);
        }
        let expected = PublicParts { n: key.n.clone(), e: key.e };
        let spki = der(SPKI);
        let info = SubjectPublicKeyInfoRef::from_der(&spki).unwrap();
        let pkcs1 = info.subject_public_key.raw_bytes();
        for file in [SPKI, &spki, pkcs1, &pem("RSA PUBLIC KEY", pkcs1)] {
            assert_eq!(public(file).unwrap(), expected);
        }
    }

    #[test]
    fn text_and_other_blocks_around_the_key_are_skipped() {
        let key = private(PKCS8).unwrap();
        let chain = pem("CERTIFICATE", b"a certificate");
        let bag = b"Bag Attributes\n    localKeyID: 01 \nKey Attributes: <No Attributes>\n";
        let crlf: Vec<u8> = String::from_utf8_lossy(PKCS8).replace('\n', "\r\n").into();
        let one_line: Vec<u8> = {
            let text = String::from_utf8_lossy(PKCS8).replace('\n', "");
            text.replace("KEY-----M", "KEY-----\nM").replace("-----END", "\n-----END").into()
        };
        for file in [
            [bag, PKCS8].concat(),
            [&chain, PKCS8].concat(),
            [PKCS8, &chain].concat(),
            [&chain, &b"a remark\n"[..], &chain, PKCS8, b"\0 and more"].concat(),
            [PKCS8, PKCS1].concat(),
            crlf,
            one_line,
        ] {
            assert_eq!(private(&file).unwrap().n, key.n, "{}", String::from_utf8_lossy(&file));
        }
    }

    #[test]
    fn what_is_no_key_is_named() {
        use Expected::{PrivateKey, PublicKey};
        use Found::{Certificate, EcPrivateKey};
        let unexpected = |found, expected| Rejected::Unexpected { found, expected };

        for file in [&b""[..], b"\n", b"hello", b"\xff\xfe-\0-", b"-----BEGINPRIVATE KEY-----"] {
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
        // SEC 1: INTEGER 1, OCTET STRING, and as openssl ecparam -genkey writes it, after its curve
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
    fn encrypted_keys_say_how_to_decrypt_them() {
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
        // SubjectPublicKeyInfo of RSASSA-PSS and of nothing known
        for (oid, algorithm) in [
            ("06092a864886f70d01010a", "RSASSA-PSS (1.2.840.113549.1.1.10)"),
            ("06012a", "an algorithm not known here (1.2)"),
        ] {
            let oid = hex::decode(oid).unwrap();
            let file = tlv(0x30, &[tlv(0x30, &oid), tlv(3, &[0, 1])].concat());
            assert_eq!(rejected(public(&file)), Rejected::NotRsa { algorithm: algorithm.into() });
        }
    }

    #[test]
    fn damaged_pem_is_told_from_damaged_der() {
        let label = || String::from("PRIVATE KEY");
        let end = PKCS8.len() - "-----END PRIVATE KEY-----\n".len();
        for file in [
            &PKCS8[..end],                                                 // no END line
            &PKCS8[..PKCS8.len() - 3],                                     // half of its dashes
            &PKCS8[..end / 2],                // nothing after the middle
            &[&PKCS8[..end], PKCS1].concat(), // another BEGIN line first
            &[&PKCS8[..end], b"-----END RSA PRIVATE KEY-----\n"].concat(), // of another block
        ] {
            assert_eq!(rejected(private(file)), Rejected::PemTruncated { label: label() });
        }
        assert_eq!(
            rejected(private(b"-----BEGIN PRIVATE KE")),
            Rejected::PemTruncated { label: "PRIVATE KE".into() }
        );
        let text = String::from_utf8_lossy(PKCS8);
        for (from, to) in [("MII", "M!I"), ("\n-----END", "A\n-----END"), ("MII", "A: b\n\nMII")] {
            let file = text.replacen(from, to, 1);
            assert_eq!(
                rejected(private(file.as_bytes())),
                Rejected::PemBase64 { label: label() },
                "{from} -> {to}"
            );
        }
        // Lines lost in the middle: base64 is whole, the DER is not.
        let lines: Vec<_> = text.lines().enumerate().filter(|(i, _)| *i != 5).collect();
        let file: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
        assert_eq!(field_of(private(file.as_bytes())), "the outer SEQUENCE");
    }

    #[test]
    fn damaged_der_names_the_field() {
        let one = tlv(2, &[1]);
        for (bad, expected) in PRIVATE_FIELDS.into_iter().enumerate() {
            for damage in [vec![], vec![0, 1], vec![0x80]] {
                // no digits; a leading zero that DER forbids; a negative number
                let mut fields = vec![one.clone(); 9];
                fields[0] = tlv(2, &[0]);
                fields[bad] = tlv(2, &damage);
                let file = tlv(0x30, &fields.concat());
                assert_eq!(field_of(private(&file)), expected, "{damage:?}");
            }
            // and a structure that ends before the field (with two numbers it is a public key)
            if bad > 2 {
                let fields = [tlv(2, &[0]), vec![one.clone(); bad - 1].concat()].concat();
                assert_eq!(field_of(private(&tlv(0x30, &fields))), expected);
            }
        }
        for (bad, expected) in PUBLIC_FIELDS.into_iter().enumerate() {
            let mut fields = vec![one.clone(); 2];
            fields[bad] = tlv(2, &[]);
            assert_eq!(field_of(public(&tlv(0x30, &fields.concat()))), expected);
        }
        // a tenth field that is no list of primes; a version of multi-prime keys without primes
        let ten = tlv(0x30, &[tlv(2, &[0]), vec![one.clone(); 9].concat()].concat());
        assert_eq!(field_of(private(&ten)), "the end of the RSA key");
        let multi = tlv(0x30, &vec![one; 9].concat());
        assert_eq!(field_of(private(&multi)), "the end of the RSA key");
        assert_eq!(rejected(private(PRIMES)), Rejected::MultiPrime);
    }

    #[test]
    fn data_after_the_structure_is_refused() {
        for file in [PKCS8, PKCS1] {
            let longer = [der(file).as_slice(), &[0]].concat();
            assert_eq!(field_of(private(&longer)), "the outer SEQUENCE");
        }
        assert_eq!(field_of(public(&[der(SPKI).as_slice(), &[0]].concat())), "the outer SEQUENCE");
        // inside of the OCTET STRING of PKCS#8 and of the BIT STRING of SPKI
        let rsa = hex::decode("06092a864886f70d0101010500").unwrap();
        let inner = [der(PKCS1).as_slice(), &[0]].concat();
        let pkcs8 = [tlv(2, &[0]), tlv(0x30, &rsa), tlv(4, &inner)].concat();
        assert_eq!(field_of(private(&tlv(0x30, &pkcs8))), "the SEQUENCE of the RSA key");
        let key = tlv(0x30, &[tlv(2, &[1]), tlv(2, &[1])].concat());
        let spki = [tlv(0x30, &rsa), tlv(3, &[&[0], key.as_slice(), &[0]].concat())].concat();
        assert_eq!(field_of(public(&tlv(0x30, &spki))), "the SEQUENCE of the RSA key");
    }

    #[test]
    fn parameters_are_null_or_absent() {
        let oid = hex::decode("06092a864886f70d010101").unwrap();
        let key =
            tlv(3, &[&[0], tlv(0x30, &[tlv(2, &[7]), tlv(2, &[3])].concat()).as_slice()].concat());
        let spki = |parameters: &[u8]| {
            tlv(0x30, &[tlv(0x30, &[&oid, parameters].concat()), key.clone()].concat())
        };
        let expected = PublicParts { n: vec![7], e: vec![3] };
        assert_eq!(public(&spki(&[5, 0])), Ok(expected.clone()));
        assert_eq!(public(&spki(&[])), Ok(expected));
        assert_eq!(field_of(public(&spki(&[2, 1, 1]))), "the algorithm identifier rsaEncryption");
        let bits = tlv(0x30, &[tlv(0x30, &[&oid[..], &[5, 0]].concat()), tlv(3, &[1, 2])].concat());
        assert_eq!(field_of(public(&bits)), "SubjectPublicKeyInfo, subjectPublicKey");
    }

    #[test]
    fn damaged_wrappers_are_named() {
        // an algorithm identifier without an identifier
        let pkcs8 = tlv(0x30, &[tlv(2, &[0]), tlv(0x30, &[]), tlv(4, &[])].concat());
        assert_eq!(field_of(private(&pkcs8)), "PKCS#8 PrivateKeyInfo");
        let spki = tlv(0x30, &[tlv(0x30, &[]), tlv(3, &[0])].concat());
        assert_eq!(field_of(public(&spki)), "SubjectPublicKeyInfo");
        assert_eq!(field_of(private(&tlv(0x30, &[]))), "the outer SEQUENCE");
        assert_eq!(field_of(public(&[0x30])), "the outer SEQUENCE");
    }

    #[test]
    fn long_input_is_not_read() {
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
}
