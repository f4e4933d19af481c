//! The pipeline of LEON-2: the waits of an instruction for an earlier one.
//!
//! Every instruction takes slots. In the decode stage it may wait for a load or for condition
//! codes. [`Pipeline`] holds all state that an instruction may wait for.

use crate::isa::{Cost, Icc, Instruction, Meaning};
use crate::timing::{Geometry, Timing};

/// The properties of an instruction that its timing depends on.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    cost: Cost,
    icc: Icc,
    rs1: u8,
    rs2: u8,
    /// The stored register, and its second register if it is a pair.
    data: [u8; 2],
    /// The register that is loaded last.
    loads: u8,
    /// The offset of register names after a change of windows: 16 for `save`, -16 for `restore`.
    moves: i8,
}

impl Slot {
    /// Returns the properties of an instruction.
    #[must_use]
    pub fn new(i: &Instruction) -> Self {
        let pair = matches!(i.row.cost, Cost::LoadDouble | Cost::StoreDouble);
        let loads = matches!(i.row.cost, Cost::Load | Cost::LoadDouble | Cost::Atomic);
        let second = if pair { i.rd | 1 } else { 0 };
        Self {
            cost: i.row.cost,
            icc: i.row.icc,
            rs1: i.rs1,
            rs2: i.rs2,
            data: match i.row.meaning {
                Meaning::Swap => [i.rd, 0],
                _ if i.row.stores() => [i.rd, second],
                _ => [0, 0],
            },
            loads: match loads {
                true if pair => second,
                true => i.rd,
                false => 0,
            },
            moves: match i.row.meaning {
                Meaning::Save => 16,
                Meaning::Restore => -16,
                _ => 0,
            },
        }
    }
}

/// The state that the next instruction may have to wait for. Registers are numbered in the current
/// window; 0 means no register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pipeline {
    loaded: u8,
    loaded_before: u8,
    icc_set: bool,
    multiplied_cc: bool,
    jumped: bool,
}

impl Pipeline {
    /// Issues an instruction and returns its cycles, including waits.
    #[must_use]
    pub fn issue(&mut self, timing: &Timing, slot: &Slot) -> u32 {
        let waits = self.load_stall(timing, slot).max(self.icc_stall(timing, slot));
        let slots = slots(timing, slot.cost);
        let waited = waits + slots;
        let bubble =
            if self.jumped { (1 + timing.interlocks.jump_bubble).max(waited) - waited } else { 0 };
        let cycles = waited + bubble;

        let at_once = waits == 0 && slots == 1 && bubble == 0;
        self.loaded_before = if at_once { moved(self.loaded, slot.moves) } else { 0 };
        self.loaded = if bubble == 0 { slot.loads } else { 0 };
        if bubble == 1 {
            self.loaded_before = slot.loads;
        }
        self.icc_set = slot.icc.sets();
        self.multiplied_cc = slot.cost == Cost::Multiply && slot.icc.sets();
        self.jumped = slot.cost == Cost::Jump;
        cycles
    }

    /// Passes an annulled instruction and returns its cycles.
    #[must_use]
    pub fn annul(&mut self) -> u32 {
        *self = Self { loaded_before: self.loaded, ..Self::default() };
        1
    }

    /// Empties the pipeline after a trap.
    pub fn empty(&mut self) {
        *self = Self::default();
    }

    /// Returns how many cycles an instruction waits for a load.
    fn load_stall(&self, timing: &Timing, slot: &Slot) -> u32 {
        let delay = timing.interlocks.load_delay;
        let at = |register: u8, hit: u8| register != 0 && register == hit;
        let stall_of = |loaded: u8, delay: u32| {
            let (one, two) = (at(slot.rs1, loaded), at(slot.rs2, loaded));
            let late = slot.cost == Cost::Multiply
                && timing.multiplier.geometry == Geometry::Iterative
                && !one;
            if one || two {
                // The iterative multiplier needs its second operand later.
                delay - u32::from(late && delay > 0)
            } else if slot.data.iter().any(|&register| at(register, loaded)) {
                // A store needs its data one stage later than its address.
                delay - 1
            } else {
                0
            }
        };
        let next = stall_of(self.loaded, delay);
        let after_next = if delay == 2 { stall_of(self.loaded_before, 1) } else { 0 };
        next.max(after_next)
    }

    /// Returns how many cycles an instruction waits for condition codes.
    fn icc_stall(&self, timing: &Timing, slot: &Slot) -> u32 {
        let large = timing.multiplier.geometry == Geometry::By32x32;
        let reads = slot.icc.carry() || matches!(slot.icc, Icc::Branch | Icc::Reads);
        let of_product = large && self.multiplied_cc && reads;
        let hold = timing.interlocks.icc_hold && self.icc_set;
        let of_branch = hold && slot.icc == Icc::Branch;
        let of_carry = hold && large && slot.icc.carry();
        u32::from(of_product || of_branch || of_carry)
    }
}

/// Returns the number of a register after a change of windows; 0 if it has none.
fn moved(register: u8, by: i8) -> u8 {
    match (register, by) {
        (0..8, _) | (_, 0) => register,
        _ => register.checked_add_signed(by).filter(|&name| name >= 8).unwrap_or(0),
    }
}

fn slots(timing: &Timing, cost: Cost) -> u32 {
    let s = &timing.slots;
    match cost {
        Cost::Alu => s.alu,
        Cost::Load => s.load,
        Cost::LoadDouble => s.load_double,
        Cost::Store => s.store,
        Cost::StoreDouble => s.store_double,
        Cost::Atomic => s.atomic,
        Cost::Branch => s.branch,
        Cost::Jump => s.jump,
        Cost::Multiply => timing.multiplier.slots(),
        Cost::Divide => s.divide,
        Cost::Accumulate => timing.accumulate.slots,
    }
}
