//! cURL processes: the classic client, complete and dear.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use std::process::{Command, Stdio};
use std::time::Instant;

use tollgate_load::Plan;

use crate::error::Error;
use crate::run::bytes;
use crate::worker::Tally;

/// Transfers of a process, one after the other, each on a connection of its own: starting a process
/// costs more than a transfer.
pub const TRANSFERS: usize = 20;

/// Seconds that a transfer may take.
const PATIENCE_S: &str = "20";

/// The flags of every process of a plan.
///
/// # Errors
///
/// There is no cURL, or it cannot do what the plan asks for.
pub(crate) fn arguments(plan: &Plan, address: SocketAddr) -> Result<Vec<String>, Error> {
    let version = Command::new("curl").arg("--version").stdout(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        let why = "--client curl: the command curl is missing; install the package curl";
        return Err(Error::Cannot(why.to_owned()));
    }
    let mut arguments: Vec<String> = [
        "--silent",
        "--show-error",
        "--insecure",
        "--http1.1",
        "--no-sessionid",
        "--header",
        "Connection: close",
        "--max-time",
        PATIENCE_S,
        "--write-out",
        "%{http_code} %{size_download} %{num_connects}\\n",
    ]
    .map(str::to_owned)
    .into();
    arguments.extend(protocol(plan)?.iter().map(|&flag| flag.to_owned()));
    let url = format!("https://{address}/bytes/{}", bytes(plan)?);
    for _ in 0..TRANSFERS {
        arguments.extend(["--output", "/dev/null", &url].map(str::to_owned));
    }
    Ok(arguments)
}

/// Version, suite and group of the plan. Level 0 lets keys of 1,024 bits in.
fn protocol(plan: &Plan) -> Result<&'static [&'static str], Error> {
    Ok(match plan.protocol.word() {
        "tls12-rsa" => {
            &["--tlsv1.2", "--tls-max", "1.2", "--ciphers", "AES128-GCM-SHA256:@SECLEVEL=0"]
        }
        "tls12-x25519" => &[
            "--tlsv1.2",
            "--tls-max",
            "1.2",
            "--ciphers",
            "ECDHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0",
            "--curves",
            "X25519",
        ],
        "tls12-p256" => &[
            "--tlsv1.2",
            "--tls-max",
            "1.2",
            "--ciphers",
            "ECDHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0",
            "--curves",
            "P-256",
        ],
        "tls13" => &[
            "--tlsv1.3",
            "--ciphers",
            "DEFAULT:@SECLEVEL=0",
            "--tls13-ciphers",
            "TLS_AES_128_GCM_SHA256",
            "--curves",
            "X25519",
        ],
        other => {
            let why = format!("--client curl: {other} is not among what it is told to offer");
            return Err(Error::Cannot(why));
        }
    })
}

/// Runs processes until the time is over; each one that was started ends its transfers.
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

/// One transfer: status, bytes of the body, new connections.
fn judge(line: &str, bytes: u64, said: &str) -> Result<(), String> {
    let whole = format!("200 {bytes} 1");
    if line == whole {
        Ok(())
    } else {
        Err(format!(
            "curl told of {line:?} where {whole:?} was to be (status, bytes, connections); {said}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_counts_if_it_is_whole_and_has_a_connection_of_its_own() {
        assert!(judge("200 14336 1", 14_336, "").is_ok());
        for bad in ["200 14336 0", "200 14335 1", "404 14336 1", "000 0 0", ""] {
            assert!(judge(bad, 14_336, "said").is_err_and(|why| why.contains("said")), "{bad}");
        }
    }
}
