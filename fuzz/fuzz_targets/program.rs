//! Assembles any text, and runs any bytes as an ELF file or as instructions. Each is a program, or an
//! error of one line. Assembling the disassembly of a program gives the same words. Running a
//! program in blocks and in single steps gives the same result.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tollgate_leon2::{Assembler, Ending, InstructionSet, Machine, Program, Timing, elf};

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
    let program =
        if elf::is_elf(bytes) { elf::read(bytes) } else { Program::flat(bytes, 0x4000_0000) };
    let program = match program {
        Ok(program) => program,
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            return;
        }
    };
    let machine = || Machine::new(SET.clone(), TIMING.clone(), &program);
    let (Ok(mut fast), Ok(mut slow)) = (machine(), machine()) else {
        panic!("what was read has room");
    };
    let by_blocks = fast.run(LIMIT);
    let by_steps = loop {
        if let Some(status) = slow.ended() {
            break Ok(Ending::Exit(status));
        } else if slow.instructions() >= LIMIT || slow.cycles() > 200 * LIMIT {
            break Ok(Ending::Limit);
        } else if let Err(failure) = slow.step() {
            break Err(failure);
        }
    };
    if let Err(failure) = &by_blocks {
        assert!(!failure.to_string().contains('\n'), "{failure}");
    }
    // If a program modifies its code without a flush, blocks still execute the old instructions.
    let unchanged = program.segments.iter().all(|segment| {
        let now = slow.memory().bytes(segment.address, segment.bytes.len());
        now == Some(segment.bytes.as_slice())
    });
    if unchanged {
        assert_eq!(by_blocks.is_err(), by_steps.is_err());
    }
    if unchanged && matches!(by_blocks, Ok(Ending::Exit(_))) {
        assert_eq!(by_blocks, by_steps);
        assert_eq!(fast.registers(), slow.registers());
        assert_eq!(fast.cycles(), slow.cycles());
        assert_eq!(fast.instructions(), slow.instructions());
    }
}
