//! The command `openssl` with EC keys: it signs with the module, and does everything else as
//! without it.

use crate::host::openssl_conf::Folder;

/// Returns a folder whose configuration offers ECDSA and counts, with a key, its public half, and a
/// message.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.configure_counted("ecdsa = on");
    for (curve, name) in [("P-256", "key"), ("P-384", "p384"), ("secp256k1", "k1")] {
        let new = "genpkey -algorithm EC -pkeyopt";
        folder.openssl(false, &format!("{new} ec_paramgen_curve:{curve} -out {name}.pem"));
        folder.openssl(false, &format!("pkey -in {name}.pem -pubout -out {name}-public.pem"));
    }
    folder.openssl(false, "ec -in key.pem -param_enc explicit -out explicit.pem");
    folder.openssl(false, "ec -in key.pem -conv_form compressed -out compressed.pem");
    folder.write("message", b"a message");
    folder
}

/// Returns the number of signatures of all processes that have ended.
fn signatures(folder: &Folder) -> u64 {
    folder.counted("ecdsa_signatures").0
}

const DIGESTS: [&str; 13] = [
    "md5",
    "md5-sha1",
    "sha1",
    "ripemd160",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "sha512-256",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
];

#[test]
fn messages_are_signed_and_verified() {
    let folder = folder();
    let mut expected = 0;
    for (key, public, is_ours) in [
        ("key", "key", true),
        ("compressed", "key", true),
        ("explicit", "key", false),
        ("p384", "p384", false),
        ("k1", "k1", false),
    ] {
        let digests = if key == "key" { &DIGESTS[..] } else { &["sha256"] };
        for digest in digests {
            let sign = format!("dgst -{digest} -sign {key}.pem -out signature message");
            let verify = "-signature signature message";
            let by_public = format!("dgst -{digest} -verify {public}-public.pem {verify}");
            let by_private = format!("dgst -{digest} -prverify {key}.pem {verify}");
            for (signs, verifies) in [(true, false), (false, true), (true, true)] {
                folder.openssl(signs, &sign);
                expected += u64::from(signs && is_ours);
                assert_eq!(signatures(&folder), expected, "{sign}");
                assert_eq!(folder.openssl(verifies, &by_public), b"Verified OK\n");
                assert_eq!(folder.openssl(verifies, &by_private), b"Verified OK\n");
            }
            folder.write("message", b"another message");
            assert!(!folder.output(true, &by_private).status.success(), "{digest}");
            folder.write("message", b"a message");
        }
    }
}

#[test]
fn digests_are_signed_and_verified() {
    let folder = folder();
    for (len, option) in
        [(32, "-pkeyopt digest:sha256"), (1, ""), (20, ""), (31, ""), (32, ""), (33, ""), (64, "")]
    {
        folder.write("digest", &vec![7; len]);
        for signs in [false, true] {
            let options = format!("{option} -inkey key.pem -in digest");
            folder.openssl(signs, &format!("pkeyutl -sign {options} -out signature"));
            for verifies in [false, true] {
                folder.openssl(verifies, &format!("pkeyutl -verify {options} -sigfile signature"));
            }
        }
    }
    assert_eq!(signatures(&folder), 7);
}

/// Certificates and requests, which name the algorithm; CMS, which copies contexts.
#[test]
fn certificates_are_signed_and_verified() {
    let folder = folder();
    for (makes, reads) in [(true, false), (false, true), (true, true)] {
        let before = signatures(&folder);
        let make = |words: &str| folder.openssl(makes, words);
        let read = |words: &str| folder.openssl(reads, words);
        make(
            "req -x509 -key key.pem -sha384 -subj /CN=ca -addext basicConstraints=CA:TRUE -out \
             ca.pem",
        );
        make("req -new -key p384.pem -subj /CN=leaf -out leaf.csr");
        make("x509 -req -in leaf.csr -CA ca.pem -CAkey key.pem -set_serial 1 -out leaf.pem");
        make("req -new -key key.pem -subj /CN=own -out own.csr");
        read("req -in own.csr -noout -verify");
        read("verify -CAfile ca.pem ca.pem");
        read("verify -CAfile ca.pem leaf.pem");
        let text = String::from_utf8(read("x509 -in ca.pem -noout -text")).unwrap();
        assert!(text.contains("Signature Algorithm: ecdsa-with-SHA384"), "{text}");
        make("cms -sign -in message -signer ca.pem -inkey key.pem -out message.cms");
        read("cms -verify -in message.cms -CAfile ca.pem -purpose any");
        assert_eq!(signatures(&folder) - before, if makes { 4 } else { 0 });
    }
}

/// Keys are made, read and written as without the module, and agree with each other.
#[test]
fn keys_are_openssl_s() {
    let folder = folder();
    for words in [
        "pkey -in key.pem -text",
        "pkey -in key.pem -text -noout -check",
        "pkey -in key.pem -outform DER",
        "pkey -in key-public.pem -pubin -text -noout -pubcheck",
        "ec -in explicit.pem -text -param_enc explicit",
        "ec -in compressed.pem -text -conv_form compressed",
        "pkeyutl -derive -inkey key.pem -peerkey key-public.pem",
        "pkeyutl -derive -inkey p384.pem -peerkey p384-public.pem",
    ] {
        folder.same(words);
    }
    for words in [
        "ecparam -name prime256v1 -genkey -noout -out new.pem",
        "ecparam -name secp521r1 -genkey -noout -param_enc explicit -out new.pem",
        "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:brainpoolP256r1 -out new.pem",
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout new.pem -subj /CN=x \
         -out new-cert.pem",
    ] {
        folder.openssl(true, words);
        folder.same("pkey -in new.pem -text -check");
    }
    let speed = folder.output(true, "speed -seconds 1 ecdsap256");
    assert!(speed.status.success(), "{}", String::from_utf8_lossy(&speed.stderr));
    assert!(signatures(&folder) > 100);
}
