//! Compares the output of the command `openssl` with and without the module: deterministic output
//! is identical, and each side accepts the randomized output of the other.

use crate::host::openssl_conf::Folder;
use crate::host::pem;

const DIGESTS: [&str; 14] = [
    "md5",
    "md5-sha1",
    "ripemd160",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "sha512-224",
    "sha512-256",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
];

/// The two directions: which side creates the output, and which one consumes it.
const DIRECTIONS: [(bool, bool); 2] = [(true, false), (false, true)];

/// Returns a folder with a message, a key, and the key's public half.
fn folder(key: &str) -> Folder {
    let folder = Folder::new();
    folder.write("message", &[7; 100_000]);
    folder.write("key.pem", pem(key).as_bytes());
    folder.openssl(false, "pkey -in key.pem -pubout -out public.pem");
    folder
}

/// Returns the command that verifies the file `signature`.
fn verify(options: &str) -> String {
    format!("dgst {options} -verify public.pem -signature signature message")
}

#[test]
fn dgst_of_all_digests() {
    for key in ["rsa-1024.pem", "rsa-2047.pem", "rsa-4096.pem", "rsa-2048-3primes.pem"] {
        let folder = folder(key);
        for digest in DIGESTS {
            let signature = folder.same(&format!("dgst -{digest} -sign key.pem message"));
            folder.write("signature", &signature);
            let verify = verify(&format!("-{digest}"));
            assert_eq!(folder.same(&verify), b"Verified OK\n");
            folder.same(&verify.replace("-verify public.pem", "-prverify key.pem"));
            folder.write("signature", &[&signature[1..], &[1]].concat());
            assert!(!folder.output(true, &verify).status.success(), "{digest}");
        }
    }
}

/// Debian's OpenSSL has no MDC2. MD4 is in the legacy provider, a separate package. OpenSSL signs
/// with SM3 since 3.2.
#[test]
fn signatures_with_rare_digests() {
    let folder = folder("rsa-2048.pem");
    for (digest, length) in [("md4", 16), ("mdc2", 16), ("sm3", 32)] {
        let legacy = "-provider legacy -provider default";
        let sign = format!("dgst {legacy} -{digest} -sign key.pem message");
        if !folder.output(false, &sign).status.success() {
            eprintln!("{digest} NOT RUN: this OpenSSL does not sign with it");
            continue;
        }
        folder.write("signature", &folder.same(&sign));
        let verify = verify(&format!("{legacy} -{digest}"));
        assert_eq!(folder.same(&verify), b"Verified OK\n", "{digest}");
        folder.write("input", &vec![7; length]);
        folder.same(&format!(
            "pkeyutl {legacy} -sign -inkey key.pem -in input -pkeyopt digest:{digest}"
        ));
    }
}

#[test]
fn dgst_with_x931() {
    for key in ["rsa-1024.pem", "rsa-2048.pem"] {
        let folder = folder(key);
        for digest in ["sha1", "sha256", "sha384", "sha512"] {
            // about half of the signatures are n - s rather than s
            for i in 0..6 {
                folder.write("message", &[i; 20]);
                let options = format!("-{digest} -sigopt rsa_padding_mode:x931");
                let signature = folder.same(&format!("dgst {options} -sign key.pem message"));
                folder.write("signature", &signature);
                let verify = verify(&options);
                assert_eq!(folder.same(&verify), b"Verified OK\n");
                folder.write("message", b"another message");
                assert!(!folder.output(true, &verify).status.success(), "{digest}");
            }
        }
        folder.write("input", &[7; 32]);
        let options = "-pkeyopt digest:sha256 -pkeyopt rsa_padding_mode:x931";
        let sign = format!("pkeyutl -sign -inkey key.pem -in input {options}");
        folder.write("signature", &folder.same(&sign));
        let recover = "pkeyutl -verifyrecover -pubin -inkey public.pem -in signature";
        assert_eq!(folder.same(&format!("{recover} {options}")), [7; 32]);
    }
}

#[test]
fn dgst_with_pss_and_weak_digests() {
    let folder = folder("rsa-2048.pem");
    let mgf1 = "-sigopt rsa_mgf1_md:sha512";
    for (digest, more) in [("md5", ""), ("md5-sha1", ""), ("ripemd160", ""), ("sha1", mgf1)] {
        let options = format!("-{digest} -sigopt rsa_padding_mode:pss {more}");
        for (signer, verifier) in DIRECTIONS {
            let sign = format!("dgst {options} -sign key.pem -out signature message");
            folder.openssl(signer, &sign);
            let verified = folder.openssl(verifier, &verify(&options));
            assert_eq!(verified, b"Verified OK\n", "{digest}");
        }
    }
}

/// Decrypts a message to three recipients. The command names no certificate, so OpenSSL tries the
/// key with each recipient. With implicit rejection, `cms` takes a random message for the content's
/// key; OpenSSL since 3.2 does the same without the module.
#[test]
fn messages_to_several_recipients_are_decrypted() {
    let folder = folder("rsa-2048.pem");
    let rejects = rejects_implicitly(&folder);
    for i in 1..=3 {
        let files = format!("-keyout k{i}.pem -out c{i}.pem");
        folder.openssl(false, &format!("req -x509 -newkey rsa:2048 -nodes -subj /CN=x{i} {files}"));
    }
    for program in ["cms", "smime"] {
        let decrypts_alike = |i: i32| {
            let decrypt =
                format!("{program} -decrypt -binary -in hidden -inform DER -inkey k{i}.pem");
            let decrypts = |with_module| {
                let output = folder.output(with_module, &decrypt);
                output.status.success() && output.stdout == [7; 100_000]
            };
            folder.configure("implicit_rejection = off");
            assert!(decrypts(true), "{program} {i}");
            folder.configure("");
            let named = format!("{decrypt} -recip c{i}.pem");
            assert_eq!(folder.openssl(true, &named), [7; 100_000], "{program} {i}");
            (program == "cms" && !rejects) || decrypts(true) == decrypts(false)
        };
        // A random message has the length of the content's key about once in 245 times, and then
        // also `smime` takes it; another ciphertext gives other messages.
        let alike = (0..4).any(|_| {
            let encrypt = "-encrypt -binary -aes128 -in message -outform DER -out hidden";
            folder.openssl(false, &format!("{program} {encrypt} c1.pem c2.pem c3.pem"));
            (1..=3).all(decrypts_alike)
        });
        assert!(alike, "{program}");
    }
}

/// The salt lengths that a verifier accepts reveal the signature's salt length. The last option
/// leaves the salt length unset.
#[test]
fn dgst_with_all_salt_lengths() {
    let folder = folder("rsa-2048.pem");
    let options = |rule: &str| match rule {
        "" => "-sha256 -sigopt rsa_padding_mode:pss".to_owned(),
        _ => format!("-sha256 -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:{rule}"),
    };
    for rule in ["digest", "max", "auto", "-1", "-2", "-3", "0", "20", "222", ""] {
        let lengths = |signer, verifier| {
            let sign = format!("dgst {} -sign key.pem -out signature message", options(rule));
            folder.openssl(signer, &sign);
            ["0", "20", "32", "222", "auto"]
                .map(|length| folder.output(verifier, &verify(&options(length))).status.success())
        };
        let expected = lengths(false, false);
        assert_eq!(expected.iter().filter(|&&taken| taken).count(), 2, "{rule}");
        for (signer, verifier) in DIRECTIONS {
            assert_eq!(lengths(signer, verifier), expected, "{rule}");
        }
    }
    for refused in ["223", "-5"] {
        let sign = format!("dgst {} -sign key.pem message", options(refused));
        for with_module in [false, true] {
            assert!(!folder.output(with_module, &sign).status.success(), "{refused}");
        }
    }
}

#[test]
fn deterministic_pkeyutl_outputs_are_equal() {
    let folder = folder("rsa-2048.pem");
    for (length, options) in [
        (1, ""),
        (32, ""),
        (64, ""),
        (16, "-pkeyopt digest:md5"),
        (20, "-pkeyopt digest:ripemd160"),
        (32, "-pkeyopt digest:sha256"),
        (64, "-pkeyopt digest:sha3-512"),
        (36, "-pkeyopt digest:md5-sha1"),
    ] {
        folder.write("input", &vec![7; length]);
        let sign = format!("pkeyutl -sign -inkey key.pem -in input {options}");
        folder.write("signature", &folder.same(&sign));
        let recover = "pkeyutl -verifyrecover -pubin -inkey public.pem -in signature";
        let recovered = folder.same(&format!("{recover} {options}"));
        assert_eq!(recovered, vec![7; length], "{options}");
        let other = format!("{recover} -pkeyopt digest:sha224");
        assert!(!folder.output(true, &other).status.success(), "{options}");
        folder.same(&format!(
            "pkeyutl -verify -pubin -inkey public.pem -in input -sigfile signature {options}"
        ));
    }
    folder.write("input", &[7; 256]);
    for operation in ["-encrypt -pubin -inkey public.pem", "-decrypt -inkey key.pem"] {
        folder.same(&format!("pkeyutl {operation} -in input -pkeyopt rsa_padding_mode:none"));
    }
}

#[test]
fn pkeyutl_of_all_paddings_of_encryption() {
    let folder = folder("rsa-2048.pem");
    let oaep = "-pkeyopt rsa_padding_mode:oaep -pkeyopt";
    for options in [
        "-pkeyopt rsa_padding_mode:pkcs1".to_owned(),
        format!("{oaep} rsa_oaep_md:sha1"),
        format!("{oaep} rsa_oaep_md:sha3-256"),
        format!("{oaep} rsa_oaep_md:sha512-256 -pkeyopt rsa_mgf1_md:sha1"),
        format!("{oaep} rsa_oaep_label:00ff10"),
        format!("{oaep} rsa_oaep_label:01 -pkeyopt rsa_oaep_md:sha256"),
    ] {
        for length in [0, 1, 126] {
            folder.write("input", &vec![9; length]);
            for (encrypter, decrypter) in DIRECTIONS {
                let words =
                    format!("pkeyutl -encrypt -pubin -inkey public.pem -in input -out c {options}");
                folder.openssl(encrypter, &words);
                let decrypt = format!("pkeyutl -decrypt -inkey key.pem -in c {options}");
                assert_eq!(folder.openssl(decrypter, &decrypt), vec![9; length], "{options}");
            }
        }
    }
    // a wrong label
    let other = format!("pkeyutl -decrypt -inkey key.pem -in c {oaep} rsa_oaep_md:sha256");
    assert!(!folder.output(true, &other).status.success());
}

/// An invalid padding gives a text that depends on the key and the ciphertext. Since 3.2 the
/// default provider gives the same text as this provider.
#[test]
fn pkeyutl_rejects_implicitly() {
    let folder = folder("rsa-2048.pem");
    let rejects = rejects_implicitly(&folder);
    let mut random = fastrand::Rng::with_seed(6);
    for _ in 0..8 {
        let ciphertext: Vec<u8> = (0..256).map(|i| random.u8(..) >> u8::from(i == 0)).collect();
        folder.write("ciphertext", &ciphertext);
        let decrypt = "pkeyutl -decrypt -inkey key.pem -in ciphertext";
        let ours = folder.openssl(true, decrypt);
        assert_eq!(folder.openssl(true, decrypt), ours);
        if rejects {
            folder.same(decrypt);
            let explicit = format!("{decrypt} -pkeyopt rsa_pkcs1_implicit_rejection:0");
            for with_module in [false, true] {
                assert!(!folder.output(with_module, &explicit).status.success());
            }
        }
        folder.configure("implicit_rejection = off");
        assert!(!folder.output(true, decrypt).status.success());
        folder.configure("");
    }
    folder.write("input", b"a message");
    let encrypt = "pkeyutl -encrypt -pubin -inkey public.pem -in input -out ciphertext";
    folder.openssl(false, encrypt);
    let decrypt = "pkeyutl -decrypt -inkey key.pem -in ciphertext";
    let options: &[&str] = if rejects {
        &["", "-pkeyopt rsa_pkcs1_implicit_rejection:0", "-pkeyopt rsa_pkcs1_implicit_rejection:1"]
    } else {
        &[""]
    };
    for setting in ["", "implicit_rejection = off"] {
        folder.configure(setting);
        for option in options {
            assert_eq!(folder.same(&format!("{decrypt} {option}")), b"a message", "{option}");
        }
    }
}

/// Returns whether OpenSSL's own provider rejects PKCS#1 v1.5 paddings implicitly.
fn rejects_implicitly(folder: &Folder) -> bool {
    let version = String::from_utf8(folder.openssl(false, "version")).unwrap();
    let release = version.split_whitespace().nth(1).unwrap();
    !release.starts_with("3.0.") && !release.starts_with("3.1.")
}

/// With the property query of a configuration, OpenSSL generates the keys. A program that requires
/// this provider gets its keys from it.
#[test]
fn keys_are_made() {
    let folder = Folder::new();
    let demand = "-propquery tollgate.rsa=yes";
    for words in [
        "genrsa -out new.pem 2048".to_owned(),
        "genrsa -out new.pem -primes 3 2048".into(),
        "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024 -out new.pem".into(),
        "req -x509 -newkey rsa:2048 -nodes -keyout new.pem -subj /CN=x -out c.pem".into(),
        format!("genrsa {demand} -out new.pem 2048"),
        format!("genrsa {demand} -3 -out new.pem 1024"),
        format!("genpkey {demand} -algorithm RSA -pkeyopt rsa_keygen_bits:3072 -out new.pem"),
        format!(
            "genpkey {demand} -algorithm RSA -pkeyopt rsa_keygen_bits:2048 \
             -pkeyopt rsa_keygen_pubexp:65539 -out new.pem"
        ),
    ] {
        folder.openssl(true, &words);
        folder.same("rsa -in new.pem -check -noout");
        folder.same("pkey -in new.pem -text -noout");
    }
    for (words, reason) in [("-primes 3 2048", "two primes"), ("512", "1024 to 8192")] {
        let output = folder.output(true, &format!("genrsa {demand} {words}"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(reason), "{said}");
    }
}

#[test]
fn requests_and_messages_are_the_same() {
    let folder = folder("rsa-2048.pem");
    for digest in ["sha1", "sha256", "sha384", "sha512", "sha3-256"] {
        folder.same(&format!("req -new -key key.pem -subj /CN=x -{digest}"));
    }
    folder.openssl(false, "req -x509 -key key.pem -subj /CN=x -out c.pem");
    // Without attributes there is no signing time.
    for digest in ["sha1", "sha224", "sha256", "sha512"] {
        folder.same(&format!(
            "cms -sign -in message -binary -noattr -md {digest} -signer c.pem -inkey key.pem \
             -outform DER"
        ));
    }
}

#[test]
fn certificates_are_signed_and_verified() {
    let folder = folder("rsa-2048.pem");
    let pss = "-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen";
    let authority = "-addext basicConstraints=critical,CA:TRUE";
    for (signer, verifier) in DIRECTIONS {
        for options in
            ["-sha256", "-sha3-384", &format!("-sha512 {pss}:digest"), &format!("-sha256 {pss}:20")]
        {
            let words = format!(
                "req -x509 -key key.pem -subj /CN=authority {authority} {options} -out ca.pem"
            );
            folder.openssl(signer, &words);
            folder.openssl(signer, "genpkey -algorithm RSA -out leaf.pem");
            folder.openssl(
                signer,
                &format!("req -new -key leaf.pem -subj /CN=leaf {options} -out request.pem"),
            );
            let words = format!(
                "x509 -req -in request.pem -CA ca.pem -CAkey key.pem -set_serial 7 \
                 {options} -out leaf-cert.pem"
            );
            folder.openssl(signer, &words);
            folder.openssl(verifier, "req -in request.pem -noout -verify");
            folder.openssl(verifier, "verify -CAfile ca.pem leaf-cert.pem");
            folder.same("x509 -in leaf-cert.pem -noout -text");
        }
    }
}
