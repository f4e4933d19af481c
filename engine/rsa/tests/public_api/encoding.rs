//! Written keys read back unchanged, here and in OpenSSL.

use openssl::pkey::Private;
use openssl::rsa::Rsa;
use tollgate_rsa::pkcs1::{
    DecodeRsaPrivateKey as _, DecodeRsaPublicKey as _, EncodeRsaPrivateKey as _,
    EncodeRsaPublicKey as _,
};
use tollgate_rsa::pkcs8::{
    self, DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _,
    LineEnding,
};
use tollgate_rsa::{KeyParts, PrivateKey, PublicKey, pkcs1};

use crate::{KEYS, Key, read};

fn trim(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().take_while(|&&byte| byte == 0).count()..]
}

#[track_caller]
fn assert_same(parts: &KeyParts, key: &Rsa<Private>) {
    assert_eq!(parts.n, key.n().to_vec());
    assert_eq!(parts.e, key.e().to_vec());
    for (ours, theirs) in [
        (&parts.d, Some(key.d())),
        (&parts.p, key.p()),
        (&parts.q, key.q()),
        (&parts.d_p, key.dmp1()),
        (&parts.d_q, key.dmq1()),
        (&parts.q_inv, key.iqmp()),
    ] {
        assert_eq!(trim(ours), theirs.unwrap().to_vec());
    }
}

#[test]
fn every_format_of_a_private_key_reads_back() {
    for (name, _) in KEYS {
        let Key { ours: key, theirs: their_pkey } = Key::read(name);
        let theirs = their_pkey.rsa().unwrap();
        assert_same(&key.to_parts(), &theirs);
        let again = PrivateKey::from_parts(&key.to_parts()).unwrap();
        assert_same(&again.to_parts(), &theirs);

        let pkcs1 = key.to_pkcs1_der().unwrap();
        assert_eq!(pkcs1.as_bytes(), theirs.private_key_to_der().unwrap(), "{name}");
        let pkcs8 = key.to_pkcs8_der().unwrap();
        assert_eq!(pkcs8.as_bytes(), their_pkey.private_key_to_pkcs8().unwrap(), "{name}");

        let pkcs1_pem = key.to_pkcs1_pem(LineEnding::LF).unwrap();
        let text = theirs.private_key_to_pem().unwrap();
        assert_eq!(pkcs1_pem.as_bytes(), text, "{name}");
        let pkcs8_pem = key.to_pkcs8_pem(LineEnding::CRLF).unwrap();
        for read in [
            PrivateKey::from_pem(&pkcs1_pem).unwrap(),
            PrivateKey::from_pem(&pkcs8_pem).unwrap(),
            PrivateKey::from_pkcs1_der(pkcs1.as_bytes()).unwrap(),
            PrivateKey::from_pkcs8_der(pkcs8.as_bytes()).unwrap(),
            PrivateKey::from_pkcs1_pem(&pkcs1_pem).unwrap(),
            PrivateKey::from_pkcs8_pem(&pkcs8_pem).unwrap(),
        ] {
            assert_same(&read.to_parts(), &theirs);
        }
    }
}

#[test]
fn every_format_of_a_public_key_reads_back() {
    for (name, _) in KEYS {
        let Key { ours, theirs } = Key::read(name);
        let (key, theirs) = (ours.public(), theirs.rsa().unwrap());
        let (pkcs1, spki) = (key.to_pkcs1_der().unwrap(), key.to_public_key_der().unwrap());
        assert_eq!(pkcs1.as_bytes(), theirs.public_key_to_der_pkcs1().unwrap(), "{name}");
        assert_eq!(spki.as_bytes(), theirs.public_key_to_der().unwrap(), "{name}");
        let pkcs1_pem = key.to_pkcs1_pem(LineEnding::LF).unwrap();
        let spki_pem = key.to_public_key_pem(LineEnding::LF).unwrap();
        assert_eq!(pkcs1_pem.as_bytes(), theirs.public_key_to_pem_pkcs1().unwrap(), "{name}");
        assert_eq!(spki_pem.as_bytes(), theirs.public_key_to_pem().unwrap(), "{name}");
        for read in [
            PublicKey::from_pem(&pkcs1_pem).unwrap(),
            PublicKey::from_pem(&spki_pem).unwrap(),
            PublicKey::from_pkcs1_der(pkcs1.as_bytes()).unwrap(),
            PublicKey::from_public_key_der(spki.as_bytes()).unwrap(),
            PublicKey::from_pkcs1_pem(&pkcs1_pem).unwrap(),
            PublicKey::from_public_key_pem(&spki_pem).unwrap(),
        ] {
            assert_eq!((read.modulus(), read.exponent()), (key.modulus(), key.exponent()));
        }
    }
}

#[test]
fn the_traits_refuse_what_the_readers_refuse() {
    use pkcs8::{Error, KeyError};

    let of = |name: &str| PrivateKey::from_pkcs8_pem(&read(name)).map(|_| ()).unwrap_err();
    let unknown =
        |oid: &str| Error::PublicKey(spki::Error::OidUnknown { oid: oid.parse().unwrap() });
    assert_eq!(of("bad/bad-dp.pem"), Error::KeyMalformed(KeyError::Invalid));
    assert_eq!(of("bad/rsa-9000.pem"), Error::KeyMalformed(KeyError::TooLong));
    assert_eq!(of("ec-p256.pem"), unknown("1.2.840.10045.2.1"));
    assert_eq!(of("ed25519.pem"), unknown("1.3.101.112"));
    // PKCS#8 instead of PKCS#1, and the reverse
    let key = PrivateKey::from_pem(&read("rsa-2048.pem")).unwrap();
    let (pkcs1, pkcs8) = (key.to_pkcs1_der().unwrap(), key.to_pkcs8_der().unwrap());
    assert!(PrivateKey::from_pkcs8_der(pkcs1.as_bytes()).is_err());
    assert_eq!(
        PrivateKey::from_pkcs1_der(pkcs8.as_bytes()).map(|_| ()).unwrap_err(),
        pkcs1::Error::KeyMalformed
    );
    // n = 15 and e = 3: well-formed, but not a valid key
    let small = [0x30, 6, 2, 1, 15, 2, 1, 3];
    assert_eq!(PublicKey::from_pkcs1_der(&small).unwrap_err(), pkcs1::Error::Crypto);
}
