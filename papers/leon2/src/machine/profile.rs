//! Cycles by routine.

use std::collections::BTreeMap;

use super::Machine;

/// A routine's share of the run. A routine is the code from its symbol to the next symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its name; empty before the first symbol.
    pub name: String,
    /// Its cycles.
    pub cycles: u64,
    /// Its instructions.
    pub instructions: u64,
}

impl Machine {
    /// Returns cycles by routine, highest first. Single steps and traps belong to no routine and
    /// are listed as `(other)`.
    pub fn profile(&self) -> Vec<Share> {
        let names: BTreeMap<u32, &str> =
            self.program.symbols.iter().map(|(name, &at)| (at, name.as_str())).collect();
        let mut spent: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (start, cycles, instructions) in self.blocks.spent() {
            let name = names.range(..=start).next_back().map_or("", |(_, name)| *name);
            let sum = spent.entry(name).or_default();
            *sum = (sum.0 + cycles, sum.1 + instructions);
        }
        let known = spent.values().fold((0, 0), |sum, s| (sum.0 + s.0, sum.1 + s.1));
        let other = (self.cycles - known.0, self.instructions - known.1);
        if other != (0, 0) {
            spent.insert("(other)", other);
        }
        let share = |(name, (cycles, instructions)): (&str, _)| Share {
            name: name.to_owned(),
            cycles,
            instructions,
        };
        let mut shares: Vec<_> = spent.into_iter().map(share).collect();
        shares.sort_by_key(|share| core::cmp::Reverse(share.cycles));
        shares
    }
}
