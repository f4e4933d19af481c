//! Running a program.

use core::fmt;

use super::execute::Op;
use super::{DECODED, Decoded, Machine};
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

    /// Runs until the next instruction is at this address.
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
                None => self.step()?,
            }
        }
    }

    /// Executes one instruction, or skips an annulled one.
    fn step(&mut self) -> Result<(), Failure> {
        if self.annulled {
            self.annulled = false;
            let cycles = self.pipeline.annul();
            self.spend(cycles);
            let next = self.state.npc;
            (self.state.pc, self.state.npc) = (next, next.wrapping_add(4));
            return Ok(());
        }
        let Decoded { op, slot, routine, .. } = match self.decoded() {
            Ok(decoded) => decoded,
            Err(trap) => return self.trap(trap),
        };
        self.routine = routine;
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
                let cycles = self.pipeline.issue(&self.timing, &slot);
                self.count(cycles);
                if self.state.flushed {
                    self.state.flushed = false;
                    self.decoded.fill(None);
                }
                Ok(())
            }
            Err(trap) => self.trap(trap),
        }
    }

    fn spend(&mut self, cycles: u32) {
        self.cycles += u64::from(cycles);
        self.spent[self.routine].0 += u64::from(cycles);
    }

    /// Counts an instruction and its cycles.
    fn count(&mut self, cycles: u32) {
        self.instructions += 1;
        self.spent[self.routine].1 += 1;
        self.spend(cycles);
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

    /// Returns the instruction at `pc` as it was when it was executed first, or after a flush.
    fn decoded(&mut self) -> Result<Decoded, Trap> {
        let address = self.state.pc;
        let place = (address >> 2) as usize % DECODED;
        if let Some(known) = self.decoded[place].filter(|known| known.address == address) {
            return Ok(known);
        }
        let instruction = self.fetch()?;
        let routine = self.routines.partition_point(|(start, _)| *start <= address);
        let (op, slot) = (Op::new(&instruction), Slot::new(&instruction));
        Ok(*self.decoded[place].insert(Decoded { address, op, slot, routine }))
    }

    /// Handles a trap of the instruction at `pc`.
    fn trap(&mut self, trap: Trap) -> Result<(), Failure> {
        self.pipeline.empty();
        match trap {
            Trap::WindowOverflow => {
                self.spills += 1;
                self.spend(self.timing.windows.spill);
                let stored = self.state.spill();
                stored.or_else(|trap| self.fail(trap, "; a window had to be stored at its %sp"))
            }
            Trap::WindowUnderflow => {
                self.fills += 1;
                self.spend(self.timing.windows.fill);
                let loaded = self.state.fill();
                loaded.or_else(|trap| self.fail(trap, "; a window had to be loaded from %fp"))
            }
            Trap::Software(SYSTEM_CALL) => self.system_call(),
            Trap::Software(0) => {
                self.count(self.timing.slots.alu);
                self.ended = Some(self.state.reg(8));
                Ok(())
            }
            _ => self.fail(trap, ""),
        }
    }

    /// Performs the Linux system calls exit and write.
    fn system_call(&mut self) -> Result<(), Failure> {
        let (call, a, b, c) = (self.state.r[1], self.state.r[8], self.state.r[9], self.state.r[10]);
        self.count(self.timing.slots.trap);
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
