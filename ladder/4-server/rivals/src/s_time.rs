//! OpenSSL's `s_time`, the source of most published figures. `s_time` divides its count by its own
//! user time; here the count of the server's log is divided by wall-clock time.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tollgate_load::Plan;

use crate::counted::Tally;
use crate::curl::openssl_offer;
use crate::error::Error;

/// The processes of a plan: their flags, and the configuration that they read.
#[derive(Debug)]
pub(crate) struct STime {
    arguments: Vec<String>,
    configuration: Configuration,
    bytes: u64,
}

impl STime {
    /// Prepares processes for the duration of the plan. The duration is rounded up, because
    /// `s_time` needs whole seconds.
    pub(crate) fn new(plan: &Plan, address: SocketAddr, bytes: u64) -> Result<Self, Error> {
        let version = Command::new("openssl").arg("version").stdout(Stdio::null()).status();
        if !version.is_ok_and(|status| status.success()) {
            let why =
                "--client s_time: the command openssl is missing; install the package openssl";
            return Err(Error::Cannot(why.to_owned()));
        }
        let (is_tls13, ciphers, group) = openssl_offer(plan.protocol);
        let version = if is_tls13 { "-tls1_3" } else { "-tls1_2" };
        let seconds = (plan.warm_up_ms + plan.sustain_ms).div_ceil(1000);
        let arguments = [
            "s_time".to_owned(),
            "-new".to_owned(),
            format!("-time={seconds}"),
            format!("-connect={address}"),
            format!("-www=/bytes/{bytes}"),
            version.to_owned(),
            format!("-cipher={ciphers}"),
            "-ciphersuites=TLS_AES_128_GCM_SHA256".to_owned(),
        ];
        let configuration =
            Configuration::new(group).map_err(Error::io("write a configuration"))?;
        Ok(Self { arguments: arguments.into(), configuration, bytes })
    }

    /// Runs one process, which ends by itself.
    pub(crate) fn work(&self) -> Tally {
        let mut tally = Tally::default();
        let output = Command::new("openssl")
            .args(&self.arguments)
            // replaces the system's configuration file
            .env("OPENSSL_CONF", &self.configuration.path)
            .stdin(Stdio::null())
            .output();
        let counted = output.map_err(|error| error.to_string()).and_then(|output| {
            let told = String::from_utf8_lossy(&output.stdout);
            connections(&told, self.bytes)
                .ok_or_else(|| String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; "))
        });
        match counted {
            Ok(connections) => tally.transactions = connections,
            Err(why) => tally.count(Err(format!("openssl s_time: {why}"))),
        }
        tally
    }
}

/// Returns the number of connections in `1234 connections in 3 real seconds, 14587 bytes read per
/// connection`; `None` if the line is missing, or has too few bytes for heads and bodies of
/// `bytes`.
fn connections(told: &str, bytes: u64) -> Option<u64> {
    let line = told.lines().find(|line| line.contains(" real seconds, "))?;
    let mut numbers = line.split(' ').filter_map(|word| word.parse::<u64>().ok());
    let (connections, _seconds, each) = (numbers.next()?, numbers.next()?, numbers.next()?);
    (connections == 0 || each > bytes).then_some(connections)
}

/// A temporary configuration file that sets the group, for which `s_time` has no flag. Dropping the
/// value removes the file.
#[derive(Debug)]
struct Configuration {
    path: PathBuf,
}

impl Configuration {
    fn new(group: &str) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tollgate-s_time-{}-{number}.cnf", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let configuration = Self { path };
        write!(
            file,
            "openssl_conf = start\n[start]\nssl_conf = tls\n[tls]\nsystem_default = all\n\
             [all]\nGroups = {group}\n"
        )?;
        Ok(configuration)
    }
}

impl Drop for Configuration {
    fn drop(&mut self) {
        // a file that cannot be removed stays in the folder for temporary files
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of `s_time`, as OpenSSL 3.0 prints it.
    const TOLD: &str = "Collecting connection statistics for 2 seconds\n***\n\n\
         2104 connections in 0.88s; 2390.91 connections/user sec, bytes read 30691048\n\
         2104 connections in 3 real seconds, 14587 bytes read per connection\n";

    #[test]
    fn only_the_count_is_read() {
        assert_eq!(connections(TOLD, 14_336), Some(2104));
        assert_eq!(connections(TOLD, 14_587), None, "the count has no room for a head");
        assert_eq!(connections("Collecting connection statistics\n***", 0), None);
    }

    #[test]
    fn dropping_removes_the_configuration() {
        let configuration = Configuration::new("P-256").unwrap();
        let path = configuration.path.clone();
        assert!(fs::read_to_string(&path).unwrap().ends_with("Groups = P-256\n"));
        drop(configuration);
        assert!(!path.exists());
    }
}
