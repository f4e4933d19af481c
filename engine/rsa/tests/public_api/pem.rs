//! Key files as people have them: what `openssl pkey -in` reads is read, the same key, and what it
//! refuses is refused, with a reason. The few differences are in the table, and why.

use std::path::Path;
use std::process::Command;

use tollgate_rsa::pkcs8::{EncodePublicKey as _, LineEnding};
use tollgate_rsa::{Error, Expected, Found, PrivateKey, Rejected};

use crate::read;

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----\n";
const END: &str = "-----END PRIVATE KEY-----\n";

enum Verdict {
    /// Both read the key.
    Read,
    /// Neither reads it.
    Refused(Rejected),
    /// OpenSSL reads a key of another algorithm, or takes a later one; the reason is of this crate.
    OnlyOpenssl(Rejected),
}

type File = (&'static str, Vec<u8>, Verdict);

fn file(name: &'static str, text: impl Into<Vec<u8>>, verdict: Verdict) -> File {
    (name, text.into(), verdict)
}

/// Returns the key without its BEGIN and END lines.
fn body() -> String {
    read("rsa-2048.pem").replace(BEGIN, "").replace(END, "")
}

fn wrapped(columns: usize) -> String {
    let base64 = body().replace('\n', "");
    let lines = base64.as_bytes().chunks(columns);
    lines.map(|line| format!("{}\n", str::from_utf8(line).unwrap())).collect()
}

/// Returns the key with a text after its fifth line.
fn with_inside(text: &str) -> String {
    let (body, at) = (body(), 5 * 65);
    format!("{BEGIN}{}{text}{}{END}", &body[..at], &body[at..])
}

fn around_blocks() -> Vec<File> {
    use Verdict::{Read, Refused};
    let key = read("rsa-2048.pem");
    let before = |text: &str| format!("{text}{key}");
    let utf16: Vec<u8> =
        "\u{feff}".chars().chain(key.chars()).flat_map(|c| (c as u16).to_le_bytes()).collect();
    vec![
        file("as it is", key.clone(), Read),
        file("a comment", before("# a key\n\n"), Read),
        file("bag attributes", before("Bag Attributes\n    localKeyID: 01 \nKey: <None>\n"), Read),
        file("BEGIN within a line", before("see -----BEGIN PRIVATE KEY----- below\n"), Read),
        file("BEGIN and text", before("-----BEGIN PRIVATE KEY----- is next\n"), Read),
        file("text and BEGIN", before("next: -----BEGIN PRIVATE KEY-----\n"), Read),
        file("BEGIN after an indentation", before("    -----BEGIN PRIVATE KEY-----\n"), Read),
        file("BEGIN without dashes", before("-----BEGIN PRIVATE KEY\n-----BEGIN \n-----\n"), Read),
        file("END first", before(END), Read),
        file("END within a line", before("see -----END PRIVATE KEY----- below\n"), Read),
        file("header of another file", before("Proc-Type: 4,ENCRYPTED\n"), Read),
        file("a digit first", before("0 is the first byte of DER, too\n"), Read),
        file("NUL and control characters", before("\0\0\n\u{b}\u{7f}\n"), Read),
        file("a long line", before(&format!("{}\n", "x".repeat(1000))), Read),
        file("text after it", format!("{key}\0 and more"), Read),
        file("mark of UTF-8", before("\u{feff}"), Read),
        file("mark of UTF-8, comment", before("\u{feff}# a key\n"), Read),
        file("mark in line 2", before("# a key\n\u{feff}"), Refused(Rejected::PemLine)),
        file("UTF-16", utf16, Refused(Rejected::PemUtf16)),
        file("CRLF", key.replace('\n', "\r\n"), Read),
        file("CR", key.replace('\n', "\r"), Refused(Rejected::PemLine)),
        file("blank before BEGIN", before(" "), Refused(Rejected::PemLine)),
        file("six dashes", before("-"), Refused(Rejected::PemLine)),
        file("blank after BEGIN", key.replace(BEGIN, &BEGIN.replace('\n', " \t\n")), Read),
        file("blank after END", key.replace(END, &END.replace('\n', "  \n")), Read),
        file("no newline at the end", key.trim_end(), Read),
        file("lower case", key.to_lowercase(), Refused(Rejected::NotAKey)),
        file("no block", "hello\n", Refused(Rejected::NotAKey)),
        file("empty", "", Refused(Rejected::NotAKey)),
    ]
}

fn in_a_block() -> Vec<File> {
    use Verdict::{OnlyOpenssl, Read, Refused};
    let (key, body) = (read("rsa-2048.pem"), body());
    let label = || "PRIVATE KEY".to_owned();
    let truncated = || Refused(Rejected::PemTruncated { label: label() });
    let base64 = || Refused(Rejected::PemBase64 { label: label() });
    let header = || Refused(Rejected::PemHeader { label: label() });
    let block = |body: &str| format!("{BEGIN}{body}{END}");
    let each_line = |to: &str| block(&body.replace('\n', to));
    let mut files = vec![
        file("BEGIN, data in its line", key.replace(BEGIN, BEGIN.trim_end()), {
            Refused(Rejected::PemLine)
        }),
        file("data, END in its line", format!("{BEGIN}{}{END}", body.trim_end()), truncated()),
        file("blank before END", key.replace(END, &format!(" {END}")), truncated()),
        file("text after END", format!("{} text\n", key.trim_end()), truncated()),
        file("END cut", &key[..key.len() - 3], truncated()),
        file("no END", format!("{BEGIN}{body}"), truncated()),
        file("END of another block", key.replace("END PRIVATE", "END RSA PRIVATE"), truncated()),
        file("two BEGIN lines", format!("{BEGIN}{key}"), truncated()),
        file("two keys, one END", format!("{BEGIN}{body}{key}"), {
            OnlyOpenssl(Rejected::PemTruncated { label: label() })
        }),
        file("blank line first", block(&format!("\n{body}")), Read),
        file("two blank lines first", block(&format!("\n\n{body}")), header()),
        file("blank line, 63 columns", block(&format!("\n{}", wrapped(63))), header()),
        file("blank line, 76 columns", block(&format!("\n{}", wrapped(76))), header()),
        file("blank line inside", with_inside("\n"), header()),
        file("blanks in a line inside", with_inside("  \n"), header()),
        file("blank line last", block(&format!("{body}\n")), header()),
        file("header", block(&format!("Comment: hi\n\n{body}")), header()),
        file("header not encrypted", block(&format!("Proc-Type: 4,MIC\n\n{body}")), header()),
        file("header without blank line", block(&format!("Comment: hi\n{body}")), base64()),
        file("blanks around lines", format!("{BEGIN}  {}{END}", body.replace('\n', " \t\n")), Read),
        file("blanks in a line", block(&body.replacen('A', " A\t", 1)), Read),
        file("control characters after lines", each_line("\u{1}\u{b}\n"), Read),
        file("vertical tab in a line", block(&body.replacen('A', "\u{b}A", 1)), base64()),
        file("comment inside", with_inside("# hi\n"), base64()),
        file("another character inside", with_inside("*"), base64()),
        file("NUL inside", with_inside("\0"), base64()),
        file("dashes inside", with_inside("-----\n"), base64()),
        file("no padding", block(&body.replace('=', "")), base64()),
        file("data after padding", block(&format!("{body}AAAA\n")), base64()),
    ];
    let columns = [1, 63, 65, 76, 253, 254, 255, 500, 5000];
    files.extend(columns.map(|columns| file("columns", block(&wrapped(columns)), Read)));
    files
}

fn other_blocks() -> Vec<File> {
    use Verdict::{OnlyOpenssl, Read, Refused};
    let key = read("rsa-2048.pem");
    let before = |text: &str| format!("{text}{key}");
    let block = |label: &str, body: &str| {
        format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
    };
    let private = |found| Rejected::Unexpected { found, expected: Expected::PrivateKey };
    let label = || "PRIVATE KEY".to_owned();
    let curve = block("EC PARAMETERS", "BggqhkjOPQMBBw==");
    let sec1 = openssl::pkey::PKey::private_key_from_pem(read("ec-p256.pem").as_bytes())
        .and_then(|key| key.ec_key()?.private_key_to_pem())
        .unwrap();
    let other_label = |label| read("rsa-2048.pem").replace("PRIVATE KEY", label);
    let not_rsa = || Rejected::NotRsa { algorithm: "elliptic curves (1.2.840.10045.2.1)".into() };
    let cut = "-----BEGIN CERTIFICATE-----\nMAAA\n";
    let cut_off = Rejected::PemTruncated { label: "CERTIFICATE".into() };
    vec![
        file("a certificate first", before(&block("CERTIFICATE", "MAAA")), Read),
        file("a certificate last", format!("{key}{}", block("CERTIFICATE", "MAAA")), Read),
        file("a damaged certificate", before(&block("CERTIFICATE", "M*AA")), Read),
        file("a certificate with a header", before(&block("CERTIFICATE", "a: b\n\nMAAA")), Read),
        file("a certificate without END", before(cut), Refused(cut_off)),
        file("a certificate without END, two keys", before(&before(cut)), Read),
        file("only a certificate", block("CERTIFICATE", "MAAA"), {
            Refused(private(Found::Certificate))
        }),
        file("a public key first", before(&read("rsa-2048.pub.pem")), Read),
        file("only a public key", read("rsa-2048.pub.pem"), Refused(private(Found::PublicKey))),
        file("a curve first", before(&curve), Read),
        file("an unknown block first", before(&block("SOMETHING ELSE", "MAAA")), Read),
        file("a key of OpenSSH first", before(&block("OPENSSH PRIVATE KEY", "b3Blbg==")), Read),
        file("a key of PKCS#1 next", before("") + &read("rsa-2048-pkcs1.pem"), Read),
        file("label of PKCS#1", other_label("RSA PRIVATE KEY"), Read),
        file("label of SEC 1", other_label("EC PRIVATE KEY"), Read),
        file("an unknown label", other_label("ANY PRIVATE KEY"), {
            let label = "ANY PRIVATE KEY".into();
            Refused(Rejected::PemLabel { label, expected: Expected::PrivateKey })
        }),
        // the first key counts, as in OpenSSL, and it is not RSA
        file("a key on a curve first", before(&read("ec-p256.pem")), OnlyOpenssl(not_rsa())),
        file("a key of SEC 1 first", [curve.as_bytes(), &sec1, key.as_bytes()].concat(), {
            OnlyOpenssl(private(Found::EcPrivateKey))
        }),
        file("an encrypted key", read("rsa-2048-encrypted.pem"), Refused(Rejected::Encrypted)),
        // OpenSSL goes on to the next key. Nobody expects another key than the first.
        file("an encrypted key first", before(&read("rsa-2048-encrypted.pem")), {
            OnlyOpenssl(Rejected::Encrypted)
        }),
        file("a damaged key first", before(&block("PRIVATE KEY", "M*AA")), {
            OnlyOpenssl(Rejected::PemBase64 { label: label() })
        }),
        file("a key without END first", before(&other_label("PRIVATE KEY").replace("END", "E")), {
            OnlyOpenssl(Rejected::PemTruncated { label: label() })
        }),
    ]
}

/// Returns the `SubjectPublicKeyInfo` of the key that OpenSSL reads from a file.
fn read_by_openssl(path: &Path) -> Option<String> {
    let openssl = std::env::var("TOLLGATE_OPENSSL").unwrap_or_else(|_| "openssl".into());
    let mut command = Command::new(openssl);
    command.args(["pkey", "-pubout", "-passin", "pass:wrong", "-in"]).arg(path);
    let output = command.output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

#[test]
fn files_are_read_as_by_openssl() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("file-of-the-test.pem");
    let files = [around_blocks(), in_a_block(), other_blocks()];
    for (name, text, verdict) in files.into_iter().flatten() {
        std::fs::write(&path, &text).unwrap();
        let ours = PrivateKey::from_bytes(&text);
        let theirs = read_by_openssl(&path);
        match verdict {
            Verdict::Read => {
                let ours = ours.unwrap_or_else(|error| panic!("{name}: {error}"));
                let ours = ours.public().to_public_key_pem(LineEnding::LF).unwrap();
                assert_eq!(theirs.as_ref(), Some(&ours), "{name}");
            }
            Verdict::Refused(reason) => {
                assert_eq!(ours.unwrap_err(), Error::Rejected(reason), "{name}");
                assert_eq!(theirs, None, "{name}");
            }
            Verdict::OnlyOpenssl(reason) => {
                assert_eq!(ours.unwrap_err(), Error::Rejected(reason), "{name}");
                assert!(theirs.is_some(), "{name}");
            }
        }
    }
}
