//! Running a program: block by block, or step by step.

use core::fmt;

use super::Machine;
use super::block::{Block, Blocks};
use super::execute::Op;
use super::state::State;
use crate::isa::Instruction;
use crate::isa::instruction::register_name;
use crate::pipeline::Slot;
use crate::trap::Trap;

/// The end of a run without failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The program ended with this status.
    Exit(u32),
    /// The limit of instructions was reached.
    Limit,
    /// The requested address was reached.
    Reached,
}

/// A program error that ends the simulation. Correct the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The address of the instruction.
    pub address: u32,
    /// The symbol of that address, if one is known.
    pub place: Option<String>,
    /// The instruction.
    pub instruction: String,
    /// The reason.
    pub why: String,
    /// The registers that it reads, with their values.
    pub operands: Vec<(String, u32)>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {:#010x}", self.address)?;
        if let Some(place) = &self.place {
            write!(f, " ({place})")?;
        }
        write!(f, ": {}: {}", self.instruction, self.why)?;
        for (i, (name, value)) in self.operands.iter().enumerate() {
            write!(f, "{} {name} = {value:#x}", if i == 0 { ";" } else { "," })?;
        }
        Ok(())
    }
}

impl core::error::Error for Failure {}

/// Linux's trap and system call numbers.
const SYSTEM_CALL: u8 = 0x10;
const CALL_EXIT: u32 = 1;
const CALL_WRITE: u32 = 4;
const BAD_ADDRESS: u32 = 14;

impl Machine {
    /// Runs until the program ends or has executed `instructions` more instructions. If the program
    /// has not ended, another call continues it.
    ///
    /// # Errors
    ///
    /// [`Failure`], if an instruction traps.
    pub fn run(&mut self, instructions: u64) -> Result<Ending, Failure> {
        self.run_until(instructions, |_| false)
    }

    /// Runs until the next instruction is at this address. The address must have a symbol, because
    /// execution can stop only between blocks, and blocks end before symbols.
    ///
    /// # Errors
    ///
    /// [`Failure`], if an instruction traps.
    pub fn run_to(&mut self, address: u32, instructions: u64) -> Result<Ending, Failure> {
        self.run_until(instructions, |this| this.state.pc == address && !this.annulled)
    }

    fn run_until(
        &mut self,
        instructions: u64,
        reached: impl Fn(&Self) -> bool,
    ) -> Result<Ending, Failure> {
        let limit = self.instructions.saturating_add(instructions);
        loop {
            match self.ended {
                _ if reached(self) => return Ok(Ending::Reached),
                Some(status) => return Ok(Ending::Exit(status)),
                None if self.instructions >= limit => return Ok(Ending::Limit),
                None => self.advance(limit)?,
            }
        }
    }

    /// Executes a block, or one instruction if there is no block or the limit is near.
    fn advance(&mut self, limit: u64) -> Result<(), Failure> {
        let done = if limit - self.instructions > 128 { self.run_block() } else { None };
        match done {
            Some(Ok(())) => Ok(()),
            Some(Err(trap)) => self.trap(trap),
            None => self.step(),
        }
    }

    /// Executes the block at `pc`. Returns `None` if there is no block; the caller then executes
    /// one instruction.
    fn run_block(&mut self) -> Option<Result<(), Trap>> {
        let Self { state, blocks, pipeline, timing, .. } = self;
        if state.npc != state.pc.wrapping_add(4) || self.annulled {
            return None;
        }
        let number = match blocks.find(state.pc) {
            Some(number) => number,
            None => blocks.add(Block::at(state.pc, &state.memory, &self.set, &self.labels)?)?,
        };
        let block = &mut blocks.blocks[number];
        let (cycles, done, result) = match execute_block(state, block) {
            Ok(annulled) => {
                let done = block.ops.len() - usize::from(annulled);
                (block.spend(timing, pipeline, annulled), done, Ok(()))
            }
            Err((done, trap)) => (block.spend_part(timing, pipeline, done), done, Err(trap)),
        };
        self.cycles += cycles;
        block.instructions += done as u64;
        self.instructions += done as u64;
        discard_if_flushed(state, blocks);
        Some(result)
    }

    /// Executes one instruction, or skips an annulled one.
    ///
    /// # Errors
    ///
    /// [`Failure`], if it traps.
    pub fn step(&mut self) -> Result<(), Failure> {
        if self.annulled {
            self.annulled = false;
            self.cycles += u64::from(self.pipeline.annul());
            let next = self.state.npc;
            (self.state.pc, self.state.npc) = (next, next.wrapping_add(4));
            return Ok(());
        }
        let instruction = match self.fetch() {
            Ok(instruction) => instruction,
            Err(trap) => return self.trap(trap),
        };
        let op = Op::of(&instruction);
        let (pc, npc) = (self.state.pc, self.state.npc);
        let next = if op.jumps() {
            self.state.jump(&op, pc).map(|jump| {
                self.annulled = jump.annuls;
                jump.target.unwrap_or(npc.wrapping_add(4))
            })
        } else {
            self.state.execute(&op).map(|()| npc.wrapping_add(4))
        };
        match next {
            Ok(after_next) => {
                (self.state.pc, self.state.npc) = (npc, after_next);
                self.instructions += 1;
                self.cycles +=
                    u64::from(self.pipeline.issue(&self.timing, &Slot::of(&instruction)));
                discard_if_flushed(&mut self.state, &mut self.blocks);
                Ok(())
            }
            Err(trap) => self.trap(trap),
        }
    }

    /// Returns the program's status, after it has ended.
    pub fn ended(&self) -> Option<u32> {
        self.ended
    }

    /// Returns the word at `pc`.
    fn word(&self) -> Option<u32> {
        let bytes = self.state.memory.bytes(self.state.pc, 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    }

    /// Returns the instruction at `pc`.
    fn fetch(&self) -> Result<Instruction, Trap> {
        let word = self.word().ok_or(Trap::NoCode(self.state.pc))?;
        self.set.decode(word).ok_or(Trap::Illegal)
    }

    /// Handles a trap of the instruction at `pc`.
    fn trap(&mut self, trap: Trap) -> Result<(), Failure> {
        self.pipeline.empty();
        match trap {
            Trap::WindowOverflow => {
                self.spills += 1;
                self.cycles += u64::from(self.timing.windows.spill);
                let stored = self.state.spill();
                stored.or_else(|trap| self.fail(trap, "; a window had to be stored at its %sp"))
            }
            Trap::WindowUnderflow => {
                self.fills += 1;
                self.cycles += u64::from(self.timing.windows.fill);
                let loaded = self.state.fill();
                loaded.or_else(|trap| self.fail(trap, "; a window had to be loaded from %fp"))
            }
            Trap::Software(SYSTEM_CALL) => self.system_call(),
            Trap::Software(0) => {
                self.instructions += 1;
                self.cycles += u64::from(self.timing.slots.alu);
                self.ended = Some(self.state.reg(8));
                Ok(())
            }
            _ => self.fail(trap, ""),
        }
    }

    /// Performs the Linux system calls exit and write.
    fn system_call(&mut self) -> Result<(), Failure> {
        let (call, a, b, c) = (self.state.r[1], self.state.r[8], self.state.r[9], self.state.r[10]);
        self.instructions += 1;
        self.cycles += u64::from(self.timing.slots.trap);
        match call {
            CALL_EXIT => self.ended = Some(a),
            CALL_WRITE => {
                let bytes = self.state.memory.bytes(b, c as usize).map(<[u8]>::to_vec);
                if let Some(bytes) = &bytes {
                    self.state.memory.print(bytes);
                }
                // The carry flag reports a failed system call.
                self.state.c = bytes.is_none();
                self.state.r[8] = if bytes.is_some() { c } else { BAD_ADDRESS };
                let next = self.state.npc;
                (self.state.pc, self.state.npc) = (next, next.wrapping_add(4));
            }
            _ => {
                let context = "; of the kernel there are exit (%g1 = 1) and write (%g1 = 4) only";
                return self.fail(Trap::Software(SYSTEM_CALL), context);
            }
        }
        Ok(())
    }

    fn fail(&self, trap: Trap, context: &str) -> Result<(), Failure> {
        let address = self.state.pc;
        let read = self.fetch().map_or([0; 3], |i| {
            let stored = if i.row.stores() { i.rd } else { 0 };
            [i.rs1, i.rs2, stored]
        });
        Err(Failure {
            address,
            place: self.program.place(address),
            instruction: self
                .word()
                .map_or_else(|| "nothing".to_owned(), |word| self.set.describe(word, address)),
            why: format!("{trap}{context}"),
            operands: read
                .into_iter()
                .filter(|&register| register != 0)
                .map(|register| (register_name(register), self.state.reg(register)))
                .collect(),
        })
    }
}

fn discard_if_flushed(state: &mut State, blocks: &mut Blocks) {
    if state.flushed {
        state.flushed = false;
        blocks.discard();
    }
}

/// Executes a block. Returns whether its last instruction was annulled, or the index of the
/// instruction that trapped.
#[inline(always)]
fn execute_block(state: &mut State, block: &Block) -> Result<bool, (usize, Trap)> {
    let start = block.start;
    let address = |i: usize| start.wrapping_add(u32::try_from(4 * i).unwrap_or(u32::MAX));
    let straight = block.ops.len() - if block.jumps { 2 } else { 0 };
    for (i, op) in block.ops[..straight].iter().enumerate() {
        if let Err(trap) = state.execute(op) {
            (state.pc, state.npc) = (address(i), address(i + 1));
            return Err((i, trap));
        }
    }
    let at = address(straight);
    if !block.jumps {
        (state.pc, state.npc) = (at, at.wrapping_add(4));
        return Ok(false);
    }
    let jump = state.jump(&block.ops[straight], at).map_err(|trap| {
        (state.pc, state.npc) = (at, at.wrapping_add(4));
        (straight, trap)
    })?;
    let target = jump.target.unwrap_or(at.wrapping_add(8));
    if !jump.annuls {
        state.execute(&block.ops[straight + 1]).map_err(|trap| {
            (state.pc, state.npc) = (at.wrapping_add(4), target);
            (straight + 1, trap)
        })?;
    }
    (state.pc, state.npc) = (target, target.wrapping_add(4));
    Ok(jump.annuls)
}
