//! The Unix socket and the address of TLS.

use core::net::SocketAddr;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// A listening Unix socket. Dropping it removes its file.
#[derive(Debug)]
pub(crate) struct LocalSocket {
    pub(crate) listener: UnixListener,
    path: PathBuf,
    /// The device and number of the file.
    file: (u64, u64),
}

impl LocalSocket {
    /// Listens at a path, and replaces the socket of a signer that has ended.
    pub(crate) fn open(path: &Path, mode: u32) -> Result<Self, Error> {
        let failed = |why: io::Error| {
            let remedy = match why.kind() {
                ErrorKind::NotFound => ": make its folder, or check the path",
                ErrorKind::PermissionDenied => ": let the user of the signer write to its folder",
                _ => "",
            };
            Error::file(path, format!("cannot listen on the socket: {why}{remedy}"))
        };
        remove_stale(path)?;
        let listener = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, Permissions::from_mode(mode)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let file = number(path).map_err(failed)?;
        Ok(Self { listener, path: path.to_owned(), file })
    }
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        // Another signer may have replaced the file.
        if number(&self.path).is_ok_and(|file| file == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn number(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|file| (file.dev(), file.ino()))
}

/// Removes the socket of a signer that has ended. Another file, and the socket of a signer that
/// runs, are errors.
fn remove_stale(path: &Path) -> Result<(), Error> {
    let Ok(file) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !file.file_type().is_socket() {
        return Err(Error::file(path, "it is a file, not a socket: give another path"));
    }
    match UnixStream::connect(path) {
        Err(why) if why.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|why| {
                Error::file(path, format!("cannot remove the socket of an ended signer: {why}"))
            })
        }
        _ => Err(Error::file(path, "another program listens there: stop it, or give another path")),
    }
}

/// Listens at the address of a setting, and returns it with its port.
pub(crate) fn tcp(setting: &str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    let listen = || -> io::Result<_> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    listen().map_err(|why| {
        let remedy = match why.kind() {
            ErrorKind::AddrInUse => ": stop the other program, or take another port",
            ErrorKind::AddrNotAvailable => ": this machine has no such address",
            _ => "",
        };
        Error::setting(setting, format!("cannot listen on {address}: {why}{remedy}"))
    })
}
