//! The sessions in the output of `gnutls-serv`.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use crate::referee::{Referee, Seen};

/// The output of `gnutls-serv`, which has a line for each completed handshake. It has none for
/// requests.
#[derive(Debug)]
pub struct Descriptions {
    file: BufReader<File>,
    /// The last line, possibly incomplete.
    line: Vec<u8>,
    count: u64,
    before: u64,
}

impl Descriptions {
    /// Opens the file at `path`, which must exist.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = BufReader::new(File::open(path)?);
        Ok(Self { file, line: Vec::new(), count: 0, before: 0 })
    }

    fn catch_up(&mut self) -> io::Result<u64> {
        while self.file.read_until(b'\n', &mut self.line)? > 0 {
            if self.line.ends_with(b"\n") {
                self.count += u64::from(self.line.starts_with(b"- Description: "));
                self.line.clear();
            }
        }
        Ok(self.count)
    }
}

impl Referee for Descriptions {
    fn mark(&mut self) -> io::Result<()> {
        self.before = self.catch_up()?;
        Ok(())
    }

    fn seen(&mut self) -> io::Result<Seen> {
        Ok(Seen { handshakes: self.catch_up()? - self.before, ..Seen::default() })
    }
}
