//! Basic blocks, decoded once and executed many times.
//!
//! A block begins at the target of a jump. It ends with a jump and its delay slot, before a label,
//! or at its maximum length. Its cost depends only on the pipeline's state before the block and on
//! whether the block's last instruction is annulled. The pipeline model therefore counts the
//! block's cycles once for each such case.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::execute::Op;
use crate::isa::InstructionSet;
use crate::memory::Memory;
use crate::pipeline::{Pipeline, Slot};
use crate::timing::Timing;

/// Maximum number of instructions of a block.
const LONGEST: usize = 64;

/// Consecutive instructions.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) start: u32,
    /// The instructions. If [`Block::jumps`], the last two are the jump and its delay slot.
    pub(super) ops: Vec<Op>,
    slots: Vec<Slot>,
    pub(super) jumps: bool,
    costs: Vec<Case>,
    /// Cycles spent in the block.
    pub(super) cycles: u64,
    /// Instructions executed in the block.
    pub(super) instructions: u64,
}

/// The cost of a block in one case.
#[derive(Clone, Copy, Debug)]
struct Case {
    before: Pipeline,
    annulled: bool,
    cycles: u32,
    after: Pipeline,
}

impl Block {
    /// Decodes the block at an address; `None` if there is no instruction.
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
                // Jumps whose delay slot contains another jump, or nothing, are executed step by
                // step.
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

    /// Adds the cycles of the whole block.
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

    /// Adds the cycles of the first `done` instructions, because the next one trapped.
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

/// The decoded blocks by address.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    pub(super) blocks: Vec<Block>,
    /// The number of the block that may begin at an address, by its lower bits.
    index: Vec<u32>,
    by_address: HashMap<u32, u32>,
    /// Cycles and instructions of discarded blocks, by start address.
    spent: BTreeMap<u32, (u64, u64)>,
}

const INDEX: usize = 1 << 14;

/// Maximum number of blocks. A program has more only if it keeps jumping to new addresses.
const MOST: usize = 1 << 16;

impl Default for Blocks {
    fn default() -> Self {
        let index = vec![u32::MAX; INDEX];
        Self { blocks: Vec::new(), index, by_address: HashMap::new(), spent: BTreeMap::new() }
    }
}

impl Blocks {
    /// Returns the block at an address, if it is decoded.
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
            self.discard();
        }
        let number = u32::try_from(self.blocks.len()).ok()?;
        self.by_address.insert(block.start, number);
        self.blocks.push(block);
        Some(number as usize)
    }

    /// Discards all blocks, because code may have changed. The counts of the discarded blocks are
    /// kept.
    pub(super) fn discard(&mut self) {
        self.index.fill(u32::MAX);
        self.by_address.clear();
        for block in core::mem::take(&mut self.blocks) {
            let sum = self.spent.entry(block.start).or_default();
            *sum = (sum.0 + block.cycles, sum.1 + block.instructions);
        }
    }

    /// Returns cycles and instructions of blocks, by start address.
    pub(super) fn spent(&self) -> impl Iterator<Item = (u32, u64, u64)> {
        let present =
            self.blocks.iter().map(|block| (block.start, block.cycles, block.instructions));
        present.chain(self.spent.iter().map(|(&start, &(cycles, count))| (start, cycles, count)))
    }
}
