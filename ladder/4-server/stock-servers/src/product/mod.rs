//! The products: program, package and configuration of each.

mod apache;
mod haproxy;
mod lighttpd;
mod nginx;
mod unlogged;

use core::net::SocketAddr;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tollgate_load::{Mechanism, words};

use crate::settings::Settings;

/// The file for connections and requests, if the server writes such a log.
pub(crate) const ACCESS_LOG: &str = "access.log";

/// Suites of TLS 1.2; keys of at least 1024 bits.
pub(crate) const CIPHERS: &str = "DEFAULT:@SECLEVEL=0";

words! {
    /// A stock server.
    Product {
        /// Apache with `mod_ssl` and the event MPM.
        Apache = "apache",
        /// A shell command of the user, in [`Settings::command`].
        Command = "command",
        /// `gnutls-serv`, which has suites that OpenSSL no longer has: RC4 and triple DES. Its page
        /// has no chosen size, so it has no [`Settings::bodies`].
        Gnutls = "gnutls",
        /// HAProxy, master and worker.
        Haproxy = "haproxy",
        /// lighttpd with `mod_openssl`.
        Lighttpd = "lighttpd",
        /// nginx.
        Nginx = "nginx",
        /// Python's module ssl, a thread for each connection.
        Python = "python",
        /// `openssl s_server`.
        SServer = "s_server",
        /// stunnel, in front of nginx without TLS.
        Stunnel = "stunnel",
    }
}

/// The folder and addresses of a server.
pub(crate) struct Place<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) address: SocketAddr,
    /// The HTTP backend, if it has one.
    pub(crate) backend: Option<SocketAddr>,
    pub(crate) settings: &'a Settings,
    /// The server starts as root, so its configuration names a user to switch to.
    pub(crate) is_root: bool,
}

/// The configuration of a server, and the arguments of its program.
pub(crate) struct Recipe {
    /// Name and text of the configuration file.
    pub(crate) file: Option<(&'static str, String)>,
    pub(crate) arguments: Vec<String>,
}

impl Recipe {
    fn new(file: &'static str, text: String, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self { file: Some((file, text)), arguments }
    }
}

/// The source of a server's access log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Log {
    /// The server writes no log here.
    None,
    /// The server writes the file, itself or through a pipe.
    File,
    /// The output of the program.
    Stdout,
}

impl Product {
    /// Returns the Debian package, the program, and its argument that prints the version.
    const fn facts(self) -> [&'static str; 3] {
        match self {
            Self::Apache => ["apache2", "apache2", "-v"],
            Self::Command => ["dash", "sh", ""],
            Self::Gnutls => ["gnutls-bin", "gnutls-serv", "--version"],
            Self::Haproxy => ["haproxy", "haproxy", "-v"],
            Self::Lighttpd => ["lighttpd lighttpd-mod-openssl", "lighttpd", "-v"],
            Self::Nginx => ["nginx", "nginx", "-v"],
            Self::Python => ["python3", "python3", "--version"],
            Self::SServer => ["openssl", "openssl", "version"],
            Self::Stunnel => ["stunnel4", "stunnel4", "-version"],
        }
    }

    /// Returns the name of the Debian package.
    #[must_use]
    pub const fn package(self) -> &'static str {
        self.facts()[0]
    }

    /// Returns whether the product supports [`Settings::asynchronous`].
    pub(crate) const fn can_pause_handshakes(self) -> bool {
        matches!(self, Self::Haproxy | Self::SServer)
    }

    /// Returns whether the product supports the mechanism in [`Settings::resumption`].
    #[must_use]
    pub const fn can_resume(self, by: Mechanism) -> bool {
        match self {
            Self::Nginx | Self::Haproxy => true,
            Self::Apache => !matches!(by, Mechanism::EarlyData),
            _ => false,
        }
    }

    /// Returns the address for HTTP without TLS.
    pub(crate) fn plain_address(self, secure: SocketAddr) -> Option<SocketAddr> {
        (self == Self::Nginx).then(|| nginx::plain_address(secure))
    }

    /// Returns the path of the program, if it is installed: in the folder that `TOLLGATE_STOCK`
    /// names, then in the system's folders, then in `PATH`, where it may use another TLS library.
    pub(crate) fn program(self) -> Option<PathBuf> {
        let [_, name, _] = self.facts();
        let path = env::var_os("PATH").unwrap_or_default();
        let named = env::var_os("TOLLGATE_STOCK").map(PathBuf::from);
        let folders = ["/usr/sbin", "/usr/bin"].map(PathBuf::from);
        let mut places = named.into_iter().chain(folders).chain(env::split_paths(&path));
        places.find_map(|folder| Some(folder.join(name)).filter(|file| file.is_file()))
    }

    /// Returns the version that the program prints, such as `1.22.1`; `None` for a command.
    #[must_use]
    pub fn version(self) -> Option<String> {
        if self == Self::Command {
            return None;
        }
        let [.., argument] = self.facts();
        let output = Command::new(self.program()?).arg(argument).output().ok()?;
        let said = [output.stdout, output.stderr].concat();
        first_version(&String::from_utf8_lossy(&said))
    }

    /// Returns the signal that makes the product's master reload the configuration, if the product
    /// can reload.
    pub(crate) const fn reload_signal(self) -> Option<Signal> {
        match self {
            Self::Apache | Self::Lighttpd => Some(Signal::USR1),
            Self::Haproxy => Some(Signal::USR2),
            Self::Nginx | Self::Stunnel => Some(Signal::HUP),
            Self::Command | Self::Gnutls | Self::Python | Self::SServer => None,
        }
    }

    pub(crate) const fn log(self) -> Log {
        match self {
            Self::Apache | Self::Command | Self::Lighttpd | Self::Nginx => Log::File,
            Self::Gnutls | Self::Haproxy => Log::Stdout,
            _ => Log::None,
        }
    }

    /// Returns the product's working directory, in the folder of the server.
    pub(crate) fn working_folder(self) -> &'static str {
        // s_server serves the files of its working directory.
        if self == Self::SServer { "www" } else { "" }
    }

    /// Returns whether the first process serves. Its children only write the log.
    pub(crate) const fn serves_alone(self) -> bool {
        matches!(self, Self::Lighttpd)
    }

    pub(crate) fn recipe(self, place: &Place<'_>) -> Recipe {
        match self {
            Self::Apache => apache::recipe(place),
            Self::Command => unlogged::command(place),
            Self::Gnutls => unlogged::gnutls(place),
            Self::Haproxy => haproxy::recipe(place),
            Self::Lighttpd => lighttpd::recipe(place),
            Self::Nginx => nginx::recipe(place),
            Self::Python => unlogged::python(place),
            Self::SServer => unlogged::s_server(place),
            Self::Stunnel => unlogged::stunnel(place),
        }
    }
}

/// Returns the first word that consists of groups of digits with points between them.
fn first_version(text: &str) -> Option<String> {
    let numbers = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    let is_version = |word: &&str| word.contains('.') && !word.split('.').any(str::is_empty);
    numbers.map(str::to_owned).find(|word| is_version(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_written_as_the_manual_says() {
        let manual = include_str!("../../../../../docs/bench-url.md");
        let recipes =
            [nginx::LOG_FORMAT, apache::LOG_FORMAT, haproxy::LOG_FORMAT, lighttpd::LOG_FORMAT];
        for recipe in recipes.into_iter().chain([haproxy::COUNT_REQUESTS]) {
            for line in recipe.lines().map(str::trim) {
                assert!(manual.contains(line), "docs/bench-url.md lacks: {line}");
            }
        }
    }

    #[test]
    fn versions_are_found_in_the_output_of_programs() {
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
