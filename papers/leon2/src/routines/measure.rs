//! Runs a routine once.

use super::{Number, Routine};
use crate::assembler::Assembler;
use crate::machine::{Failure, Machine};
use crate::program::Program;
use crate::timing::Timing;

/// The operands of a routine; all have the words of the modulus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// Below p.
    pub a: Number,
    /// Below p.
    pub b: Number,
    /// The modulus, odd.
    pub p: Number,
}

impl Inputs {
    /// Returns pseudo-random numbers from a fixed seed. The generator xorshift (13, 17, 5) starts
    /// at 12345 and gives words of a, b and p in turn. The highest and lowest bits of p are set,
    /// and the highest bits of a and b are cleared.
    #[must_use]
    pub fn patterned(words: u32) -> Self {
        let mut state: u32 = 12345;
        let mut draw = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        };
        let mut all: [Vec<u32>; 3] = Default::default();
        for _ in 0..words {
            all.iter_mut().for_each(|number| number.push(draw()));
        }
        let [mut a, mut b, mut p] = all;
        let top = words as usize - 1;
        p[0] |= 1;
        p[top] |= 1 << 31;
        a[top] &= !(1 << 31);
        b[top] &= !(1 << 31);
        Self { a: Number::new(a), b: Number::new(b), p: Number::new(p) }
    }
}

/// Cycles and instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Cycles.
    pub cycles: u64,
    /// Instructions.
    pub instructions: u64,
}

/// The counts and the result of a routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutineRun {
    /// Counts from the call to its return.
    pub counts: Counts,
    /// The size of its code in bytes.
    pub code: usize,
    /// Its result.
    pub result: Number,
}

/// The limit of instructions, above every routine: 128 words take 128^2 * 35 * 4.
const LIMIT: u64 = 10_000_000;

impl Routine {
    /// Runs it once.
    ///
    /// # Errors
    ///
    /// [`Failure`], if it is wrong and traps.
    ///
    /// # Panics
    ///
    /// If the inputs have another number of words than the routine.
    pub fn measure(&self, timing: &Timing, inputs: &Inputs) -> Result<RoutineRun, Failure> {
        let program = self.program(inputs);
        let mut machine = Machine::new(self.instructions(), timing.clone(), &program)
            .expect("the program is small and begins with code");
        let address = |name: &str| program.symbols[name];
        machine.run_to(address("call_it"), LIMIT)?;
        let (cycles, instructions) = (machine.cycles(), machine.instructions());
        machine.run_to(address("after_it"), LIMIT)?;
        let counts = Counts {
            cycles: machine.cycles() - cycles,
            instructions: machine.instructions() - instructions,
        };
        Ok(RoutineRun {
            counts,
            code: (address("end_of_code") - address("routine")) as usize,
            result: read(&machine, address("z"), self.words),
        })
    }

    fn program(&self, inputs: &Inputs) -> Program {
        let Inputs { a, b, p } = inputs;
        for number in [a, b, p] {
            assert_eq!(
                number.words().len(),
                self.words as usize,
                "numbers have the modulus's words"
            );
        }
        let source = format!(
            "_start: set z, %o0
                     set a, %o1
                     set b, %o2
                     set p, %o3
            call_it: call routine
                     nop
            after_it: ta 0
            {}
            end_of_code:
            {}
            a: {}
            b: {}
            z: .skip {}",
            self.source("routine"),
            modulus(p),
            words(a),
            words(b),
            4 * self.words
        );
        Assembler::new(&self.instructions())
            .assemble(&source)
            .expect("tests assemble every routine")
    }
}

/// Returns the data of a modulus: n, n0', p, and space for 2n words.
pub(super) fn modulus(p: &Number) -> String {
    let count = p.words().len();
    format!(
        ".align 8
         .word {count}, {}
         p: {}
         .skip {}",
        Number::n0(p) & 0xffff_ffff,
        words(p),
        8 * count
    )
}

/// Returns a number as data.
pub(super) fn words(number: &Number) -> String {
    let words: Vec<String> = number.words().iter().map(u32::to_string).collect();
    format!(".word {}", words.join(", "))
}

/// Reads a number from memory.
pub(super) fn read(machine: &Machine, address: u32, words: u32) -> Number {
    let bytes = machine.memory().bytes(address, 4 * words as usize).unwrap_or_default();
    let word = |chunk: &[u8]| chunk.iter().fold(0, |word, &byte| word << 8 | u32::from(byte));
    Number::new(bytes.chunks_exact(4).map(word).collect())
}
