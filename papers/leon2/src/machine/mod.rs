//! A machine: a program in memory, registers, and a clock.
//!
//! **Programs begin** with `%sp` at the end of memory and one window in use. **They end** with `ta
//! 0` and the status in `%o0`. A store to [`crate::memory::CONSOLE`] writes to the console.
//!
//! **Traps.** The simulator acts as the operating system: it stores windows on the stack and loads
//! them, `ta 0x10` is a Linux system call (`%g1` = 1 ends the program, 4 writes to the console),
//! and every other trap is a failure.

mod block;
mod execute;
mod profile;
mod run;
mod state;

pub use crate::trap::Trap;
pub use profile::Share;
pub use run::{Ending, Failure};

use std::collections::BTreeSet;

use self::block::Blocks;
use self::state::State;
use crate::isa::InstructionSet;
use crate::memory::Memory;
use crate::pipeline::Pipeline;
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
    labels: BTreeSet<u32>,
    state: State,
    pipeline: Pipeline,
    blocks: Blocks,
    /// True if the instruction at `pc` is annulled, so that the next step must skip it. Only
    /// [`step`](Self::step) sets this; a block skips its annulled instruction itself.
    annulled: bool,
    cycles: u64,
    instructions: u64,
    spills: u64,
    fills: u64,
    ended: Option<u32>,
}

impl Machine {
    /// Creates a machine at the first instruction of the program.
    ///
    /// # Errors
    ///
    /// [`BadProgram`], if memory cannot hold it.
    pub fn new(set: InstructionSet, timing: Timing, program: &Program) -> Result<Self, BadProgram> {
        let memory = program.memory()?;
        let windows = timing.windows.count as usize;
        Ok(Self {
            labels: program.symbols.values().copied().collect(),
            state: State::new(memory, windows, program.entry),
            pipeline: Pipeline::default(),
            blocks: Blocks::default(),
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

    /// Returns the 32 registers of the current window: globals, outs, locals, ins.
    pub fn registers(&self) -> [u32; 32] {
        core::array::from_fn(|i| self.state.r[i])
    }

    /// Returns `%y`.
    pub fn y(&self) -> u32 {
        self.state.y
    }

    /// Returns the condition codes: N, Z, V, C from bit 3 down.
    pub fn icc(&self) -> u32 {
        let State { n, z, v, c, .. } = self.state;
        u32::from(n) << 3 | u32::from(z) << 2 | u32::from(v) << 1 | u32::from(c)
    }

    /// Returns the accumulator of the extension.
    pub fn accumulator(&self) -> u128 {
        self.state.accumulator.value()
    }

    /// Returns the address of the next instruction.
    pub fn pc(&self) -> u32 {
        self.state.pc
    }

    /// Returns the memory.
    pub fn memory(&self) -> &Memory {
        &self.state.memory
    }

    /// Returns the memory, to write data; writing code has no effect on decoded blocks.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.state.memory
    }

    /// Returns the address of a symbol of the program.
    pub fn symbol(&self, name: &str) -> Option<u32> {
        self.program.symbols.get(name).copied()
    }
}
