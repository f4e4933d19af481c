//! cURL processes: a complete client that costs much CPU time.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use std::process::{Command, Stdio};
use std::time::Instant;

use tollgate_load::Protocol;

use crate::counted::Tally;
use crate::error::Error;

/// The number of transfers that a process makes in sequence, each on its own connection. A process
/// makes several transfers, because starting a process costs more than a transfer.
pub const TRANSFERS: usize = 20;

/// Timeout of a transfer, in seconds.
const TIMEOUT_S: &str = "20";

/// Returns the flags of every process of a plan.
pub(crate) fn arguments(
    protocol: Protocol,
    address: SocketAddr,
    bytes: u64,
) -> Result<Vec<String>, Error> {
    let version = Command::new("curl").arg("--version").stdout(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        let why = "--client curl: the command curl is missing; install the package curl";
        return Err(Error::Cannot(why.to_owned()));
    }
    let mut arguments: Vec<String> = [
        "--disable", // ignore the user's configuration; must be the first flag
        // connect to the admitted address, not to a proxy of the environment
        "--noproxy",
        "*",
        "--fail-early",
        "--silent",
        "--show-error",
        "--insecure",
        "--http1.1",
        "--no-sessionid",
        "--header",
        "Connection: close",
        "--max-time",
        TIMEOUT_S,
        "--write-out",
        "%{http_code} %{size_download} %{num_connects}\\n",
    ]
    .map(str::to_owned)
    .into();
    arguments.extend(offer(protocol).map(str::to_owned));
    let url = format!("https://{address}/bytes/{bytes}");
    for _ in 0..TRANSFERS {
        arguments.extend(["--output", "/dev/null", &url].map(str::to_owned));
    }
    Ok(arguments)
}

/// Returns three values: whether the protocol is TLS 1.3, OpenSSL's cipher list, and the group.
/// Security level 0 admits keys of 1,024 bits. The group has no effect with RSA key exchange.
pub(crate) const fn openssl_offer(protocol: Protocol) -> (bool, &'static str, &'static str) {
    match protocol {
        Protocol::Tls12Rsa => (false, "AES128-GCM-SHA256:@SECLEVEL=0", "X25519"),
        Protocol::Tls12X25519 => (false, "ECDHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0", "X25519"),
        Protocol::Tls12P256 => (false, "ECDHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0", "P-256"),
        Protocol::Tls13 => (true, "DEFAULT:@SECLEVEL=0", "X25519"),
    }
}

fn offer(protocol: Protocol) -> impl Iterator<Item = &'static str> {
    let (is_tls13, ciphers, group) = openssl_offer(protocol);
    let (version, most) = if is_tls13 { ("--tlsv1.3", "1.3") } else { ("--tlsv1.2", "1.2") };
    let flags = [version, "--tls-max", most, "--ciphers", ciphers, "--curves", group];
    flags.into_iter().chain(["--tls13-ciphers", "TLS_AES_128_GCM_SHA256"])
}

/// Runs one process after another until the time `until`. The last process completes its transfers.
pub(crate) fn work(arguments: &[String], bytes: u64, until: Instant, stop: &AtomicBool) -> Tally {
    let mut tally = Tally::default();
    while Instant::now() < until && !stop.load(Ordering::Relaxed) {
        let output = Command::new("curl").args(arguments).stdin(Stdio::null()).output();
        let output = match output {
            Ok(output) => output,
            Err(error) => {
                tally.count(Err(format!("curl: {error}")));
                break;
            }
        };
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        let told = String::from_utf8_lossy(&output.stdout);
        let transfers: Vec<&str> = told.lines().collect();
        transfers.iter().for_each(|line| tally.count(judge(line, bytes, &said)));
        if transfers.len() != TRANSFERS {
            tally.count(Err(format!("curl ended early: {said}")));
        }
        if tally.failed > 0 {
            break;
        }
    }
    tally
}

/// Judges one transfer by its status, the bytes of its body and its number of new connections.
fn judge(line: &str, bytes: u64, said: &str) -> Result<(), String> {
    let whole = format!("200 {bytes} 1");
    if line == whole {
        Ok(())
    } else {
        Err(format!(
            "curl reported {line:?}, expected {whole:?} (status, bytes, connections); {said}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_counts_if_it_is_complete_and_used_its_own_connection() {
        assert!(judge("200 14336 1", 14_336, "").is_ok());
        for bad in ["200 14336 0", "200 14335 1", "404 14336 1", "000 0 0", ""] {
            assert!(judge(bad, 14_336, "said").is_err_and(|why| why.contains("said")), "{bad}");
        }
    }
}
