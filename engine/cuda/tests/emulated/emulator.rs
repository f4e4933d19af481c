//! The emulation of `device/emulated.cpp` as a device: a process that reads commands.

use core::time::Duration;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use tollgate_cuda::{Batch, Device, Failure, Kernel, Mark, Memory, Size};

/// A limit that no test should reach.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// A running emulation. It ends with its input, when this value is dropped.
pub(crate) struct Emulator {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    /// Bytes that have come and were not asked for yet.
    come: Vec<u8>,
    /// Answers that are still to come before that of the next command.
    outstanding: Vec<Outstanding>,
    times: Vec<(Mark, u64)>,
    fill: usize,
    name: &'static str,
}

#[derive(Clone, Copy)]
enum Outstanding {
    Launch,
    Time(Mark),
}

/// Returns the program, which is compiled once.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compiled("emulated.cpp", "emulated", &[]))
}

/// Compiles a file of `device`, and returns the program or library.
pub(crate) fn compiled(source: &str, name: &str, options: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (own, result) = (folder.join(format!("{name}-{}", std::process::id())), folder.join(name));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("device").join(source);
    let compiler = Command::new("g++")
        .args(["-std=c++17", "-O2", "-fpeel-loops", "-Wall", "-Wextra", "-Werror"])
        .args(options)
        .arg(source)
        .arg("-o")
        .arg(&own)
        .status();
    let compiled = compiler.expect("the emulation needs g++: install the package g++");
    assert!(compiled.success(), "g++ compiles the emulation");
    std::fs::rename(&own, &result).expect("a file of this process");
    result
}

impl Emulator {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(program())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the emulation starts");
        let mut stdout = child.stdout.take().expect("it has a pipe");
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            loop {
                match stdout.read(&mut buffer) {
                    Ok(0) | Err(_) => return,
                    Ok(len) if sender.send(buffer[..len].to_vec()).is_err() => return,
                    Ok(_) => {}
                }
            }
        });
        let input = child.stdin.take();
        Self {
            child,
            input,
            output,
            come: Vec::new(),
            outstanding: Vec::new(),
            times: Vec::new(),
            fill: 4,
            name: "an emulated GPU",
        }
    }

    /// Sets the number of operations that fill the device.
    pub(crate) fn with_fill(mut self, fill: usize) -> Self {
        self.fill = fill;
        self
    }

    /// Ends the process, as a device that is gone.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("a running process");
        self.child.wait().expect("a child");
    }

    /// Hangs from the next command on.
    pub(crate) fn hang(&mut self) {
        self.send(&[b"h"]).expect("the process runs");
    }

    /// Changes one bit, the next time that a group gets to a stage.
    pub(crate) fn inject(&mut self, stage: u32, group: u32, bit: u32) {
        let words = [stage, group, bit].map(u32::to_le_bytes);
        self.send(&[b"f", words.as_flattened()]).expect("the process runs");
    }

    /// Sends a command of words and returns its answer, a number of words.
    pub(crate) fn ask(&mut self, command: u8, words: &[&[u32]], answer: usize) -> Vec<u32> {
        let words: Vec<u8> =
            words.iter().copied().flatten().flat_map(|w| w.to_le_bytes()).collect();
        self.send(&[&[command], &words]).expect("the process runs");
        let bytes = self.answer(4 * answer, LONG).expect("an answer");
        bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    fn send(&mut self, parts: &[&[u8]]) -> Result<(), Failure> {
        let input = self.input.as_mut().expect("the input is open");
        let sent = parts.iter().try_for_each(|part| input.write_all(part));
        sent.map_err(|error| {
            assert_eq!(error.kind(), ErrorKind::BrokenPipe);
            Failure::Call { call: "emulation", why: "a process that has ended".to_owned() }
        })
    }

    /// Returns the next bytes.
    fn answer(&mut self, bytes: usize, limit: Duration) -> Result<Vec<u8>, Failure> {
        let deadline = Instant::now() + limit;
        while self.come.len() < bytes {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(more) => self.come.extend(more),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                    return Err(Failure::Timeout(limit));
                }
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
                    let why = "an output that has ended".to_owned();
                    return Err(Failure::Call { call: "emulation", why });
                }
            }
        }
        let rest = self.come.split_off(bytes);
        Ok(core::mem::replace(&mut self.come, rest))
    }

    fn catch_up(&mut self, limit: Duration) -> Result<(), Failure> {
        for outstanding in core::mem::take(&mut self.outstanding) {
            match outstanding {
                Outstanding::Launch => drop(self.answer(1, limit)?),
                Outstanding::Time(mark) => {
                    let time = self.answer(8, limit)?;
                    let time = u64::from_le_bytes(time.try_into().expect("eight bytes"));
                    self.times.retain(|(other, _)| *other != mark);
                    self.times.push((mark, time));
                }
            }
        }
        Ok(())
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.input = None;
        // It may hang.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Device for Emulator {
    fn name(&self) -> &str {
        self.name
    }

    fn fill(&self, _: Size) -> usize {
        self.fill
    }

    fn allocate(&mut self, bytes: usize) -> Result<Memory, Failure> {
        self.catch_up(LONG)?;
        self.send(&[b"a", &(bytes as u64).to_le_bytes()])?;
        let number = self.answer(8, LONG)?;
        let memory = Memory(u64::from_le_bytes(number.try_into().expect("eight bytes")));
        self.clear(memory)?;
        Ok(memory)
    }

    fn write(&mut self, to: Memory, offset: usize, bytes: &[u8]) -> Result<(), Failure> {
        let header = [to.0, offset as u64, bytes.len() as u64].map(u64::to_le_bytes);
        self.send(&[b"w", header.as_flattened(), bytes])
    }

    fn read(
        &mut self,
        from: Memory,
        offset: usize,
        into: &mut [u8],
        limit: Duration,
    ) -> Result<(), Failure> {
        self.catch_up(limit)?;
        let header = [from.0, offset as u64, into.len() as u64].map(u64::to_le_bytes);
        self.send(&[b"r", header.as_flattened()])?;
        into.copy_from_slice(&self.answer(into.len(), limit)?);
        Ok(())
    }

    fn clear(&mut self, memory: Memory) -> Result<(), Failure> {
        self.send(&[b"c", &memory.0.to_le_bytes()])
    }

    fn launch(&mut self, kernel: Kernel, size: Size, batch: &Batch) -> Result<(), Failure> {
        let bits = u32::try_from(size.bits()).expect("few bits");
        let memories = batch.memories.map(|memory| memory.0.to_le_bytes());
        let [kernel, bits, count, exponent] =
            [kernel as u32, bits, batch.count, batch.exponent].map(u32::to_le_bytes);
        self.send(&[b"l", &kernel, &bits, memories.as_flattened(), &count, &exponent])?;
        self.outstanding.push(Outstanding::Launch);
        Ok(())
    }

    fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
        self.send(&[b"t"])?;
        self.outstanding.push(Outstanding::Time(mark));
        Ok(())
    }

    fn between(&mut self, from: Mark, to: Mark) -> Result<Duration, Failure> {
        self.catch_up(LONG)?;
        let time = |mark| self.times.iter().find(|(other, _)| *other == mark).expect("passed").1;
        Ok(Duration::from_nanos(time(to) - time(from)))
    }
}
