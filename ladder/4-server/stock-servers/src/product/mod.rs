//! The products: each has its program, its package, and a recipe for a folder and a port.

mod apache;
mod haproxy;
mod hitch;
mod lighttpd;
mod nginx;
mod python;
mod s_server;
mod stunnel;

use core::fmt;
use core::net::SocketAddr;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tollgate_load::Mechanism;

use crate::error::Error;
use crate::running::Running;
use crate::settings::Settings;

/// Suites of TLS 1.2, and keys from 1,024 bits on.
pub(crate) const CIPHERS: &str = "DEFAULT:@SECLEVEL=0";

/// A stock server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// Apache with `mod_ssl` and the event MPM.
    Apache,
    /// HAProxy, master and worker.
    Haproxy,
    /// hitch, in front of a plain server.
    Hitch,
    /// lighttpd with `mod_openssl`.
    Lighttpd,
    /// nginx.
    Nginx,
    /// Python's module ssl, a thread for each connection.
    Python,
    /// `openssl s_server`.
    SServer,
    /// stunnel, in front of a plain server.
    Stunnel,
}

/// Where a server runs.
pub(crate) struct Place<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) address: SocketAddr,
    /// The plain server behind it, where it needs one.
    pub(crate) backend: Option<SocketAddr>,
    pub(crate) settings: &'a Settings,
    /// Whether it will be told which user to become.
    pub(crate) is_root: bool,
}

/// What to write, and how to start.
pub(crate) struct Recipe {
    /// Name and text of its configuration.
    pub(crate) file: Option<(&'static str, String)>,
    pub(crate) arguments: Vec<String>,
    /// The folder in its folder that it is started in.
    pub(crate) stands_in: &'static str,
    /// What makes its master read the configuration again.
    pub(crate) reload: Option<Signal>,
    pub(crate) log: Log,
}

/// Where its access log comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Log {
    /// It writes none here.
    None,
    /// It opens the file itself.
    File,
    /// It is what the program prints.
    Stdout,
}

impl Product {
    /// Every product.
    pub const ALL: [Self; 8] = [
        Self::Apache,
        Self::Haproxy,
        Self::Hitch,
        Self::Lighttpd,
        Self::Nginx,
        Self::Python,
        Self::SServer,
        Self::Stunnel,
    ];

    /// What it is called, in one word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Apache => "apache",
            Self::Haproxy => "haproxy",
            Self::Hitch => "hitch",
            Self::Lighttpd => "lighttpd",
            Self::Nginx => "nginx",
            Self::Python => "python",
            Self::SServer => "s_server",
            Self::Stunnel => "stunnel",
        }
    }

    /// The package of Debian that holds it.
    #[must_use]
    pub const fn package(self) -> &'static str {
        match self {
            Self::Apache => "apache2",
            Self::Haproxy => "haproxy",
            Self::Hitch => "hitch",
            Self::Lighttpd => "lighttpd lighttpd-mod-openssl",
            Self::Nginx => "nginx",
            Self::Python => "python3",
            Self::SServer => "openssl",
            Self::Stunnel => "stunnel4",
        }
    }

    /// Whether [`Settings::asynchronous`] means something to it.
    #[must_use]
    pub const fn can_pause_handshakes(self) -> bool {
        matches!(self, Self::Haproxy | Self::SServer)
    }

    /// Whether it listens for HTTP without TLS too, and keeps connections open for more requests.
    #[must_use]
    pub const fn keeps_connections(self) -> bool {
        matches!(self, Self::Nginx)
    }

    /// Whether [`Settings::resumption`] can ask for it.
    #[must_use]
    pub const fn can_resume(self, by: Mechanism) -> bool {
        match self {
            Self::Nginx => true,
            Self::Haproxy => !matches!(by, Mechanism::PskKe),
            Self::Apache => !matches!(by, Mechanism::PskKe | Mechanism::EarlyData),
            _ => false,
        }
    }

    /// Where it speaks HTTP without TLS.
    pub(crate) fn plain_address(self, secure: SocketAddr) -> Option<SocketAddr> {
        (self == Self::Nginx).then(|| nginx::plain_address(secure))
    }

    /// Where its program is: in the folder that `TOLLGATE_STOCK` names, else in the system's own,
    /// else where a user would find it, whose program may have another TLS library.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`], with the package's name.
    pub fn program(self) -> Result<PathBuf, Error> {
        let name = match self {
            Self::Apache => "apache2",
            Self::Python => "python3",
            Self::SServer => "openssl",
            Self::Stunnel => "stunnel4",
            other => other.name(),
        };
        let path = env::var_os("PATH").unwrap_or_default();
        let named = env::var_os("TOLLGATE_STOCK").map(PathBuf::from);
        let folders = ["/usr/sbin", "/usr/bin"].map(PathBuf::from);
        let mut places = named.into_iter().chain(folders).chain(env::split_paths(&path));
        let found = places.find_map(|folder| Some(folder.join(name)).filter(|file| file.is_file()));
        found.ok_or(Error::Missing(self))
    }

    /// Its version, as the program tells it: `1.22.1`.
    #[must_use]
    pub fn version(self) -> Option<String> {
        let flag = match self {
            Self::SServer => "version",
            Self::Hitch | Self::Python => "--version",
            Self::Stunnel => "-version",
            Self::Apache | Self::Haproxy | Self::Lighttpd | Self::Nginx => "-v",
        };
        let output = Command::new(self.program().ok()?).arg(flag).output().ok()?;
        let said = [output.stdout, output.stderr].concat();
        first_version(&String::from_utf8_lossy(&said))
    }

    /// Starts it, and waits until it listens.
    ///
    /// # Errors
    ///
    /// It is not installed, refuses the settings or the certificate, or does not listen in time.
    pub fn start(self, settings: &Settings) -> Result<Running, Error> {
        Running::start(self, settings)
    }

    /// Whether it only ends TLS.
    pub(crate) const fn needs_backend(self) -> bool {
        matches!(self, Self::Hitch | Self::Stunnel)
    }

    pub(crate) fn recipe(self, place: &Place<'_>) -> Recipe {
        match self {
            Self::Apache => apache::recipe(place),
            Self::Haproxy => haproxy::recipe(place),
            Self::Hitch => hitch::recipe(place),
            Self::Lighttpd => lighttpd::recipe(place),
            Self::Nginx => nginx::recipe(place),
            Self::Python => python::recipe(place),
            Self::SServer => s_server::recipe(place),
            Self::Stunnel => stunnel::recipe(place),
        }
    }
}

/// The first word of digits and points with something between the points.
fn first_version(text: &str) -> Option<String> {
    let numbers = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    let is_version = |word: &&str| word.contains('.') && !word.split('.').any(str::is_empty);
    numbers.map(str::to_owned).find(|word| is_version(&word.as_str()))
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_written_as_the_manual_says() {
        let manual = include_str!("../../../../../docs/bench-url.md");
        let recipes = [nginx::LOG_FORMAT, apache::LOG_FORMAT, haproxy::LOG_FORMAT];
        for recipe in recipes.into_iter().chain([haproxy::COUNT_REQUESTS]) {
            for line in recipe.lines().map(str::trim) {
                assert!(manual.contains(line), "docs/bench-url.md lacks: {line}");
            }
        }
    }

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (said, version) in [
            ("nginx version: nginx/1.22.1", Some("1.22.1")),
            ("HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/", Some("2.6.12")),
            ("Server version: Apache/2.4.71 (Debian)", Some("2.4.71")),
            ("lighttpd/1.4.69 (ssl) - a light and fast webserver", Some("1.4.69")),
            ("no version 7 here. Nor there.", None),
        ] {
            assert_eq!(first_version(said).as_deref(), version, "{said}");
        }
    }
}
