//! `openssl s_client` as the client: it has keys and suites that the load generator lacks.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tollgate_stock_servers::{Running, Settings};

use crate::rig::{BYTES, becomes, certificate, counted, program_path, settle, with_provider};

/// Returns settings with one of the test keys and the provider.
pub(crate) fn with_key(key: &str) -> Settings {
    Settings { certificate: certificate(key), ..with_provider() }
}

/// Runs `openssl s_client` with its default configuration; returns its two outputs.
pub(crate) fn s_client(running: &Running, words: &str, request: &str) -> [String; 2] {
    s_client_with("/dev/null".as_ref(), running, words, request)
}

/// Runs `openssl s_client` with a configuration; returns its two outputs.
pub(crate) fn s_client_with(
    conf: &Path,
    running: &Running,
    words: &str,
    request: &str,
) -> [String; 2] {
    let mut client = Command::new("timeout")
        .args(["60", "openssl", "s_client", "-ign_eof", "-connect"])
        .arg(running.address().to_string())
        .args(words.split(' '))
        .env("PATH", program_path())
        .env("OPENSSL_CONF", conf)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Fails if the client has already ended; its output then has the reason.
    let _ = client.stdin.take().unwrap().write_all(request.as_bytes());
    let output = client.wait_with_output().unwrap();
    [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Makes one handshake and fetches one body; returns the client's description of the connection.
#[track_caller]
pub(crate) fn connect(running: &Running, words: &str) -> String {
    let request = format!("GET /bytes/{BYTES} HTTP/1.0\r\n\r\n");
    let [body, said] = s_client(running, &format!("-brief {words}"), &request);
    let body = body.bytes().filter(|&byte| byte == b'x').count();
    assert!(body >= usize::try_from(BYTES).unwrap(), "{running:?}, {words}: {body} bytes; {said}");
    said
}

/// Checks the provider's counts of signatures, decryptions and refused keys.
#[track_caller]
pub(crate) fn has_counted(running: &Running, expected: (u64, u64, u64)) {
    settle(running);
    becomes(&expected, || {
        let count = |counter: &str| counted(running, counter);
        (count("signatures"), count("decryptions"), count("refused_keys"))
    });
}
