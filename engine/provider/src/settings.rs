//! The settings in the provider's section of the configuration (config(5)), read once at load.
//!
//! libcrypto returns the value of a key but does not list keys, so unknown keys are not detected
//! here; `tollgate provider check` reads the file and reports them. If several lines have the
//! same key, libcrypto uses the last line. If a value is the name of a section, libcrypto takes the
//! value for that section.
#![forbid(unsafe_code)]

use core::ffi::CStr;
use core::time::Duration;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The settings, with defaults for keys that are not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// `async`: pauses libcrypto's jobs while a batch fills.
    pub(crate) pauses_jobs: bool,
    /// `implicit_rejection`: makes PKCS#1 v1.5 decryption answer invalid padding with a random
    /// message. A program can choose otherwise for an operation.
    pub(crate) implicit_rejection: bool,
    /// `x25519`: the rule for offering X25519.
    pub(crate) x25519: Offer,
    /// `ecdsa`: whether the provider offers ECDSA with P-256.
    pub(crate) ecdsa: Offer,
    /// `ml_kem`: the rule for offering ML-KEM-768 and the group X25519MLKEM768.
    pub(crate) ml_kem: Offer,
    /// `remote`: the Unix sockets of signers, which have the keys of stubs. An operation goes to
    /// the first one that is there.
    pub(crate) remote: Vec<PathBuf>,
    /// `remote_limit_ms`: the longest time that an operation waits for the signer.
    pub(crate) remote_limit: Duration,
    /// `metrics`: the folder for this process's counters; if `None`, no counters are written.
    pub(crate) metrics: Option<PathBuf>,
}

/// The rule for offering an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// Where it is faster than OpenSSL's own, and where OpenSSL has none.
    Auto,
    /// Where it runs.
    On,
    Off,
}

/// The maximum number of signers.
pub(crate) const SIGNERS_MAX: usize = 4;

/// The upper limit of `remote_limit_ms`: a minute.
const REMOTE_LIMIT_MS_MAX: u32 = 60_000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            pauses_jobs: true,
            implicit_rejection: true,
            x25519: Offer::Auto,
            ecdsa: Offer::Auto,
            ml_kem: Offer::Auto,
            remote: Vec::new(),
            remote_limit: Duration::from_secs(1),
            metrics: None,
        }
    }
}

impl Settings {
    /// Reads each key with `ask`, or returns a message about a value that is not allowed.
    pub(crate) fn read(ask: impl Fn(&CStr) -> Option<CString>) -> Result<Self, String> {
        let mut settings = Self::default();
        let refused = |key, value: &CStr, allowed| {
            // libcrypto drops a message that is longer than its buffer.
            let value: String = value.to_string_lossy().chars().take(200).collect();
            format!("{key} = {value} in the provider's section is not allowed: set {allowed}")
        };
        for (key, name, setting) in [
            (c"async", "async", &mut settings.pauses_jobs),
            (c"implicit_rejection", "implicit_rejection", &mut settings.implicit_rejection),
        ] {
            let Some(value) = ask(key) else { continue };
            *setting = match value.to_bytes() {
                b"on" => true,
                b"off" => false,
                _ => return Err(refused(name, &value, "on or off")),
            };
        }
        for (key, name, setting) in [
            (c"x25519", "x25519", &mut settings.x25519),
            (c"ecdsa", "ecdsa", &mut settings.ecdsa),
            (c"ml_kem", "ml_kem", &mut settings.ml_kem),
        ] {
            let Some(value) = ask(key) else { continue };
            *setting = match value.to_bytes() {
                b"auto" => Offer::Auto,
                b"on" => Offer::On,
                b"off" => Offer::Off,
                _ => return Err(refused(name, &value, "auto, on or off")),
            };
        }
        if let Some(value) = ask(c"remote") {
            settings.remote = sockets(&value).ok_or_else(|| {
                if value.to_bytes().windows(4).any(|window| window == b"tls:") {
                    let allowed = "unix: and the socket of a tunnel on this machine, such as \
                                   stunnel's, to the signer";
                    return refused("remote", &value, allowed);
                }
                let allowed = "unix: and a path of at most 107 bytes, from / on; or up to four of \
                               them, with spaces between";
                refused("remote", &value, allowed)
            })?;
        }
        if let Some(value) = ask(c"remote_limit_ms") {
            let limit = milliseconds(&value)
                .ok_or_else(|| refused("remote_limit_ms", &value, "a number from 1 to 60000"))?;
            settings.remote_limit = Duration::from_millis(limit.into());
        }
        if let Some(value) = ask(c"metrics") {
            let folder = Path::new(OsStr::from_bytes(value.to_bytes()));
            // A relative path would change its meaning, because servers change their working
            // directory.
            if !folder.is_absolute() {
                return Err(refused("metrics", &value, "a folder, from / on"));
            }
            settings.metrics = Some(folder.to_owned());
        }
        Ok(settings)
    }
}

/// Reads the paths of sockets, such as `unix:/a unix:/b`.
fn sockets(value: &CStr) -> Option<Vec<PathBuf>> {
    // The longest path of a socket has 107 bytes: unix(7).
    let fits = |path: &&Path| path.is_absolute() && path.as_os_str().len() <= 107;
    let words = value.to_bytes().split(|byte| byte.is_ascii_whitespace());
    let words = words.filter(|word| !word.is_empty()).map(|word| {
        let path = Path::new(OsStr::from_bytes(word.strip_prefix(b"unix:")?));
        Some(path).filter(fits).map(Path::to_owned)
    });
    let paths: Vec<PathBuf> = words.collect::<Option<_>>()?;
    (1..=SIGNERS_MAX).contains(&paths.len()).then_some(paths)
}

/// Parses decimal digits, without sign or spaces, of a number from 1 to the upper limit.
fn milliseconds(value: &CStr) -> Option<u32> {
    let digits = value.to_str().ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok().filter(|number| (1..=REMOTE_LIMIT_MS_MAX).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[(&CStr, &CStr)]) -> Result<Settings, String> {
        Settings::read(|key| {
            let line = lines.iter().find(|(name, _)| *name == key);
            line.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn no_lines_give_the_defaults() {
        assert_eq!(read(&[]), Ok(Settings::default()));
        assert_eq!(read(&[(c"async", c"on")]), Ok(Settings::default()));
    }

    #[test]
    fn each_key_is_read() {
        let lines = [
            (c"async", c"off"),
            (c"implicit_rejection", c"off"),
            (c"x25519", c"off"),
            (c"ecdsa", c"off"),
            (c"ml_kem", c"off"),
            (c"metrics", c"/run/tollgate"),
            (c"remote", c"unix:/run/signer.sock  unix:/run/other"),
            (c"remote_limit_ms", c"250"),
        ];
        let expected = Settings {
            pauses_jobs: false,
            implicit_rejection: false,
            x25519: Offer::Off,
            ecdsa: Offer::Off,
            ml_kem: Offer::Off,
            metrics: Some("/run/tollgate".into()),
            remote: vec!["/run/signer.sock".into(), "/run/other".into()],
            remote_limit: Duration::from_millis(250),
        };
        assert_eq!(read(&lines), Ok(expected));
        for (value, offer) in [(c"auto", Offer::Auto), (c"on", Offer::On)] {
            assert_eq!(read(&[(c"x25519", value)]).map(|read| read.x25519), Ok(offer));
            assert_eq!(read(&[(c"ecdsa", value)]).map(|read| read.ecdsa), Ok(offer));
            assert_eq!(read(&[(c"ml_kem", value)]).map(|read| read.ml_kem), Ok(offer));
        }
    }

    #[test]
    fn other_values_are_refused_by_name() {
        for (key, value, allowed) in [
            (c"async", c"yes", "on or off"),
            (c"implicit_rejection", c"0", "on or off"),
            (c"x25519", c"yes", "auto, on or off"),
            (c"ecdsa", c"ON", "auto, on or off"),
            (c"ml_kem", c"1", "auto, on or off"),
            (c"metrics", c"run/tollgate", "from / on"),
            (c"metrics", c"", "from / on"),
            (c"remote", c"/run/signer.sock", "unix:"),
            (c"remote", c"unix:signer.sock", "from / on"),
            (c"remote", c"", "unix:"),
            (c"remote", c"unix:/a /b", "unix:"),
            (c"remote", c"tls:10.0.0.5:2407", "stunnel"),
            (c"remote", c"unix:/a unix:/b unix:/c unix:/d unix:/e", "up to four"),
            (c"remote_limit_ms", c"0", "1 to 60000"),
            (c"remote_limit_ms", c"60001", "1 to 60000"),
            (c"remote_limit_ms", c"4294967297", "1 to 60000"), // would be 1 if cut to 32 bits
            (c"remote_limit_ms", c"-1", "1 to 60000"),
            (c"remote_limit_ms", c"+1", "1 to 60000"),
            (c"remote_limit_ms", c"", "1 to 60000"),
            (c"remote_limit_ms", c"\xff", "1 to 60000"),
        ] {
            let message = read(&[(key, value)]).expect_err("it is not allowed");
            let line = format!("{} = {}", key.to_string_lossy(), value.to_string_lossy());
            assert!(message.starts_with(&line) && message.contains(allowed), "{message}");
        }
    }
}
