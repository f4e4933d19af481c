//! Assembles any text. The result is a program, or an error of one line. Assembling the disassembly
//! of a program gives the same words.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tollgate_leon2::{Assembler, InstructionSet};

static SET: LazyLock<InstructionSet> = LazyLock::new(InstructionSet::with_accumulator);

fuzz_target!(|source: &str| {
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
});
