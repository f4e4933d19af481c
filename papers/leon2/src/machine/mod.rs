//! A machine: a program in memory, registers, and a clock.
//!
//! **Programs begin** with `%sp` at the end of memory and one window in use. **They end** with `ta
//! 0` and the status in `%o0`. A store to [`crate::memory::CONSOLE`] writes to the console.
//!
//! **Traps.** The simulator acts as the operating system: it stores windows on the stack and loads
//! them, `ta 0x10` is a Linux system call (`%g1` = 1 ends the program, 4 writes to the console),
//! and every other trap is a failure.

mod execute;
mod profile;
mod run;
mod state;

pub use crate::trap::Trap;
pub use profile::Share;
pub use run::{Ending, Failure};

use self::execute::Op;
use self::state::State;
use crate::isa::InstructionSet;
use crate::memory::Memory;
use crate::pipeline::{Pipeline, Slot};
use crate::program::{BadProgram, Program};
use crate::timing::Timing;

/// A machine with a program.
///
/// ```
/// use tollgate_leon2::{Assembler, Ending, InstructionSet, Machine, Timing};
///
/// let set = InstructionSet::sparc();
/// let program = Assembler::new(&set).assemble("mov 6, %o1; smul %o1, 7, %o0; ta 0")?;
/// let mut machine = Machine::new(set, Timing::leon2(), &program)?;
/// assert_eq!(machine.run(1_000)?, Ending::Exit(42));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Machine {
    set: InstructionSet,
    timing: Timing,
    program: Program,
    state: State,
    pipeline: Pipeline,
    /// The instructions that were decoded last, at places by the lower bits of their addresses.
    decoded: Vec<Option<Decoded>>,
    /// Starts and names of routines, by address.
    routines: Vec<(u32, String)>,
    /// Cycles and instructions before the first routine, and of each routine.
    spent: Vec<(u64, u64)>,
    /// The routine of the last instruction, as a place in `spent`.
    routine: usize,
    /// True if the instruction at `pc` is annulled, so that the next step must skip it.
    annulled: bool,
    cycles: u64,
    instructions: u64,
    spills: u64,
    fills: u64,
    ended: Option<u32>,
}

/// An instruction, ready to be executed.
#[derive(Clone, Copy, Debug)]
struct Decoded {
    address: u32,
    op: Op,
    slot: Slot,
    routine: usize,
}

/// How many decoded instructions are kept.
const DECODED: usize = 1 << 14;

impl Machine {
    /// Creates a machine at the first instruction of the program.
    ///
    /// # Errors
    ///
    /// [`BadProgram`], if memory cannot hold it.
    pub fn new(set: InstructionSet, timing: Timing, program: &Program) -> Result<Self, BadProgram> {
        let memory = program.memory()?;
        let windows = timing.windows.count as usize;
        let symbols = program.symbols.iter().map(|(name, &start)| (start, name.clone()));
        let mut routines: Vec<(u32, String)> = symbols.collect();
        routines.sort();
        Ok(Self {
            spent: vec![(0, 0); routines.len() + 1],
            routine: 0,
            routines,
            state: State::new(memory, windows, program.entry),
            pipeline: Pipeline::default(),
            decoded: vec![None; DECODED],
            annulled: false,
            cycles: 0,
            instructions: 0,
            spills: 0,
            fills: 0,
            ended: None,
            set,
            timing,
            program: program.clone(),
        })
    }

    /// Returns the number of cycles since the start.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Returns the number of instructions executed since the start; annulled ones do not count.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Returns windows that the simulator stored and loaded as the operating system.
    pub fn windows_moved(&self) -> (u64, u64) {
        (self.spills, self.fills)
    }

    /// Returns the address of the next instruction.
    pub fn pc(&self) -> u32 {
        self.state.pc
    }

    /// Returns the memory.
    pub fn memory(&self) -> &Memory {
        &self.state.memory
    }

    /// Returns the memory, to write data; writing code has no effect on decoded instructions.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.state.memory
    }
}
