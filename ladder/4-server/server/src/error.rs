//! The error of a server that does not start.

use core::net::SocketAddr;
use std::io;
use std::path::Path;

use openssl::error::ErrorStack;
use rustix::io::Errno;

/// The reason why a server did not start, in one line: what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Converts OpenSSL's errors in the step `doing`.
    pub(crate) fn openssl(doing: &'static str) -> impl FnOnce(ErrorStack) -> Self {
        move |stack| {
            Self(format!(
                "OpenSSL failed {doing}: {}: is it version 3.0 or later, with its default \
                 provider?",
                one_line(&stack)
            ))
        }
    }

    /// Converts the system's error in the step `doing`.
    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |why| {
            let why = why.into();
            Self(format!("the system refused {doing}: {why}{}", remedy_for_system(&why)))
        }
    }

    /// Converts the error of `doing` something with a file or folder.
    pub(crate) fn path(doing: &str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |why| Self(format!("{doing} {}: {why}{}", path.display(), remedy_for_path(&why)))
    }

    pub(crate) fn listen(address: SocketAddr) -> impl FnOnce(io::Error) -> Self {
        move |why| {
            Self(format!("cannot listen on {address}: {}", remedy_for_address(address, &why)))
        }
    }
}

/// Joins OpenSSL's lines, because every error message of this crate is one line.
pub(crate) fn one_line(stack: &ErrorStack) -> String {
    stack.to_string().lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

fn remedy_for_address(address: SocketAddr, why: &io::Error) -> String {
    match Errno::from_io_error(why) {
        Some(Errno::ADDRINUSE) => format!(
            "the port is in use: stop the other server (`ss -ltnp 'sport = :{0}'` names it) or \
             take another port",
            address.port()
        ),
        Some(Errno::ACCESS | Errno::PERM) => {
            "no permission: take a port of 1024 or more, or give CAP_NET_BIND_SERVICE".to_owned()
        }
        Some(Errno::ADDRNOTAVAIL) => {
            format!("this machine has no address {}: take one of its own", address.ip())
        }
        _ => format!("{why}{}", remedy_for_system(why)),
    }
}

fn remedy_for_path(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::NotFound => ": check the path",
        io::ErrorKind::PermissionDenied => {
            ": run as a user with permission, or change the file's mode"
        }
        io::ErrorKind::NotADirectory => ": give a folder",
        _ => remedy_for_system(why),
    }
}

fn remedy_for_system(why: &io::Error) -> &'static str {
    match Errno::from_io_error(why) {
        Some(Errno::MFILE) => ": no file descriptors left: raise the limit (`ulimit -n`)",
        Some(Errno::NFILE) => ": no file descriptors left in the system: raise fs.file-max",
        Some(Errno::NOMEM | Errno::NOBUFS) => ": no memory left: free some",
        Some(Errno::AGAIN) => ": no threads left: raise the limit (`ulimit -u`)",
        _ => "",
    }
}
