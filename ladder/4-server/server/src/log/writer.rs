//! The thread that writes the access log.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::line::{Line, LostLine, StartLine, StopLine};
use super::now_us;
use crate::error::{Error, Unavailable};
use crate::notice::{Notice, Notices};

/// The maximum number of batches between the workers and the writer. Workers keep further lines.
const QUEUE_BATCHES: usize = 64;

/// The channel from workers to the writer.
pub(crate) type Batches = SyncSender<Vec<Line>>;

/// The counts of written and lost lines.
#[derive(Debug)]
pub(crate) struct LogState {
    written: AtomicU64,
    lost: AtomicU64,
    notices: Arc<Notices>,
}

impl LogState {
    pub(crate) const fn new(notices: Arc<Notices>) -> Self {
        Self { written: AtomicU64::new(0), lost: AtomicU64::new(0), notices }
    }

    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Returns the number of handshake and request lines that were lost.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn lose(&self, lines: usize) {
        self.lost.fetch_add(lines as u64, Ordering::Relaxed);
        self.notices.notify(&Notice::LogLost);
    }
}

#[derive(Debug)]
pub(crate) struct Writer {
    thread: JoinHandle<bool>,
    to: Batches,
}

impl Writer {
    /// Opens the log for appending, writes the start line, and starts the thread.
    pub(crate) fn start(
        path: &Path,
        start: StartLine,
        state: &Arc<LogState>,
    ) -> Result<(Self, Batches), Error> {
        let refuse = |why| Unavailable::AccessLog { path: path.to_owned(), why };
        let mut out = Out::open(path, Arc::clone(state)).map_err(refuse)?;
        if out.write(&[Line::Start(start)]) == 0 {
            return Err(refuse(io::ErrorKind::StorageFull.into()).into());
        }
        let (to, from) = sync_channel(QUEUE_BATCHES);
        let thread = thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || out.run(&from))
            .map_err(Unavailable::system("a thread for the access log"))?;
        Ok((Self { thread, to: to.clone() }, to))
    }

    /// Waits until the workers' lines and the stop line are written, or until `deadline` has
    /// passed. Returns whether these lines are written.
    pub(crate) fn finish(self, deadline: Instant) -> bool {
        drop(self.to);
        while !self.thread.is_finished() {
            if Instant::now() >= deadline {
                return false; // the thread continues until the file accepts its bytes
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.thread.join().unwrap_or(false)
    }
}

/// Opens the file for appending. A pipe without a reader is an error, because opening it would
/// block.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().append(true).create(true).custom_flags(flags).open(path)?;
    // From now on a full pipe blocks only the writing thread.
    let flags = fcntl_getfl(&file)?;
    fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}

struct Out {
    file: File,
    state: Arc<LogState>,
    /// The file ends within a line, because a write failed: nothing can follow.
    is_broken: bool,
    /// The number of lost lines that the log already mentions.
    told: u64,
}

impl Out {
    fn open(path: &Path, state: Arc<LogState>) -> io::Result<Self> {
        Ok(Self { file: open(path)?, state, is_broken: false, told: 0 })
    }

    /// Writes batches until all workers have ended, and then the stop line. Returns whether the
    /// stop line is written.
    fn run(mut self, from: &Receiver<Vec<Line>>) -> bool {
        for batch in from {
            self.batch(&batch);
        }
        self.tell_lost();
        let (lines, lost) = (self.state.written(), self.state.lost());
        let stop = Line::Stop(StopLine { time_us: now_us(), lines, lost });
        self.write(&[stop]) == 1
    }

    fn batch(&mut self, batch: &[Line]) {
        self.tell_lost();
        let written = self.write(batch);
        self.state.written.fetch_add(written as u64, Ordering::Relaxed);
        if written < batch.len() {
            self.state.lose(batch.len() - written);
        }
    }

    /// Writes a line with the number of newly lost lines, if there are any.
    fn tell_lost(&mut self) {
        let lost = self.state.lost();
        let line = LostLine { time_us: now_us(), lines: lost - self.told };
        if line.lines > 0 && self.write(&[Line::Lost(line)]) == 1 {
            self.told = lost;
        }
    }

    /// Writes lines. Returns the number of whole lines in the file: a full disk may take a part.
    fn write(&mut self, lines: &[Line]) -> usize {
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, line).expect("a line is JSON");
            text.push(b'\n');
        }
        let mut done = 0;
        while done < text.len() && !self.is_broken {
            match self.file.write(&text[done..]) {
                Ok(count @ 1..) => done += count,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                refused => {
                    let why = refused.err().unwrap_or_else(|| io::ErrorKind::WriteZero.into());
                    self.state.notices.notify(&Notice::LogFailed(why.to_string()));
                    self.is_broken = done > 0 && text[done - 1] != b'\n';
                    break;
                }
            }
        }
        text[..done].iter().filter(|byte| **byte == b'\n').count()
    }
}

#[cfg(test)]
mod tests {

    use std::sync::Mutex;

    use super::*;
    use crate::notice::Notify;

    #[test]
    fn a_full_disk_loses_lines_and_says_so() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let hear = Arc::clone(&said);
        let notify = Notify::new(move |notice| hear.lock().unwrap().push(notice.clone()));
        let state = Arc::new(LogState::new(Arc::new(Notices::new(notify))));
        let path = Path::new("/dev/full");
        let mut out = Out::open(path, Arc::clone(&state)).unwrap();
        let line = || Line::Lost(LostLine { time_us: 0, lines: 0 });
        out.batch(&[line(), line()]);
        out.batch(&[line()]);
        assert_eq!((state.written(), state.lost()), (0, 3));
        let said = said.lock().unwrap();
        assert_eq!(said.len(), 2, "each once: {said:?}");
        assert!(matches!(&said[0], Notice::LogFailed(why) if why.contains("space")));
        drop(said);
        let (to, from) = sync_channel(1);
        drop(to);
        assert!(!out.run(&from), "the stop line is not written");
    }
}
