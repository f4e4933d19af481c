//! Registers, windows and state registers.

use crate::isa::Accumulator;
use crate::memory::Memory;
use crate::trap::Trap;

/// The destination of writes to `%g0`: a register that nothing reads.
pub(super) const NOWHERE: u8 = 32;

/// The state that an instruction can read and write.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// The 32 registers of the current window, and [`NOWHERE`]. The length is a power of two, so
    /// that a masked index needs no bounds check.
    pub(super) r: [u32; 64],
    /// Outs and locals of each window. The ins of a window are the outs of the next.
    windows: Vec<[u32; 16]>,
    pub(super) cwp: usize,
    pub(super) wim: u32,
    pub(super) y: u32,
    pub(super) n: bool,
    pub(super) z: bool,
    pub(super) v: bool,
    pub(super) c: bool,
    pub(super) accumulator: Accumulator,
    pub(super) memory: Memory,
    pub(super) pc: u32,
    pub(super) npc: u32,
    /// True if code may have changed.
    pub(super) flushed: bool,
}

impl State {
    pub(super) fn new(memory: Memory, windows: usize, entry: u32) -> Self {
        let (_, end) = memory.bounds();
        let mut r = [0; 64];
        // Space for a window, a hidden parameter and six arguments above the stack pointer.
        let top = u32::try_from(end - 4096).unwrap_or(u32::MAX) & !7;
        r[14] = top;
        Self {
            r,
            windows: vec![[0; 16]; windows],
            cwp: 0,
            wim: 1 << 1,
            y: 0,
            n: false,
            z: false,
            v: false,
            c: false,
            accumulator: Accumulator::default(),
            memory,
            pc: entry,
            npc: entry.wrapping_add(4),
            flushed: false,
        }
    }

    #[inline(always)]
    pub(super) fn reg(&self, register: u8) -> u32 {
        self.r[usize::from(register & 63)]
    }

    #[inline(always)]
    pub(super) fn put(&mut self, register: u8, value: u32) {
        self.r[usize::from(register & 63)] = value;
    }

    /// Returns the window `by` windows after the current window. `save` switches to the previous
    /// window.
    fn window(&self, by: isize) -> usize {
        let count = self.windows.len().cast_signed();
        (self.cwp.cast_signed() + by).rem_euclid(count).cast_unsigned()
    }

    /// Switches to another window.
    pub(super) fn switch_to(&mut self, window: usize) {
        let next = self.window(1);
        self.windows[self.cwp].copy_from_slice(&self.r[8..24]);
        self.windows[next][..8].copy_from_slice(&self.r[24..32]);
        self.cwp = window % self.windows.len();
        let next = self.window(1);
        self.r[8..24].copy_from_slice(&self.windows[self.cwp]);
        let ins: [u32; 8] = core::array::from_fn(|i| self.windows[next][i]);
        self.r[24..32].copy_from_slice(&ins);
    }

    /// Switches to the window `by` windows after the current one, unless `%wim` makes it trap.
    pub(super) fn rotate(&mut self, by: isize, trap: Trap) -> Result<(), Trap> {
        let window = self.window(by);
        if self.wim >> window & 1 != 0 {
            return Err(trap);
        }
        self.switch_to(window);
        Ok(())
    }

    /// Acts as an operating system's overflow handler: stores the oldest window on its stack.
    pub(super) fn spill(&mut self) -> Result<(), Trap> {
        let (present, oldest) = (self.cwp, self.window(-2));
        self.switch_to(oldest);
        let stored = self.store_window();
        self.switch_to(present);
        self.wim = 1 << oldest;
        stored
    }

    /// Acts as an operating system's underflow handler: loads the next window from its stack.
    pub(super) fn fill(&mut self) -> Result<(), Trap> {
        let (present, before, free) = (self.cwp, self.window(1), self.window(2));
        self.switch_to(before);
        let loaded = self.load_window();
        self.switch_to(present);
        self.wim = 1 << free;
        loaded
    }

    /// Stores locals and ins at the stack pointer.
    fn store_window(&mut self) -> Result<(), Trap> {
        let stack = self.r[14];
        (0..16).try_for_each(|i: u8| {
            let bytes = self.reg(16 + i).to_be_bytes();
            self.memory.store(stack.wrapping_add(4 * u32::from(i)), bytes)
        })
    }

    fn load_window(&mut self) -> Result<(), Trap> {
        let stack = self.r[14];
        (0..16).try_for_each(|i: u8| {
            let bytes = self.memory.load(stack.wrapping_add(4 * u32::from(i)))?;
            self.put(16 + i, u32::from_be_bytes(bytes));
            Ok(())
        })
    }

    /// Returns whether a branch of this condition is taken.
    #[inline(always)]
    pub(super) fn holds(&self, condition: u8) -> bool {
        let holds = match condition & 7 {
            0 => false,
            1 => self.z,
            2 => self.z || (self.n != self.v),
            3 => self.n != self.v,
            4 => self.c || self.z,
            5 => self.c,
            6 => self.n,
            _ => self.v,
        };
        holds != (condition & 8 != 0)
    }
}
