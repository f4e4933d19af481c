//! The LEON-2 of \[GTS07\], simulated with cycle counts, and the study of its extension.
//!
//! A [`Machine`] executes a [`Program`] on the integer unit of SPARC V8. It counts the cycles that
//! LEON-2 takes with memory without wait states. A table defines the instructions, one row for each
//! ([`isa`]), and an extension is a second table. The extension here multiplies into a wide
//! accumulator ([`isa::accumulate`]). A file gives the cost of instructions ([`Timing`]).
//! [`Assembler`] and [`elf`] create programs.
//!
//! The cycle counts of the base instructions were compared with the LEON-2 VHDL. The cycle counts
//! of the extension are parameters, because the extension was never built.
//!
//! ```
//! use tollgate_leon2::{Assembler, Ending, InstructionSet, Machine, Timing};
//!
//! let set = InstructionSet::with_accumulator();
//! let program = Assembler::new(&set).assemble("
//!         clracc
//!         mov     100, %o1
//! loop:   umac    %o1, %o1        ! the sum of the squares of 1 to 100
//!         subcc   %o1, 1, %o1
//!         bne     loop
//!         nop
//!         shacr   %o0
//!         ta      0
//! ")?;
//! let mut machine = Machine::new(set, Timing::leon2(), &program)?;
//! assert_eq!(machine.run(1_000)?, Ending::Exit(338_350));
//! assert_eq!(machine.cycles(), 2 + 4 * 100 + 2);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

pub mod assembler;
pub mod elf;
pub mod isa;
pub mod machine;
pub mod memory;
pub mod pipeline;
pub mod program;
pub mod routines;
pub mod rv64;
pub mod study;
pub mod timing;
mod trap;

pub use assembler::{Assembler, BadSource};
pub use isa::InstructionSet;
pub use machine::{Ending, Failure, Machine};
pub use program::{BadProgram, Program};
pub use timing::Timing;
