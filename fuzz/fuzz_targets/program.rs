//! Assembles any text, and runs any bytes as an ELF file or as instructions. Each is a program, or
//! an error of one line. Assembling the disassembly of a program gives the same words. A program
//! ends, is stopped, or fails with an error of one line.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tollgate_leon2::program::Segment;
use tollgate_leon2::{Assembler, InstructionSet, Machine, Program, Timing, elf};

const ADDRESS: u32 = 0x4000_0000;
const LIMIT: u64 = 10_000;

static SET: LazyLock<InstructionSet> = LazyLock::new(InstructionSet::with_accumulator);
static TIMING: LazyLock<Timing> = LazyLock::new(Timing::leon2);

fuzz_target!(|bytes: &[u8]| {
    if let Ok(source) = core::str::from_utf8(bytes) {
        assemble(source);
    }
    run(bytes);
});

fn assemble(source: &str) {
    let program = match Assembler::new(&SET).assemble(source) {
        Ok(program) => program,
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            return;
        }
    };
    let segment = &program.segments[0];
    for (i, word) in segment.bytes.chunks_exact(4).enumerate().take(1000) {
        let word = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
        let Some(instruction) = SET.decode(word) else { continue };
        assert_eq!(instruction.encode(), Ok(word));
        let address = segment.address + 4 * u32::try_from(i).expect("programs are short");
        let text = instruction.text(address);
        let again = Assembler::new(&SET).at(address).assemble(&text).expect("it is an instruction");
        assert_eq!(again.segments[0].bytes, word.to_be_bytes(), "{text}");
    }
}

fn run(bytes: &[u8]) {
    let program = match elf::is_elf(bytes) {
        true => elf::read(bytes),
        false => {
            let segment = Segment { address: ADDRESS, bytes: bytes.to_vec(), zeros: 0 };
            let segments = vec![segment];
            Ok(Program { segments, entry: ADDRESS, ..Program::default() })
        }
    };
    let error = match program.and_then(|p| Machine::new(SET.clone(), TIMING.clone(), &p)) {
        Ok(mut machine) => match machine.run(LIMIT) {
            Ok(_) => return,
            Err(failure) => failure.to_string(),
        },
        Err(error) => error.to_string(),
    };
    assert!(!error.contains('\n'), "{error}");
}
