//! The compiled kernels for GPUs, instruction by instruction: whole operations with the committed
//! PTX are right, all threads of a warp take part in each exchange, and no branch and no address
//! depends on a key, an input or a result.
//!
//! Keys of 3072 and 4096 bits need `TOLLGATE_TEST_LONG`.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, reason = "what was skipped is said")]

mod parse;
mod warp;

use core::time::Duration;
use std::collections::HashMap;
use std::sync::Arc;

use tollgate_cuda::{
    Batch, Device, Failure, Kernel, Mark, Memory, Numbers, Operation, Operations, Size,
};
use tollgate_rsa::{PrivateKey, Workspace};

/// A device that interprets PTX. Addresses are offsets in one memory.
struct Interpreter {
    ptx: String,
    kernels: HashMap<String, parse::Kernel>,
    global: warp::Memory,
    /// Start and length of each memory, in bytes.
    memories: Vec<(usize, usize)>,
}

/// The place of the jobs among the memories of a batch: the only one without secrets.
const JOBS: usize = 2;

impl Interpreter {
    fn new() -> Self {
        let packed = include_bytes!("../../prebuilt/kernels.ptx.z");
        let ptx = miniz_oxide::inflate::decompress_to_vec_zlib(packed).unwrap();
        Self {
            ptx: String::from_utf8(ptx).unwrap(),
            kernels: HashMap::new(),
            global: warp::Memory::default(),
            memories: Vec::new(),
        }
    }

    fn place(&self, memory: Memory) -> (usize, usize) {
        self.memories[usize::try_from(memory.0).unwrap()]
    }
}

impl Device for Interpreter {
    fn name(&self) -> &'static str {
        "interpreted PTX"
    }

    /// Fills a warp.
    fn fill(&self, size: Size, numbers: Numbers) -> Option<usize> {
        match numbers {
            Numbers::Words => Some(32 / (2 * size.lanes())),
            Numbers::Doubles => size.limbs52().map(|_| 16),
        }
    }

    fn allocate(&mut self, bytes: usize) -> Result<Memory, Failure> {
        let start = 4 * self.global.words.len();
        self.global.words.resize(start / 4 + bytes.div_ceil(4), 0);
        self.global.secret.resize(self.global.words.len(), false);
        self.memories.push((start, bytes));
        Ok(Memory(self.memories.len() as u64 - 1))
    }

    fn write(&mut self, to: Memory, offset: usize, bytes: &[u8]) -> Result<(), Failure> {
        let start = (self.place(to).0 + offset) / 4;
        for (word, bytes) in self.global.words[start..].iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Ok(())
    }

    fn read(
        &mut self,
        from: Memory,
        offset: usize,
        into: &mut [u8],
        _: Duration,
    ) -> Result<(), Failure> {
        let start = (self.place(from).0 + offset) / 4;
        for (bytes, word) in into.chunks_mut(4).zip(&self.global.words[start..]) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Ok(())
    }

    fn clear(&mut self, memory: Memory) -> Result<(), Failure> {
        let (start, bytes) = self.place(memory);
        self.global.words[start / 4..(start + bytes).div_ceil(4)].fill(0);
        Ok(())
    }

    fn launch(&mut self, kernel: Kernel, size: Size, batch: &Batch) -> Result<(), Failure> {
        // Everything but the jobs counts as secret, even moduli.
        for (i, &memory) in batch.memories.iter().enumerate() {
            let (start, bytes) = self.place(memory);
            self.global.secret[start / 4..(start + bytes).div_ceil(4)].fill(i != JOBS);
        }
        let mut argument = Vec::new();
        for memory in batch.memories {
            argument.extend([u32::try_from(self.place(memory).0).unwrap(), 0]);
        }
        argument.extend([batch.count, batch.exponent]);
        let lanes = if kernel == Kernel::Power52 { 1 } else { size.lanes() };
        let threads = batch.count as usize * 2 * lanes;
        let name = format!("{}_{}", kernel.name(), size.bits());
        let ptx = &self.ptx;
        let kernel = self.kernels.entry(name).or_insert_with_key(|name| parse::kernel(ptx, name));
        for number in 0..threads.div_ceil(warp::LANES) as u64 {
            let (block, first_thread) = (number / 4, number % 4 * warp::LANES as u64);
            let warp = warp::Warp { kernel, argument: &argument, block, first_thread };
            warp.run(&mut self.global);
        }
        Ok(())
    }

    fn mark(&mut self, _: Mark) -> Result<(), Failure> {
        Ok(())
    }

    fn between(&mut self, _: Mark, _: Mark) -> Result<Duration, Failure> {
        Ok(Duration::ZERO)
    }
}

#[test]
fn operations_are_right_and_no_branch_or_address_depends_on_a_secret() {
    let is_long = std::env::var_os("TOLLGATE_TEST_LONG").is_some();
    let keys = [
        (Size::Rsa1024, include_str!("../../../../vectors/keys/rsa-1024.pem")),
        (Size::Rsa2048, include_str!("../../../../vectors/keys/rsa-2048.pem")),
        (Size::Rsa3072, include_str!("../../../../vectors/keys/rsa-3072.pem")),
        (Size::Rsa4096, include_str!("../../../../vectors/keys/rsa-4096.pem")),
    ];
    for (size, pem) in keys {
        if size > Size::Rsa2048 && !is_long {
            eprintln!("not tested: {} bits; set TOLLGATE_TEST_LONG", size.bits());
            continue;
        }
        let key = Arc::new(PrivateKey::from_pem(pem).unwrap());
        for numbers in Numbers::ALL {
            if numbers == Numbers::Doubles && size.limbs52().is_none() {
                continue;
            }
            run_interpreted(size, &key, numbers);
        }
    }
}

/// Runs operations of one warp, and compares their results with those of the processor.
fn run_interpreted(size: Size, key: &Arc<PrivateKey>, numbers: Numbers) {
    let mut operations = Operations::with_numbers(Box::new(Interpreter::new()), 4, numbers);
    // Less than a warp, so that groups beyond the last operation must not store.
    let count = operations.width(size) - 1;
    let mut inputs = vec![vec![0x5a; key.size()]; count];
    inputs[0].fill(0);
    let mut expected = inputs.clone();
    for number in &mut expected {
        key.private(&mut Workspace::new().unwrap(), number).unwrap();
    }
    let mut batch: Vec<_> =
        inputs.iter_mut().map(|number| Operation { key, number, passed: false }).collect();
    operations.run(size, &mut batch, Duration::MAX).unwrap();
    assert!(batch.iter().all(|operation| operation.passed), "{} bits", size.bits());
    assert_eq!(inputs, expected);
}

/// A kernel that reads a secret word, and then does `more`.
fn leak(more: &str) {
    let text = format!(
        ".visible .entry leak(\n)\n{{\n\tmov.u32 %r1, %tid.x;\n\tcvt.u64.u32 %rd1, %r1;\n\
         \tshl.b64 %rd2, %rd1, 2;\n\tld.global.u32 %r2, [%rd2];\n\tand.b32 %r3, %r2, 4;\n\
         \tcvt.u64.u32 %rd3, %r3;\n{more}\n$L:\n\tret;\n}}\n"
    );
    let kernel = parse::kernel(&text, "leak");
    let mut global = warp::Memory::with_words(64);
    global.secret[7] = true;
    let warp = warp::Warp { kernel: &kernel, argument: &[], block: 0, first_thread: 0 };
    warp.run(&mut global);
}

#[test]
fn a_kernel_without_a_leak_runs() {
    leak("\tst.global.u32 [%rd2], %r3;");
}

#[test]
#[should_panic(expected = "a branch depends on a secret")]
fn a_secret_branch_is_found() {
    leak("\tsetp.ne.s32 %p1, %r3, 0;\n\t@%p1 bra $L;");
}

#[test]
#[should_panic(expected = "an address depends on a secret")]
fn a_secret_address_is_found() {
    leak("\tld.global.u32 %r4, [%rd3];");
}

#[test]
#[should_panic(expected = "without all threads")]
fn an_exchange_without_some_threads_is_found() {
    leak("\tsetp.gt.u32 %p1, %r1, 3;\n\t@%p1 bra $L;\n\tvote.sync.ballot.b32 %r5, %p1, -1;");
}
