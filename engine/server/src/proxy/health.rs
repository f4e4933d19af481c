//! A thread that checks the back ends.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::{Backends, HealthCheck};
use crate::error::{Error, Unavailable};
use crate::notice::{Notice, Notices};

/// The thread. Dropping it ends it, after the check that it is doing.
#[derive(Debug)]
pub(crate) struct Checker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checker {
    /// Starts the thread. The first checks begin at once.
    pub(crate) fn start(
        check: HealthCheck,
        backends: Arc<Backends>,
        notices: Arc<Notices>,
    ) -> Result<Self, Error> {
        let (stop, stopped) = mpsc::channel();
        let work = move || loop {
            let begun = Instant::now();
            for backend in 0..backends.len() {
                let address = backends.address(backend);
                let is_up = is_up(address, &check).is_ok();
                if backends.set_up(backend, is_up) {
                    notices.say(&Notice::Backend { address, is_up });
                }
            }
            let wait = check.interval.saturating_sub(begun.elapsed());
            if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        };
        let thread = thread::Builder::new().name("health".to_owned()).spawn(work);
        let thread = thread.map_err(Unavailable::system("a thread that checks back ends"))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Checker {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic was already reported.
            let _ = thread.join();
        }
    }
}

/// Fails unless the back end answers with a status of 200 to 399 in time.
fn is_up(address: SocketAddr, check: &HealthCheck) -> io::Result<()> {
    let deadline = Instant::now() + check.limit;
    let left =
        || Some(deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)));
    let mut socket = TcpStream::connect_timeout(&address, check.limit)?;
    socket.set_write_timeout(left())?;
    let target = &check.target;
    write!(socket, "GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    // "HTTP/1.1 200 ": the status line is enough
    let (mut start, mut filled) = ([0; 13], 0);
    while filled < start.len() {
        socket.set_read_timeout(left())?;
        match socket.read(&mut start[filled..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => filled += n,
        }
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    let is_good = start.starts_with(b"HTTP/1.") && matches!(start[9], b'2' | b'3');
    if is_good { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}
