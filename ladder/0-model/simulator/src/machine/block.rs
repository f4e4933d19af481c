//! Stretches of code, decoded once and done many times.
//!
//! A block begins where a jump went and ends with a jump and its delay slot, before a label, or
//! when it is long enough. What it costs depends on the pipeline's state before it and on whether
//! its last instruction is annulled, and on nothing else: so its cycles are counted by the
//! pipeline's model once for each such case, and remembered.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::op::Op;
use crate::isa::InstructionSet;
use crate::memory::Memory;
use crate::pipeline::{Pipeline, Slot};
use crate::timing::Timing;

/// The longest stretch.
const LONGEST: usize = 64;

/// Instructions that follow each other in memory.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) start: u32,
    /// In order. If [`Block::jumps`], the last two are the jump and its delay slot.
    pub(super) ops: Vec<Op>,
    slots: Vec<Slot>,
    pub(super) jumps: bool,
    costs: Vec<Case>,
    /// Cycles spent in it.
    pub(super) cycles: u64,
    /// Instructions done in it.
    pub(super) instructions: u64,
}

/// What a block costs in one case.
#[derive(Clone, Copy, Debug)]
struct Case {
    before: Pipeline,
    annulled: bool,
    cycles: u32,
    after: Pipeline,
}

impl Block {
    /// The block at an address; none if there is no instruction.
    pub(super) fn at(
        start: u32,
        memory: &Memory,
        set: &InstructionSet,
        labels: &BTreeSet<u32>,
    ) -> Option<Self> {
        let decode = |address: u32| {
            let bytes: [u8; 4] = memory.bytes(address, 4)?.try_into().ok()?;
            set.decode(u32::from_be_bytes(bytes))
        };
        let mut block = Self {
            start,
            ops: Vec::new(),
            slots: Vec::new(),
            jumps: false,
            costs: Vec::new(),
            cycles: 0,
            instructions: 0,
        };
        let mut address = start;
        while block.ops.len() < LONGEST && (address == start || !labels.contains(&address)) {
            let Some(instruction) = decode(address) else { break };
            let op = Op::of(&instruction);
            if op.jumps() {
                // A jump whose delay slot is another jump, or nothing, is done step by step.
                let delay = decode(address.wrapping_add(4)).filter(|i| !Op::of(i).jumps());
                if let Some(delay) = delay {
                    block.push(op, Slot::of(&instruction));
                    block.push(Op::of(&delay), Slot::of(&delay));
                    block.jumps = true;
                }
                break;
            }
            block.push(op, Slot::of(&instruction));
            address = address.wrapping_add(4);
        }
        (!block.ops.is_empty()).then_some(block)
    }

    fn push(&mut self, op: Op, slot: Slot) {
        self.ops.push(op);
        self.slots.push(slot);
    }

    /// Counts the whole block.
    #[inline]
    pub(super) fn spend(
        &mut self,
        timing: &Timing,
        pipeline: &mut Pipeline,
        annulled: bool,
    ) -> u64 {
        let known = self.costs.iter().find(|c| c.before == *pipeline && c.annulled == annulled);
        let case = match known {
            Some(case) => *case,
            None => self.count(timing, *pipeline, annulled),
        };
        *pipeline = case.after;
        let cycles = u64::from(case.cycles);
        self.cycles += cycles;
        cycles
    }

    #[cold]
    fn count(&mut self, timing: &Timing, before: Pipeline, annulled: bool) -> Case {
        let mut after = before;
        let done = self.slots.len() - usize::from(annulled);
        let mut cycles: u32 = self.slots[..done].iter().map(|s| after.issue(timing, s)).sum();
        if annulled {
            cycles += after.annul();
        }
        let case = Case { before, annulled, cycles, after };
        self.costs.push(case);
        case
    }

    /// Counts the first so many instructions: the next one trapped.
    pub(super) fn spend_part(
        &mut self,
        timing: &Timing,
        pipeline: &mut Pipeline,
        done: usize,
    ) -> u64 {
        let cycles = self.slots[..done].iter().map(|s| u64::from(pipeline.issue(timing, s))).sum();
        self.cycles += cycles;
        cycles
    }
}

/// The blocks that were met, by address.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    pub(super) blocks: Vec<Block>,
    /// By the lower bits of an address, which block may begin there.
    index: Vec<u32>,
    by_address: HashMap<u32, u32>,
    /// Cycles and instructions of blocks that were forgotten, by where they began.
    spent: BTreeMap<u32, (u64, u64)>,
}

const INDEX: usize = 1 << 14;

/// More blocks than this have a program that jumps to a new place all the time.
const MOST: usize = 1 << 16;

impl Default for Blocks {
    fn default() -> Self {
        let index = vec![u32::MAX; INDEX];
        Self { blocks: Vec::new(), index, by_address: HashMap::new(), spent: BTreeMap::new() }
    }
}

impl Blocks {
    /// The block at an address, if it is known.
    #[inline]
    pub(super) fn find(&mut self, address: u32) -> Option<usize> {
        let place = (address >> 2) as usize % INDEX;
        let number = self.index[place] as usize;
        if self.blocks.get(number).is_some_and(|block| block.start == address) {
            return Some(number);
        }
        let number = *self.by_address.get(&address)?;
        self.index[place] = number;
        Some(number as usize)
    }

    pub(super) fn add(&mut self, block: Block) -> Option<usize> {
        if self.blocks.len() == MOST {
            self.forget();
        }
        let number = u32::try_from(self.blocks.len()).ok()?;
        self.by_address.insert(block.start, number);
        self.blocks.push(block);
        Some(number as usize)
    }

    /// Code may have changed: nothing is found any more, but what was spent stays.
    pub(super) fn forget(&mut self) {
        self.index.fill(u32::MAX);
        self.by_address.clear();
        for block in core::mem::take(&mut self.blocks) {
            let sum = self.spent.entry(block.start).or_default();
            *sum = (sum.0 + block.cycles, sum.1 + block.instructions);
        }
    }

    /// Cycles and instructions, by where blocks begin.
    pub(super) fn spent(&self) -> impl Iterator<Item = (u32, u64, u64)> {
        let present =
            self.blocks.iter().map(|block| (block.start, block.cycles, block.instructions));
        present.chain(self.spent.iter().map(|(&start, &(cycles, count))| (start, cycles, count)))
    }
}
